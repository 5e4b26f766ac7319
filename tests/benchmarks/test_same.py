"""Answers of two trees are the same, or a line says what differs."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from benchmarks import same, same_tasks, watch

# Settings that take milliseconds.
FEW = (
    "selector fisherscore, classes",
    "proof squared rough",
    "path squared weights",
    "refused alpha",
)
PARTS = [part for name in FEW for part in ("--only", name)]
# A path that ends one feature too early.
PLANTED = """
def topk_path(X, y, k_max, **parameters):
    from rowsparse.selectors import topk_path
    return topk_path(X, y, k_max - 1, **parameters)
"""


def answered(value: object) -> dict[str, object]:
    return {"setting": same_tasks.answer(lambda: value)}


def lines(before: object, after: object, tolerance: float = 0.0) -> str:
    ((is_same, line),) = same.report(answered(before), answered(after), tolerance)
    assert is_same == line.endswith(": same")
    return line.removeprefix("setting: ")


def test_equal_answers_are_the_same_whatever_they_hold() -> None:
    value = {"support": np.array([1, 2]), "objective": 0.1, "names": ["a"], "gap": np.nan}
    assert lines(value, dict(value)) == "same"
    assert lines(value, {**value, "new": 3}) == "same"


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ({"objective": 1.0}, {"objective": np.nextafter(1.0, 2.0)}, "objective by 2.2e-16"),
        ({"coef": np.zeros(3)}, {"coef": -np.zeros(3)}, "coef by 0.0e+00"),
        ({"coef": np.array([1.0, 4.0])}, {"coef": np.array([2.0, 4.0])}, "coef by 2.5e-01"),
        ({"gap": np.inf}, {"gap": 1.0}, "gap by inf"),
        ({"support": np.array([1])}, {"support": np.array([2])}, "support: [1] became [2]"),
        ({"k": np.arange(12)}, {"k": np.arange(12) // 2}, "k: 11 of 12"),
        ({"k": np.zeros(2)}, {"k": np.zeros(3)}, "k: float64 (2,) became float64 (3,)"),
        ({"paths": [1, 2]}, {"paths": [1, 3]}, "paths[1]: 2 became 3"),
        ({"status": "optimal"}, {"status": "gap"}, "status: optimal became gap"),
        ({"old": 3}, {"new": 3}, "old is gone: 3"),
        ({}, {"warnings": ["UserWarning: no"]}, "warnings: ['UserWarning: no']"),
        ({"k": 3}, {"error": "ValueError: no"}, "error: ValueError: no"),
    ],
)
def test_what_differs_is_named(before: object, after: object, line: str) -> None:
    assert lines(before, after) == line


def test_floats_within_the_tolerance_are_the_same() -> None:
    before, after = {"coef": np.array([1.0, 4.0])}, {"coef": np.array([1.0, 4.0 + 1e-9])}
    assert lines(before, after, tolerance=1e-9) == "same"
    assert lines(before, after, tolerance=1e-10) == "coef by 2.5e-10"


@pytest.mark.long
def test_equal_trees_are_the_same_and_a_planted_difference_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, planted = tmp_path / "before.json", tmp_path / "planted"
    shutil.copytree(same.ROOT / "src", planted / "src")
    with (planted / "src" / "rowsparse" / "__init__.py").open("a", encoding="utf-8") as opened:
        opened.write(PLANTED)
    assert same.main([*PARTS, "--save", str(file)]) == 0
    assert same.main([*PARTS, "--against", str(file)]) == 0
    assert "4 of 4 settings are the same." in capsys.readouterr().out
    assert same.main([*PARTS, "--against", str(file), "--trees", str(planted)]) == 1
    printed = capsys.readouterr().out.splitlines()
    (different,) = [line for line in printed[:-1] if not line.endswith(": same")]
    assert different.startswith("path squared weights: ks: int64 (4,) became int64 (3,); supports")
    assert printed[-1] == "3 of 4 settings are the same."


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two commits, each with the answers of its library; a folder has those of the first."""
    root, tasks = tmp_path / "repository", tmp_path / "tasks.py"
    (tmp_path / "folder").mkdir()
    root.mkdir()
    tasks.write_text("print(open('answers.json').read())", encoding="utf-8")
    monkeypatch.setattr(watch, "ROOT", root)
    monkeypatch.setattr(same, "TASKS_FILE", tasks)
    watch.git("init", "--quiet")
    for objective in ("1", "2"):
        content = json.dumps({"kept": {"k": 3}, "changed": {"objective": objective}})
        for folder in (root, tmp_path / "folder") if objective == "1" else (root,):
            (folder / "answers.json").write_text(content, encoding="utf-8")
        watch.git("add", "answers.json")
        watch.git("-c", "user.name=A", "-c", "user.email=a@b", "commit", "--quiet", "-m", "next")
    return root


def test_revisions_folders_and_saved_answers_are_compared(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, file = str(tmp_path / "folder"), str(tmp_path / "answers.json")
    assert same.main(["--since", "HEAD^"]) == 1
    assert "changed: objective: 1 became 2\n1 of 2 settings" in capsys.readouterr().out
    assert same.main(["--since", "HEAD"]) == 0
    assert len(watch.git("worktree", "list").splitlines()) == 1
    assert same.main(["--trees", first, str(repository), "--save", file]) == 1
    assert same.main(["--trees", first, "--against", file]) == 0
    assert same.main(["--trees", str(repository), "--against", file]) == 1


def test_what_cannot_be_compared_ends_with_2(
    repository: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    first, file = str(tmp_path / "folder"), str(tmp_path / "answers.json")
    assert same.main(["--since", "nowhere"]) == 2
    assert same.main(["--trees", first, "--save", file]) == 0
    monkeypatch.setattr(same, "settings_digest", lambda: "another")
    assert same.main(["--trees", first, "--against", file]) == 2
    assert "has answers to other settings: save them again." in capsys.readouterr().err
    for wrong in ([], ["--since", "HEAD", "--against", file], ["--trees", first, first, first]):
        with pytest.raises(SystemExit, match="2"):
            same.main(wrong)
