"""A command imports what takes long only where it is used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .commands import frame

SCRIPT = """
import sys
from rowsparse.cli.commands import _run_by
_run_by("run_methods")(None)
print("sklearn" in sys.modules, "pandas" in sys.modules)
import pandas
print(pandas.DataFrame({"a": [1, 2]}).shape)
from rowsparse import TopK
print(TopK(1).fit(pandas.DataFrame({"a": [0.0, 1.0, 2.0], "b": [1.0, 0.0, 0.0]}), [0, 1, 1])
      .get_feature_names_out())
"""


def test_pandas_is_hidden_from_scikit_learn_and_there_afterwards() -> None:
    pytest.importorskip("pandas")
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-3:] == ["True False", "(2, 1)", "['b']"]


LATER = """
import sys
from rowsparse.cli.commands import _run_by
_run_by("run_methods")(None)
print("scipy.stats" in sys.modules)
from sklearn.metrics import label_ranking_average_precision_score
from sklearn.covariance import MinCovDet
print(label_ranking_average_precision_score([[1, 0]], [[0.2, 0.1]]))
print(MinCovDet(random_state=0).fit([[0.0], [1.0], [3.0], [4.0]]).location_.shape)
import scipy, scipy.stats.mstats
from scipy.stats import norm
print(norm.cdf(0.0), scipy.stats.mode([1, 1, 2]).mode)
"""


def test_what_is_imported_later_is_there_afterwards() -> None:
    command = [sys.executable, "-c", LATER]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-4:] == ["False", "1.0", "(1,)", "0.5 1"]


def test_no_command_on_a_text_file_imports_pandas_or_statistics(tmp_path: Path) -> None:
    frame().write_csv(tmp_path / "t.csv")
    words = ["select", "t.csv", "-t", "outcome", "-k", "2", "-q"]
    command = [sys.executable, "-X", "importtime", "-m", "rowsparse", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert done.returncode == 0, done.stderr[-300:]
    assert "sklearn.base" in imported
    assert not {"pandas.core", "scipy.stats._stats_py"} & imported
