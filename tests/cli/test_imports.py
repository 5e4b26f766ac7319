"""A command imports pandas only where it reads with pandas."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import sys
from rowsparse.cli.imports import import_workflow
module = import_workflow("select", with_pandas={with_pandas})
print(module.__name__, "pandas" in sys.modules)
import pandas
print(pandas.DataFrame({{"a": [1, 2]}}).shape)
from rowsparse import TopK
print(TopK(1).fit(pandas.DataFrame({{"a": [0.0, 1.0, 2.0], "b": [1.0, 0.0, 0.0]}}), [0, 1, 1])
      .get_feature_names_out())
"""


@pytest.mark.parametrize("with_pandas", [False, True])
def test_pandas_is_hidden_from_scikit_learn_and_there_afterwards(with_pandas: bool) -> None:
    pytest.importorskip("pandas")
    script = SCRIPT.format(with_pandas=with_pandas)
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    if not with_pandas:
        assert lines[0] == "rowsparse.workflow.select False"
    assert lines[1:] == ["(2, 1)", "['b']"]
