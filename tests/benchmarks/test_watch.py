"""Ratios, verdicts and exit codes of the watch for slow-downs."""

from pathlib import Path

import pytest

from benchmarks import watch, watch_tasks
from benchmarks.tables import MISS, PASS, VERDICT


def test_the_ratio_is_the_median_of_the_ratios_of_the_rounds() -> None:
    pairs: list[tuple[watch.Times, watch.Times]] = [
        ({"fit": 1.0, "proof": 2.0}, {"fit": 1.1, "proof": 3.0}),
        ({"fit": 4.0, "proof": 8.0}, {"fit": 4.0, "proof": 16.0}),  # a busy spell hits both
        ({"fit": 1.0, "proof": 2.0}, {"fit": 1.2, "proof": 3.2}),
    ]
    fit, proof = watch.compare(pairs, ("old", "new"), limit=1.25).rows
    assert (fit["ratio"], fit[VERDICT]) == (1.1, PASS)
    assert (proof["ratio"], proof[VERDICT]) == (1.6, MISS)
    assert (fit["old ms"], fit["new ms"], fit["quartiles"]) == (1000, 1200, "1.05 to 1.15")


def test_a_new_task_has_no_verdict_and_a_lost_one_fails() -> None:
    (row,) = watch.compare([({"fit": None}, {"fit": 1.0})], ("old", "new"), limit=1.0).rows
    assert row == {"task": "fit", "new ms": 1000}
    (row,) = watch.compare([({"fit": 1.0}, {"fit": None})], ("old", "new"), limit=1.0).rows
    assert row == {"task": "fit", VERDICT: MISS}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two commits, the first of them tagged; its library is twice as slow in the second."""
    root = tmp_path / "repository"
    root.mkdir()
    monkeypatch.setattr(watch, "ROOT", root)
    user = ("-c", "user.name=A", "-c", "user.email=a@b")
    watch.git("init", "--quiet")
    for seconds in ("1.0", "2.0"):
        (root / "seconds").write_text(seconds, encoding="utf-8")
        watch.git("add", "seconds")
        watch.git(*user, "commit", "--quiet", "-m", seconds)
    watch.git("tag", "v1", "HEAD^")
    monkeypatch.setattr(
        watch, "measure", lambda tree, parts: {"fit": float((tree / "seconds").read_text())}
    )
    return root


def test_a_slow_down_since_the_last_tag_ends_with_1(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "watch.md"
    arguments = ["--rounds", "2", "--out", str(out)]
    assert watch.main(arguments) == 1
    assert "2.00 to 2.00" in capsys.readouterr().out
    assert "| fit | 1000.0 | 2000.0 | 2.00 |" in out.read_text(encoding="utf-8")
    assert watch.main([*arguments, "--limit", "2"]) == 0
    assert watch.main([*arguments, "--since", "HEAD"]) == 0
    assert len(watch.git("worktree", "list").splitlines()) == 1


def test_without_a_tag_or_with_an_unknown_revision_it_ends_with_2(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert watch.main(["--since", "nowhere"]) == 2
    watch.git("tag", "--delete", "v1")
    assert watch.main([]) == 2
    assert "name a revision, as in --since HEAD~30" in capsys.readouterr().err


@pytest.mark.long
@pytest.mark.parametrize("name", watch_tasks.tasks())
@pytest.mark.filterwarnings("ignore")
def test_a_task_runs(name: str) -> None:
    assert watch_tasks.tasks()[name]() is not None
