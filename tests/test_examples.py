"""Every example of the gallery runs, prints and draws, and has the form that the gallery reads."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
# These take less than a second of the processor or little more.
QUICK = {
    "plot_corrected",
    "plot_counts",
    "plot_dask",
    "plot_groups",
    "plot_proof",
    "plot_regression",
    "plot_survival",
}


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


@pytest.mark.long
def test_the_demonstration_prints_a_table_and_writes_a_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "examples" / "demo.py"))
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    found = {row[0]: float(row[-4]) for row in rows if row and row[-1] == "%"}
    assert found.keys() >= {"RFS", "RPFS", "LpInf", "NmAPG", "CDLSR", "TopK", "All"}
    assert all(80 < accuracy < found["All"] for name, accuracy in found.items() if name != "All")
    assert (tmp_path / "demo" / "digits.png").read_bytes().startswith(b"\x89PNG")


def test_the_gallery_can_read_them() -> None:
    for path in EXAMPLES:
        text = path.read_text("utf-8")
        assert re.match(r'"""\n(?P<title>.+)\n(=+)\n', text), path
        title, line = text.splitlines()[1:3]
        assert len(title) == len(line), path
        for heading, under in re.findall(r"^# %%\n# (.+)\n# (-+)$", text, re.MULTILINE):
            assert len(heading) == len(under), (path, heading)
