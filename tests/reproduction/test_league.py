"""The league table: its tasks, its peers, its numbers and its page."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_1samp
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from reproduction import league, league_page
from reproduction.declare import Size, Task
from reproduction.league_peers import PEERS, make_peer
from reproduction.league_reasons import defeats, not_first
from reproduction.league_scores import JUDGES, Scores, family, label, outcome, p_of_folds
from reproduction.pages import write_page
from reproduction.runner import run_paper
from reproduction.store import ResultStore, read_rows
from rowsparse.datasets import list_datasets
from rowsparse.evaluation import select_for_each
from rowsparse.selectors import list_selectors

STANDARD = league.PAPER.standard


@pytest.fixture(scope="module")
def data():
    return make_classification(80, 24, n_informative=6, n_redundant=4, n_classes=3, random_state=0)


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
    assert everything == {*list_selectors("classification"), *PEERS}
    by_set = {}
    for task in tasks:
        by_set.setdefault(task.dataset, set()).add(task.method)
    assert len(by_set) == 28
    assert all(methods >= everything - set(league.DEEP) for methods in by_set.values())
    assert {m for m in league.methods_for("multilabel") if m in PEERS} == {
        "sklearn-forest", "abess", "fastcan",
    }  # fmt: skip


def test_the_full_size_has_no_reductions():
    tasks = league.class_tasks(league.FULL)
    assert len(tasks) == 5 * 28 * len(league.methods_for("classification"))
    options = [task.options for task in tasks]
    assert {task.split for task in tasks if task.method == "ipfs"} == set(range(5))
    assert all(o["samples"] is None and o["judges"] == list(JUDGES) for o in options)


def test_slow_methods_and_the_forest_have_fewer_repetitions():
    tasks = league.class_tasks(STANDARD)
    splits = {m: {t.split for t in tasks if t.method == m} for m in ("topk", "ipfs")}
    assert splits == {"topk": {0, 1}, "ipfs": {0}}
    assert all(("random forest" in t.options["judges"]) == (t.split == 0) for t in tasks)


def test_a_part_of_a_set_keeps_the_shares_of_its_classes(benchmark_data):
    X, y = benchmark_data("usps")
    part, labels, task = league.sample_of("usps", 0, 500, None)
    assert part.shape == (500, X.shape[1])
    assert task == "classification"
    np.testing.assert_allclose(np.bincount(labels) / 500, np.bincount(y) / y.size, atol=0.002)
    again, _, _ = league.sample_of("usps", 1, 500, None)
    assert not np.array_equal(part, again)


def test_the_most_frequent_labels_are_kept(benchmark_data):
    _, y = benchmark_data("emotions")
    _, kept, _ = league.sample_of("emotions", 0, None, 2)
    assert sorted(kept.sum(axis=0)) == sorted(y.sum(axis=0))[-2:]


def test_rows_hold_all_k_and_the_mean_of_their_folds(benchmark_data):
    benchmark_data("lung_discrete")
    task = next(
        t for t in league.class_tasks(league.PAPER.quick)
        if (t.dataset, t.method) == ("lung_discrete", "fisherscore")
    )  # fmt: skip
    rows = league.league_rows(task)
    assert [row["k"] for row in rows] == list(league.KS)
    for row in rows:
        folds = [float(text) for text in row["folds"].split()]
        means = [row[f"accuracy_{code}"] for code in JUDGES.values()]
        assert len(folds) == 5
        assert np.mean(folds) == pytest.approx(np.mean(means), abs=1e-4)
        assert row["samples"] == 73
        assert row["objective"] < row["spread"]


def test_a_method_that_takes_too_long_is_out_of_time(benchmark_data, tmp_path):
    benchmark_data("lung_discrete")
    size = Size(
        "quick", repeats=1, datasets=("lung_discrete",),
        options={"methods": ("topk",), "fold_limit": 0.01},
    )  # fmt: skip
    with ResultStore(tmp_path / "results.db", "quick") as store:
        assert run_paper(league.PAPER, store, size) == 1
        (row,) = store.rows("classes")
    assert outcome(row) == "out of time"


# ------------------------------------------------------------------------------------- peers
@pytest.mark.parametrize("step_of", [1, 3, 10, 20])
def test_one_elimination_serves_every_k_as_rfe_would(data, step_of):
    X, y = data
    order = make_peer("sklearn-rfe").set_params(random_state=0).fit(X, y).order_
    machine = LinearSVC(dual="auto", random_state=0)
    expected = RFE(machine, n_features_to_select=step_of, step=0.1).fit(X, y)
    assert sorted(order[:step_of]) == np.flatnonzero(expected.support_).tolist()


def test_the_forest_ranks_as_select_from_model_would(data):
    X, y = data
    peer = make_peer("sklearn-forest").set_params(random_state=3, n_features_to_select=5).fit(X, y)
    expected = SelectFromModel(
        RandomForestClassifier(100, random_state=3), max_features=5, threshold=-np.inf
    ).fit(X, y)
    assert np.array_equal(peer.get_support(), expected.get_support())


@pytest.mark.parametrize("name", ["sklearn-f", "sklearn-mi", "sklearn-l1", "sklearn-rfe"])
def test_peers_give_every_k_by_one_fit(data, name):
    found = select_for_each(make_peer(name), *data, ks=[2, 5], seed=0)
    assert [found[k].support.size for k in (2, 5)] == [2, 5]
    assert found[2].shared
    assert set(found[2].support) <= set(found[5].support)


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore:Inconsistent values")
def test_logistic_regression_ranks_as_select_from_model_would(data):
    X, y = data[0], (data[1] == 0).astype(int)
    peer = make_peer("sklearn-l1").set_params(random_state=0, n_features_to_select=5).fit(X, y)
    machine = LogisticRegression(penalty="l1", solver="liblinear", random_state=0)
    expected = SelectFromModel(machine, max_features=5, threshold=-np.inf).fit(X, y)
    assert np.array_equal(peer.get_support(), expected.get_support())


@pytest.mark.peer
@pytest.mark.parametrize(
    ("name", "module"), [("abess", "abess"), ("fastcan", "fastcan"), ("mrmr-selection", "mrmr")]
)
def test_packages_select_k_features(data, name, module):
    pytest.importorskip(module)
    X, y = data[0].copy(), data[1]
    X[:, 3] = 0.0
    found = select_for_each(make_peer(name), X, y, ks=[2, 5], seed=0)
    assert [found[k].support.size for k in (2, 5)] == [2, 5]
    assert 3 not in found[5].support
    if name in ("abess", "fastcan"):
        labels = (y[:, None] == np.arange(3)).astype(int)
        assert make_peer(name).fit(X, labels).get_support().sum() == 10


@pytest.mark.parametrize(
    ("name", "module"), [("abess", "abess"), ("fastcan", "fastcan"), ("mrmr-selection", "mrmr")]
)
def test_a_package_that_is_not_installed_is_named(data, monkeypatch, name, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=f'{name} is not installed: pip install "rowsparse.le'):
        make_peer(name).fit(*data)


def test_a_package_that_is_not_installed_has_no_row(tmp_path):
    rows = grid({"topk": 0.9, "mrmr": 0.8})
    why = "ImportError: abess is not installed"
    rows.append({"dataset": "glioma", "method": "abess", "split": 0, "error": why})
    assert "Not installed, and therefore without a row: abess" in page_of(rows, tmp_path)
    assert Scores.of(rows, "accuracy").methods == ("topk", "mrmr")


# ------------------------------------------------------------------------------- the numbers
def test_methods_have_names_and_families():
    names = league.methods_for("classification")
    assert len({label(name) for name in names}) == len(names)
    assert {family(name) for name in names} <= set(league_page.FAMILIES)
    assert [family(n) for n in ("topk", "fspca", "abess")] == ["sparse", "unsupervised", "package"]


def test_a_method_with_fewer_repetitions_is_compared_on_its_own():
    """The second repetition is easier by 0.2: a method without it must not suffer."""
    rows = [made_row("topk", 0.5), made_row("topk", 0.7, split=1), made_row("rfs", 0.55)]
    means = Scores.of(rows, "accuracy").mean()
    np.testing.assert_allclose(means, [[0.6, 0.65]])


def test_who_has_no_result_is_last():
    rows = grid({"topk": 0.9, "mrmr": 0.8, "rfs": 0.1})
    for dataset in ("glioma", "lung"):
        error = {"dataset": dataset, "method": "slap", "split": 0, "error": "TimeoutError: x"}
        rows.append(error)
    rows += grid({"slap": 0.95}, ("srbct", "yale"))
    scores = Scores.of(rows, "accuracy")
    assert scores.places()[:, scores.methods.index("slap")].tolist() == [4, 4, 1, 1]
    result = scores.comparison()
    ranks = dict(zip(result.methods, result.mean_ranks, strict=True))
    assert ranks == {"topk": 1.5, "mrmr": 2.5, "slap": 2.5, "rfs": 3.5}


def test_sets_with_the_same_samples_count_once():
    scores = Scores.of(grid({"topk": 0.9, "rfs": 0.8}, ("allaml", "glioma", "leu")), "accuracy")
    assert scores.blocks() == [[0, 2], [1]]
    assert scores.comparison().n_datasets == 2


def test_networks_have_a_rank_on_their_own_sets_only():
    rows = grid({"topk": 0.9, "rfs": 0.8}) + grid({"firdl": 0.85}, ("glioma", "srbct"))
    scores = Scores.of(rows, "accuracy")
    assert "firdl" not in scores.comparison().methods
    assert "| FIRDL | 2 | 2.0 | 1.0 | 3 |" in league_page._deep(scores)


def test_sets_that_are_not_complete_are_not_ranked():
    rows = [*grid({"topk": 0.9, "rfs": 0.8}), made_row("topk", 0.1, dataset="orl")]
    scores = Scores.of(rows, "accuracy")
    assert scores.comparison().n_datasets == 4


def test_sets_with_fewer_repetitions_are_named():
    rows = grid({"topk": 0.9, "rfs": 0.8}) + grid({"topk": 0.9, "rfs": 0.8}, ("lung",), split=1)
    text = league_page._what_was_run(Scores.of(rows, "accuracy"))
    assert "Repetitions of the five folds: 2 of every method. Fewer of every method on " in text
    assert "LUNG" not in text.partition("Fewer")[2].partition(".")[0]
    one = league_page._what_was_run(Scores.of(grid({"topk": 0.9, "rfs": 0.8}), "accuracy"))
    assert "Fewer" not in one


def test_two_methods_are_compared_where_both_have_a_result():
    late = {"split": 0, "error": "TimeoutError: stopped after 15 seconds"}
    rows = grid({"topk": 0.9, "rfs": 0.8, "mrmr": 0.7})
    rows = [r for r in rows if (r["method"], r["dataset"]) != ("rfs", "glioma")]
    rows.append({"dataset": "glioma", "method": "rfs", **late})
    scores = Scores.of(rows, "accuracy")
    rivals = {rival.name: rival for rival in scores.against("topk")}
    assert rivals["rfs"][1:4] == (3, 0, 3)
    assert rivals["mrmr"][1:4] == (4, 0, 4)
    text = league_page._against(scores)
    assert "| RFS | 3 | 3 | 0 |" in text
    assert "On so few sets this test cannot tell any two methods apart." in text


def test_many_sets_can_tell_two_methods_apart():
    names = [info.name for info in list_datasets("classification")]
    text = league_page._against(Scores.of(grid({"topk": 0.9, "rfs": 0.8}, names), "accuracy"))
    assert "TopK is ahead of 1 at the level of 5 %" in text
    assert "so few sets" not in text


def test_folds_are_tested_with_their_overlap():
    """Without the overlap of training samples it is Student's test."""
    differences = np.array([0.03, 0.01, 0.02, 0.04, 0.0])
    t = ttest_1samp(differences, 0.0).statistic * np.sqrt((1 / 5) / (1 / 5 + 1 / 4))
    inflated = differences.mean() + (differences - differences.mean()) * np.sqrt(0.45 / 0.2)
    assert p_of_folds(differences) == pytest.approx(ttest_1samp(inflated, 0.0).pvalue)
    assert ttest_1samp(inflated, 0.0).statistic == pytest.approx(t)
    assert p_of_folds([0.0, 0.0, 0.0]) == 1.0
    assert p_of_folds([0.1, 0.1, 0.1]) < 1e-9


def test_time_is_that_of_all_k():
    rows = [
        made_row(m, 0.5, k=k, seconds=2.0, shared=s) for m, s in (("rfs", 1), ("topk", 0))
        for k in (5, 10)
    ]  # fmt: skip
    scores = Scores.of(rows, "accuracy")
    assert scores.seconds().tolist() == [[2.0, 4.0]]
    assert league_page.time_points(scores)["topk"] == pytest.approx((4.0, 50.0))


def test_a_method_that_lacks_a_set_is_placed_by_topk():
    rows = grid({"topk": 0.6}, ("glioma",)) + grid({"topk": 0.8}, ("lung",))
    rows += grid({"rfs": 0.5}, ("glioma",), seconds=10.0)
    points = league_page.time_points(Scores.of(rows, "accuracy"))
    assert points["topk"] == pytest.approx((1.0, 70.0))
    assert points["rfs"] == pytest.approx((10.0, 60.0))


# ----------------------------------------------------------------------- where TopK is not first
@pytest.mark.parametrize(
    ("own", "reason"),
    [
        ({"objective": 0.5}, "saturated"),
        ({"objective": 12.0}, "ridge"),
        ({"accuracy_svm": 0.99}, "judge"),
        ({}, "criterion"),
    ],
)
def test_the_reason_follows_from_the_rows(own, reason):
    names = ["mrmr", "rfs", "mtfs", "cdlsr"]
    rows = [made_row(name, 0.9) for name in names] + [made_row("topk", 0.8, **own)]
    (lost,) = defeats(Scores.of(rows, "accuracy"))
    assert (lost.reason, lost.leader, lost.k, lost.place) == (reason, "mrmr", 5, 5)
    assert lost.lead == pytest.approx(0.1, abs=0.07)
    assert lost.p < 1e-9


def test_only_the_error_of_the_leader_counts():
    rows = [made_row("mrmr", 0.9), made_row("rfs", 0.7, objective=1.0), made_row("topk", 0.8)]
    (lost,) = defeats(Scores.of(rows, "accuracy"))
    assert (lost.leader, lost.reason) == ("mrmr", "judge")


def test_a_lead_within_the_noise_is_not_called_clear():
    rows = [made_row("mrmr", 0.81, folds="0.7 0.9 0.8 0.85 0.8"), made_row("topk", 0.8)]
    text = not_first(Scores.of(rows, "accuracy"), "accuracy")
    assert text.startswith("TopK is first in 0 of 1 pairs of a data set and k. In 0 of the other 1")


def test_a_win_everywhere_is_said():
    text = not_first(Scores.of(grid({"topk": 0.9, "rfs": 0.8}), "accuracy"), "accuracy")
    assert text == "TopK has the highest mean accuracy in all 4 pairs of a data set and k."


def test_a_set_without_a_result_of_topk_is_named():
    rows = grid({"topk": 0.9, "rfs": 0.8})
    rows.append(made_row("rfs", 0.5, dataset="orl"))
    rows.append({"dataset": "orl", "method": "topk", "split": 0, "error": "ValueError: x"})
    assert "It has no result on ORL." in not_first(Scores.of(rows, "accuracy"), "accuracy")


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
    assert "MRMR and abess have the same scores." in text
    assert "| **TopK** | sparse model | **1.0** |" in text
    for name in ("ranks", "time", "places"):
        assert (tmp_path / f"league-classes-{name}.png").stat().st_size > 5000


def test_rows_kept_as_csv_come_back(tmp_path):
    rows = grid({"topk": 0.9123456789, "rfs": 0.8})
    rows.append({"dataset": "orl", "method": "rfs", "split": 1, "error": 'ValueError: a, "b"'})
    with ResultStore(tmp_path / "results.db") as store:
        for at, row in enumerate(rows):
            store.put(Task("classes", row["dataset"], row["method"], at), [row], 0.0)
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
    names = league.methods_for("classification")
    points = {n: (float(np.exp(rng.normal(0, 2))), float(rng.uniform(50, 90))) for n in names}
    drawn = []
    save = league_figures._save
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(league_figures, "_save", lambda f, p: (drawn.append(f), save(f, p)))
        league_figures.time_and_score(points, "accuracy")(tmp_path / "time.png")
    texts = [t for t in drawn[0].axes[0].texts if t.get_text()]
    boxes = [text.get_window_extent() for text in texts]
    assert len(boxes) == len(names)
    clashes = sum(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert clashes == 0
