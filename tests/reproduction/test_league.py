"""The league table: its tasks, its peers, its numbers and its page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.peers.selectors import PEERS
from reproduction import accuracy, league, league_page
from reproduction.declare import RunTask, Size
from reproduction.league_figures import FAMILIES
from reproduction.league_scores import JUDGES, VARIANTS, Scores, family, label, outcome
from reproduction.pages import write_page
from reproduction.runner import run_paper
from reproduction.store import ResultStore, read_rows
from rowsparse.datasets import list_datasets
from rowsparse.selectors import list_selectors

STANDARD = league.PAPER.standard


def made_row(method, score, *, dataset="glioma", split=0, k=5, **other):
    """A row whose classifiers all have the same score; ``folds`` scatter around it."""
    return {
        "dataset": dataset,
        "method": method,
        "split": split,
        "k": k,
        **{f"accuracy_{code}": score for code in JUDGES.values()},
        "folds": " ".join(f"{score + step:.4f}" for step in (-0.02, -0.01, 0.0, 0.01, 0.02)),
        "objective": 10.0,
        "spread": 20.0,
        "seconds": 1.0,
        "shared": 1,
        **other,
    }


def grid(scores, datasets=("glioma", "lung", "srbct", "yale"), **other):
    return [
        made_row(method, score, dataset=dataset, **other)
        for dataset in datasets
        for method, score in scores.items()
    ]


# ------------------------------------------------------------------------------------- tasks
def test_every_selector_and_peer_is_run_on_every_set():
    tasks = league.class_tasks(STANDARD)
    everything = {t.method for t in tasks}
    assert everything == {*list_selectors("classification"), *PEERS, *VARIANTS}
    by_set = {}
    for task in tasks:
        by_set.setdefault(task.dataset, set()).add(task.method)
    assert len(by_set) == 28
    assert all(methods >= everything - set(league.DEEP) for methods in by_set.values())
    peers = {m for m in league.contenders_for("multilabel") if m in PEERS}
    assert peers == {"sklearn-forest", "abess", "fastcan"}


def test_the_full_size_has_no_reductions():
    tasks = league.class_tasks(league.FULL)
    assert len(tasks) == 5 * 28 * len(league.contenders_for("classification"))
    options = [task.options for task in tasks]
    assert {task.split for task in tasks if task.method == "ipfs"} == set(range(5))
    assert all(np.isinf(o["samples"]) and o["estimators"] == list(JUDGES) for o in options)


def test_slow_methods_and_the_forest_have_fewer_repetitions():
    tasks = league.class_tasks(STANDARD)
    splits = {m: {t.split for t in tasks if t.method == m} for m in ("topk", "ipfs")}
    assert splits == {"topk": {0, 1, 2}, "ipfs": {0}}
    assert all(("random forest" in t.options["estimators"]) == (t.split == 0) for t in tasks)


def test_limits_are_generous_but_for_what_is_not_ranked():
    limits = {t.method: t.options["fold_limit"] for t in league.class_tasks(STANDARD)}
    brief = {method for method, limit in limits.items() if limit == 20}
    assert brief == set(league.BRIEF)
    assert {limit for method, limit in limits.items() if method not in brief} == {900}


def test_a_part_of_a_set_keeps_the_shares_of_its_classes(benchmark_data):
    X, y = benchmark_data("usps")
    part, labels, task = league.sample_of("usps", 0, 500)
    assert part.shape == (500, X.shape[1])
    assert task == "classification"
    np.testing.assert_allclose(np.bincount(labels) / 500, np.bincount(y) / y.size, atol=0.002)
    again, _, _ = league.sample_of("usps", 1, 500)
    assert not np.array_equal(part, again)


def test_the_most_frequent_labels_are_kept(benchmark_data):
    _, y = benchmark_data("emotions")
    _, kept, _ = league.sample_of("emotions", 0, labels=2)
    assert sorted(kept.sum(axis=0)) == sorted(y.sum(axis=0))[-2:]


@pytest.mark.long
def test_rows_hold_all_k_and_the_mean_of_their_folds(benchmark_data):
    benchmark_data("lung_discrete")
    task = next(
        t
        for t in league.class_tasks(league.PAPER.quick)
        if (t.dataset, t.method) == ("lung_discrete", "fisherscore")
    )
    rows = league.league_rows(task)
    assert [row["k"] for row in rows] == list(league.KS)
    for row in rows:
        folds = [float(text) for text in row["folds"].split()]
        means = [row[f"accuracy_{code}"] for code in JUDGES.values()]
        assert len(folds) == 5
        assert np.mean(folds) == pytest.approx(np.mean(means), abs=1e-4)
        assert row["samples"] == 73
        assert row["objective"] < row["spread"]


def spin(*args, **settings):
    """Take many seconds of processor time.

    Nothing is called meanwhile: a limit that strikes when a function of another file is entered
    may strike while the measurement of coverage holds its lock, which is never released then.
    """
    for _ in range(1_000_000_000):
        pass
    raise AssertionError("not stopped")


@pytest.mark.posix
def test_a_method_that_takes_too_long_is_out_of_time(benchmark_data, tmp_path, monkeypatch):
    benchmark_data("lung_discrete")
    monkeypatch.setattr(accuracy, "evaluate_split", spin)
    options = {"methods": ("topk",), "fold_limit": 0.05}
    size = Size("quick", datasets=("lung_discrete",), options=options)
    with ResultStore(tmp_path / "results.db", "quick") as store:
        assert run_paper(league.PAPER, store, size) == 1
        (row,) = store.rows("classes")
    assert outcome(row) == "out of time"


@pytest.mark.usefixtures("undrawn")
def test_a_package_that_is_not_installed_has_no_row(tmp_path):
    rows = grid({"topk": 0.9, "mrmr": 0.8})
    why = "ImportError: abess is not installed"
    rows.append({"dataset": "glioma", "method": "abess", "split": 0, "error": why})
    assert "Not installed, and therefore without a row: abess" in page_of(rows, tmp_path)
    assert Scores.of(rows, "accuracy").methods == ("topk", "mrmr")


# What the README calls methods.
README_NAMES = {
    "topk-logistic": "`TopK`, logistic loss",
    "topk-clip": "`TopK`, squared loss, clipped columns",
    "topk": "`TopK`, squared loss",
    "lpinf": "LpInf",
    "mrmr": "mRMR",
    "fastcan": "fastcan",
}


# ------------------------------------------------------------------------------- the numbers
def test_methods_have_names_and_families():
    names = league.contenders_for("classification")
    assert len({label(name) for name in names}) == len(names)
    assert {family(name) for name in names} <= set(FAMILIES)
    assert [family(n) for n in ("topk", "fspca", "abess")] == ["sparse", "unsupervised", "package"]


def test_a_method_with_fewer_repetitions_is_compared_on_its_own():
    """The second repetition is easier by 0.2: a method without it must not suffer."""
    rows = [made_row("topk", 0.5), made_row("topk", 0.7, split=1), made_row("rfs", 0.55)]
    means = Scores.of(rows, "accuracy").mean()
    np.testing.assert_allclose(means, [[0.6, 0.65]])


def test_who_has_no_result_on_some_sets_is_ranked_apart():
    rows = grid({"topk": 0.9, "mrmr": 0.8, "rfs": 0.1})
    for dataset in ("glioma", "lung"):
        error = {"dataset": dataset, "method": "slap", "split": 0, "error": "TimeoutError: x"}
        rows.append(error)
    rows += grid({"slap": 0.95}, ("srbct", "yale"))
    scores = Scores.of(rows, "accuracy")
    places = scores.places()[:, scores.methods.index("slap")]
    np.testing.assert_array_equal(places, [np.nan, np.nan, 1, 1])
    result = scores.comparison()
    ranks = dict(zip(result.methods, result.mean_ranks, strict=True))
    assert ranks == {"topk": 1.0, "mrmr": 2.0, "rfs": 3.0}
    assert league_page.unfinished_ranks(scores) == [["SLAP", 2, "1.0", "2.0", 4]]


def test_methods_with_the_same_scores_count_once():
    scores = Scores.of(grid({"topk": 0.9, "fisherscore": 0.8, "fstatistic": 0.8}), "accuracy")
    assert scores.comparison().methods == ("topk", "fisherscore")
    assert [rival.name for rival in scores.against("topk")] == ["fisherscore"]


def test_sets_with_the_same_samples_count_once():
    scores = Scores.of(grid({"topk": 0.9, "rfs": 0.8}, ("allaml", "glioma", "leu")), "accuracy")
    assert scores.blocks() == [[0, 2], [1]]
    assert scores.comparison().n_datasets == 2


def test_networks_have_a_rank_on_their_own_sets_only():
    rows = grid({"topk": 0.9, "rfs": 0.8}) + grid({"firdl": 0.85}, ("glioma", "srbct"))
    scores = Scores.of(rows, "accuracy")
    assert "firdl" not in scores.comparison().methods
    assert league_page.unfinished_ranks(scores) == [["FIRDL", 2, "2.0", "1.0", 3]]


def test_sets_that_are_not_complete_are_not_ranked():
    rows = [*grid({"topk": 0.9, "mrmr": 0.8}), made_row("topk", 0.1, dataset="orl")]
    scores = Scores.of(rows, "accuracy")
    assert scores.comparison().n_datasets == 4


def test_slow_methods_are_ranked_on_the_sets_that_all_have():
    sets = ("srbct", "yale")
    rows = grid({"topk": 0.9, "mrmr": 0.8}) + grid({"rfs": 0.85, "slap": 0.95}, sets)
    scores = Scores.of(rows, "accuracy")
    assert scores.comparison().methods == ("topk", "mrmr")
    assert scores.comparison().n_datasets == 4
    common = scores.common()
    assert common.datasets == sets
    assert common.comparison().methods == ("topk", "rfs", "mrmr")
    found = league_page.common_ranks(scores)
    assert found["sets"] == ["SRBCT", "Yale"]
    assert "| RFS | sparse model | 2.0 |" in found["table"]
    assert league_page.common_ranks(Scores.of(grid({"topk": 0.9, "rfs": 0.8}), "accuracy")) is None


def test_gains_of_a_variant_are_told_by_what_sets_were_used_for():
    sets = ("glioma", "srbct", "yale", "orl", "allaml", "leu")
    rows = grid({"topk": 0.5}, sets) + grid({"topk-clip": 0.52}, ("glioma", "allaml"))
    rows += grid({"topk-clip": 0.56}, ("srbct",)) + grid({"topk-clip": 0.5}, ("yale", "orl", "leu"))
    scores = Scores.of(rows, "accuracy")
    # ALLAML and LEU are the same samples, and one set here.
    lines = league_page.gains(scores, "topk-clip", ("glioma", "srbct"), ("allaml",))
    assert lines == [
        ["TopK (clip 2)", "choice", 2, "+4.0", "2.0"],
        ["TopK (clip 2)", "neither", 2, "+0.0", "0.0"],
    ]
    lines = league_page.gains(scores, "topk-clip", ("glioma",), ("allaml", "yale"))
    assert ["TopK (clip 2)", "check", 2, "+0.5", "0.5"] in lines
    assert league_page.gains(scores, "topk-logistic", (), ()) == []


def test_methods_without_a_row_are_named():
    rows = [*grid({"topk": 0.9, "rfs": 0.8}), made_row("allfeatures", 0.9)]
    run = league_page.run_context(Scores.of(rows, "accuracy"), ("allfeatures", "topk", "lpinf"))
    assert run["never"] == ["LpInf"]


def test_sets_with_fewer_repetitions_are_named():
    rows = grid({"topk": 0.9, "rfs": 0.8}) + grid({"topk": 0.9, "rfs": 0.8}, ("lung",), split=1)
    run = league_page.run_context(Scores.of(rows, "accuracy"))
    assert (run["most"], run["fewer"]) == (2, [])
    assert run["fewer_sets"] == ["GLIOMA", "SRBCT", "Yale"]
    one = league_page.run_context(Scores.of(grid({"topk": 0.9, "rfs": 0.8}), "accuracy"))
    assert one["fewer_sets"] == []


def test_single_missing_repetitions_are_named():
    values = {"topk": 0.9, "rfs": 0.8}
    rows = grid(values) + [r for r in grid(values, split=1) if r["dataset"] != "srbct"]
    run = league_page.run_context(Scores.of(rows, "accuracy"))
    assert (run["fewer_sets"], run["fewer_pairs"]) == (["SRBCT"], [])
    rows.append(made_row("topk", 0.9, dataset="srbct", split=1))
    run = league_page.run_context(Scores.of(rows, "accuracy"))
    assert (run["fewer_sets"], run["fewer_pairs"]) == ([], ["RFS on SRBCT"])


def test_two_methods_are_compared_where_both_have_a_result():
    late = {"split": 0, "error": "TimeoutError: stopped after 15 seconds"}
    rows = grid({"topk": 0.9, "rfs": 0.8, "mrmr": 0.7})
    rows = [r for r in rows if (r["method"], r["dataset"]) != ("rfs", "glioma")]
    rows.append({"dataset": "glioma", "method": "rfs", **late})
    scores = Scores.of(rows, "accuracy")
    rivals = {rival.name: rival for rival in scores.against("topk")}
    assert rivals["rfs"][1:4] == (3, 0, 3)
    assert rivals["mrmr"][1:4] == (4, 0, 4)
    found = league_page.against_context(scores)
    assert ["RFS", 3, 3, 0] in [line[:4] for line in found["lines"]]
    assert found["few"]


def test_many_sets_can_tell_two_methods_apart():
    names = [info.name for info in list_datasets("classification")]
    scores = Scores.of(grid({"topk": 0.9, "rfs": 0.8}, names), "accuracy")
    found = league_page.against_context(scores)
    assert (found["behind"], found["ahead"], found["few"]) == (1, [], False)


def test_time_is_that_of_all_k():
    rows = [
        made_row(m, 0.5, k=k, seconds=2.0, shared=s)
        for m, s in (("rfs", 1), ("topk", 0))
        for k in (5, 10)
    ]
    scores = Scores.of(rows, "accuracy")
    assert scores.seconds().tolist() == [[2.0, 4.0]]
    assert league_page.time_points(scores)["topk"] == pytest.approx((4.0, 50.0))


def test_a_method_that_lacks_a_set_is_placed_by_topk():
    rows = grid({"topk": 0.6}, ("glioma",)) + grid({"topk": 0.8}, ("lung",))
    rows += grid({"rfs": 0.5}, ("glioma",), seconds=10.0)
    points = league_page.time_points(Scores.of(rows, "accuracy"))
    assert points["topk"] == pytest.approx((1.0, 70.0))
    assert points["rfs"] == pytest.approx((10.0, 60.0))


# ---------------------------------------------------------------------------------- the page
def page_of(rows, folder: Path) -> str:
    return write_page(league.PAPER, {"classes": rows}, folder).read_text()


def test_the_page_has_tables_pictures_and_troubles(tmp_path):
    rows = grid({"topk": 0.9, "rfs": 0.8, "mrmr": 0.85, "abess": 0.85})
    rows.append({"dataset": "yale", "method": "ipfs", "split": 0, "error": "TimeoutError: late"})
    for dataset in ("glioma", "lung", "srbct"):
        rows.append({"dataset": dataset, "method": "ipfs", "split": 0, "error": "ValueError: no"})
    text = page_of(rows, tmp_path)
    assert "| IPFS | failed | 3 | glioma, lung, srbct |" in text
    assert "| IPFS | out of time | 1 | yale |" in text
    assert "- IPFS: ValueError: no (3 times)" in text
    assert "MRMR and abess have the same scores: they are counted once, as MRMR." in text
    assert "| **TopK** | sparse model | **1.0** |" in text
    for name in ("ranks", "time", "places"):
        assert (tmp_path / f"league-classes-{name}.png").stat().st_size > 5000


def test_rows_kept_as_csv_come_back(tmp_path):
    rows = grid({"topk": 0.9123456789, "rfs": 0.8})
    rows.append({"dataset": "orl", "method": "rfs", "split": 1, "error": 'ValueError: a, "b"'})
    with ResultStore(tmp_path / "results.db") as store:
        for at, row in enumerate(rows):
            store.put(RunTask("classes", row["dataset"], row["method"], at), [row], 0.0)
        store.write_text(tmp_path / "rows.csv", ["classes", "labels"])
    found = read_rows(tmp_path / "rows.csv")["classes"]
    key = lambda row: (row["dataset"], row["method"])  # noqa: E731
    for row, back in zip(sorted(rows, key=key), sorted(found, key=key), strict=True):
        assert set(back) == set(row)
        for name, value in row.items():
            wanted = pytest.approx(value, rel=1e-5) if isinstance(value, float) else value
            assert back[name] == wanted
            assert isinstance(back[name], str) == isinstance(value, str)


def test_names_on_the_picture_of_times_do_not_overlap(tmp_path):
    from reproduction import league_figures

    rng = np.random.default_rng(0)
    names = league.contenders_for("classification")
    points = {n: (float(np.exp(rng.normal(0, 2))), float(rng.uniform(50, 90))) for n in names}
    drawn = []
    save = league_figures.save
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(league_figures, "save", lambda f, p: (drawn.append(f), save(f, p)))
        league_figures.time_and_score(points, "accuracy")(tmp_path / "time.png")
    texts = [t for t in drawn[0].axes[0].texts if t.get_text()]
    boxes = [text.get_window_extent() for text in texts]
    assert len(boxes) == len(names)
    clashes = sum(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert clashes == 0


def test_the_readme_says_of_the_league_what_its_rows_say():
    docs = Path(__file__).parents[2]
    rows = read_rows(docs / "docs" / "league.csv")
    scores = Scores.of(rows["classes"], "accuracy")
    text = (docs / "README.md").read_text(encoding="utf-8")
    overall = scores.comparison()
    n_sets, cells = len(scores.datasets), len(scores.datasets) * len(scores.ks)
    assert len(scores.complete) == n_sets
    assert f"| | Mean rank of {len(overall.methods)} methods | First in, of {cells} (" in text
    first = {k: scores.places(k=k) == 1 for k in scores.ks}
    table = [
        f"| {README_NAMES[name]} | {rank:.1f} "
        f"| {sum(int(best[:, scores.methods.index(name)].sum()) for best in first.values())} |"
        for name, rank in zip(overall.methods[:6], overall.mean_ranks, strict=False)
    ]
    assert "\n".join(table) + "\n\n" in text
    ours = [scores.methods.index(name) for name in ("topk", "topk-logistic", "topk-clip")]
    cells_first = sum(int(best[:, ours].any(axis=1).sum()) for best in first.values())
    words = " ".join(text.split())
    assert f"One of the three `TopK` is first in {cells_first} of the {cells}." in words
    assert f"differ by no more than {overall.critical_difference:.1f} are" in words
    everything = np.array([scores.reference(dataset) for dataset in scores.datasets])
    squared, logistic = (
        int((everything > scores.mean()[:, at]).sum()) for at in (ours[0], ours[1])
    )
    assert (
        f"with the logistic loss on {logistic} of the {n_sets} sets, and with the squared loss on "
        f"{squared}:" in words
    )
