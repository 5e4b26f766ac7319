"""Every example of the gallery runs, prints and draws, and has the form that the gallery reads."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
# These take less than a second of the processor or little more.
QUICK = {"plot_corrected", "plot_dask", "plot_groups", "plot_proof", "plot_regression"}


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=[] if path.stem in QUICK else pytest.mark.long)
        for path in EXAMPLES
    ],
)
def test_the_example_runs_and_draws(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    if "set_callbacks" in path.read_text("utf-8"):
        pytest.importorskip("sklearn.callback")
    plt.close("all")
    runpy.run_path(str(path))
    assert plt.get_fignums()
    assert all(plt.figure(number).axes for number in plt.get_fignums())
    plt.close("all")
    assert capsys.readouterr().out


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_gallery_can_read_it(path: Path) -> None:
    text = path.read_text("utf-8")
    assert path.stem.startswith("plot_")  # others are shown and not run
    assert re.match(r'"""\n(?P<title>.+)\n(=+)\n', text)
    title, line = text.splitlines()[1:3]
    assert len(title) == len(line)
    for heading, under in re.findall(r"^# %%\n# (.+)\n# (-+)$", text, re.MULTILINE):
        assert len(heading) == len(under), heading
