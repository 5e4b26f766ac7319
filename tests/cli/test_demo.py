"""The command line: exit codes, the table, and a picture that is an image."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rowsparse import demo, report, selector_info

from .commands import invoke

NAMES = [selector_info(name).cls.__name__ for name in demo.METHODS]


@pytest.fixture(scope="module")
def result() -> demo.DigitsDemo:
    """The real demo, once for all tests that look at it."""
    return demo.run_digits(10)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, result: demo.DigitsDemo) -> None:
    """Let the command print the result that is already there."""
    monkeypatch.setattr(demo, "run_digits", lambda k, progress: result)


def test_rows_are_exact(result: demo.DigitsDemo) -> None:
    assert [row.method for row in result.rows] == [*NAMES, "All pixels"]
    assert [row.n_selected for row in result.rows] == [10] * len(NAMES) + [64]
    whole = result.rows[-1]
    for row in result.rows[:-1]:
        assert not row.support[[0, 32, 39]].any(), "a constant pixel tells nothing"
        assert row.objective >= whole.objective
        assert 0.1 < row.accuracy <= 1
        assert len(row.fold_accuracies) == 5


def test_objective_of_all_pixels_against_plain_least_squares(result: demo.DigitsDemo) -> None:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    design = np.column_stack([np.ones(len(X)), X])
    Y = np.eye(10)[y]
    residual = Y - design @ np.linalg.lstsq(design, Y, rcond=None)[0]
    assert result.rows[-1].objective == pytest.approx(float(np.sum(residual**2)), rel=1e-9)


@pytest.mark.usefixtures("quick")
def test_demo_prints_the_table_and_writes_the_picture(tmp_path: Path) -> None:
    from matplotlib.image import imread

    out = tmp_path / "new" / "folder"
    done = invoke("demo", "--out", str(out))
    assert done.exit_code == 0, done.output
    assert all(name in done.stdout for name in [*NAMES, "All pixels", "Nie et al. 2010"])
    assert [path.name for path in out.iterdir()] == ["digits.png"]
    image = imread(out / "digits.png")
    assert image.shape[1] > 1000
    assert len(np.unique(image.reshape(-1, image.shape[2]), axis=0)) > 100


@pytest.mark.parametrize("k", ["0", "-3", "65"])
def test_impossible_k(k: str, tmp_path: Path) -> None:
    done = invoke("demo", "-k", k, "--out", str(tmp_path))
    assert done.exit_code == 2
    assert done.stderr == f"k must be between 1 and 64, the number of pixels; got {k}.\n"
    assert done.stdout == ""


def test_k_that_is_no_number() -> None:
    done = invoke("demo", "-k", "ten")
    assert done.exit_code == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("tail", ["", "deeper"])
def test_out_that_cannot_be_a_folder(tail: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    done = invoke("demo", "--out", str(tmp_path / "file" / tail))
    assert done.exit_code == 2
    assert done.stderr.startswith("Cannot write to ")
    assert done.stderr.count("\n") == 1


@pytest.mark.usefixtures("quick")
def test_picture_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "digits.png").mkdir()
    done = invoke("demo", "--out", str(tmp_path))
    assert done.exit_code == 2
    assert done.stderr == f"Cannot write to '{tmp_path / 'digits.png'}': Is a directory.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["digits.png"]


def test_missing_matplotlib(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("rowsparse.report.files.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r'pip install "rowsparse\[report\]"'):
        report.require_matplotlib()
    done = invoke("demo", "--out", str(tmp_path))
    assert done.exit_code == 2
    assert 'pip install "rowsparse[report]"' in done.stderr


def test_interrupt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(k: int, progress: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "run_digits", interrupted)
    done = invoke("demo", "--out", str(tmp_path))
    assert done.exit_code == 130
    assert list(tmp_path.iterdir()) == []
