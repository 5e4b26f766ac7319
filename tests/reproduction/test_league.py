"""The league table: its tasks, its peers, its numbers, its page and the tables of the guide."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.peers.selectors import PEERS
from reproduction import accuracy, league, league_page
from reproduction.declare import RunTask, Size
from reproduction.league_guide import BEGIN, END, PAGE, main, tables, updated
from reproduction.league_scores import JUDGES, UNRANKED, VARIANTS, Scores, outcome
from reproduction.pages import write_page
from reproduction.runner import run_paper
from reproduction.store import ResultStore, read_rows
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


def test_a_part_of_a_set_keeps_the_shares_of_its_classes(benchmark_data):
    X, y = benchmark_data("usps")
    part, labels, task = league.sample_of("usps", 0, 500)
    assert part.shape == (500, X.shape[1])
    assert task == "classification"
    np.testing.assert_allclose(np.bincount(labels) / 500, np.bincount(y) / y.size, atol=0.002)
    again, _, _ = league.sample_of("usps", 1, 500)
    assert not np.array_equal(part, again)


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
    "topk": "`TopK`",
    "lpinf": "LpInf",
    "mrmr": "mRMR",
    "fastcan": "fastcan",
    "rpfs": "RPFS",
    "mtfs": "MTFS",
}


# ------------------------------------------------------------------------------- the numbers
def test_a_method_with_fewer_repetitions_is_compared_on_its_own():
    """The second repetition is easier by 0.2: a method without it must not suffer."""
    rows = [
        made_row("topk", 0.5),
        made_row("topk", 0.7, split=1),
        made_row("rfs", 0.55),
    ]
    means = Scores.of(rows, "accuracy").mean()
    np.testing.assert_allclose(means, [[0.6, 0.65]])


def test_who_has_no_result_on_some_sets_is_ranked_apart():
    rows = grid({"topk": 0.9, "mrmr": 0.8, "rfs": 0.1})
    for dataset in ("glioma", "lung"):
        error = {"dataset": dataset, "method": "nmapg", "split": 0, "error": "TimeoutError: x"}
        rows.append(error)
    rows += grid({"nmapg": 0.95}, ("srbct", "yale"))
    scores = Scores.of(rows, "accuracy")
    places = scores.places()[:, scores.methods.index("nmapg")]
    np.testing.assert_array_equal(places, [np.nan, np.nan, 1, 1])
    result = scores.comparison()
    ranks = dict(zip(result.methods, result.mean_ranks, strict=True))
    assert ranks == {"topk": 1.0, "mrmr": 2.0, "rfs": 3.0}
    assert league_page.unfinished_ranks(scores) == [["NmAPG", 2, "1.0", "2.0", 4]]


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


def test_time_is_that_of_all_k():
    rows = [
        made_row(m, 0.5, k=k, seconds=2.0, shared=s)
        for m, s in (("rfs", 1), ("topk-one-start", 0))
        for k in (5, 10)
    ]
    rows += [made_row("topk", 0.9, seconds=99.0)]
    scores = Scores.of(rows, "accuracy")
    assert scores.seconds().tolist() == [[2.0, 4.0, 99.0]]
    points = league_page.time_points(scores)
    assert points["topk-one-start"] == pytest.approx((4.0, 50.0))
    # Its seconds are of another run than those of the others.
    assert "topk" not in points


# ---------------------------------------------------------------------------------- the page
def page_of(rows, folder: Path) -> str:
    return write_page(league.PAPER, {"classes": rows}, folder).read_text()


def test_the_page_has_tables_pictures_and_troubles(tmp_path):
    rows = grid({"topk": 0.9, "topk-one-start": 0.88, "rfs": 0.8, "mrmr": 0.85, "abess": 0.85})
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


def test_the_readme_says_of_the_league_what_its_rows_say():
    docs = Path(__file__).parents[2]
    rows = read_rows(docs / "docs" / "league.csv")
    scores = Scores.of(rows["classes"], "accuracy")
    text = (docs / "README.md").read_text(encoding="utf-8")
    overall = scores.comparison()
    n_sets, cells = len(scores.datasets), len(scores.datasets) * len(scores.ks)
    assert len(scores.complete) == n_sets
    assert f"| | Mean rank of {len(overall.methods)} methods | First in, of {cells} (" in text
    rivals = [at for at, name in enumerate(scores.methods) if name not in VARIANTS]
    first = dict.fromkeys(scores.methods, 0)
    for k in scores.ks:
        for line in scores.mean(k=k)[:, rivals]:
            for at in np.flatnonzero(line == np.nanmax(line)):
                first[scores.methods[rivals[at]]] += 1
    table = [
        f"| {README_NAMES[name]} | {rank:.1f} | {first[name]} |"
        for name, rank in zip(overall.methods[:6], overall.mean_ranks, strict=False)
    ]
    assert "\n".join(table) + "\n\n" in text
    words = " ".join(text.split())
    assert f"differ by no more than {overall.critical_difference:.1f} are" in words
    untouched = league_page.untouched_context(scores, {*league.USES[0], *league.USES[1]})
    (_, own), (_, next_best), *_ = untouched["lines"]
    assert (
        f"On the {len(untouched['sets'])} sets that were used neither to choose its penalty nor to "
        f"check it, the mean ranks are {own} and, next, {next_best}"
    ) in words
    everything = np.array([scores.reference(dataset) for dataset in scores.datasets])
    above = int((everything > scores.mean()[:, scores.methods.index("topk")]).sum())
    assert f"than the selections of `TopK` on {above} of the {n_sets} sets:" in words


def test_settings_of_topk_and_methods_with_less_time_are_not_ranked():
    rows = grid({"topk": 0.9, "topk-squared": 0.95, "mrmr": 0.8, "rfs": 0.7, "slap": 0.99})
    scores = Scores.of(rows, "accuracy")
    assert scores.comparison().methods == ("topk", "mrmr", "rfs")
    assert {"topk-squared", "slap"} <= {*UNRANKED}
    assert np.isnan(scores.places()[:, scores.methods.index("topk-squared")]).all()
    assert league_page.unfinished_ranks(scores) == []
    assert [rival.name for rival in scores.against("topk")] == ["mrmr", "rfs"]
    # In the place of the default the other loss is first too.
    assert league_page.variant_ranks(scores) == [["TopK", "1.0", 3], ["TopK (squared)", "1.0", 3]]


# ---------------------------------------------------------------------------------------- the guide
DOCS = Path(__file__).parents[2] / "docs"


def rows_of(scores, datasets, metric="accuracy", seconds=None):
    """A row for each method and set, alike for all judges."""
    return [
        {
            "dataset": dataset,
            "method": method,
            "split": 0,
            "k": 5,
            **{f"{metric}_{code}": score for code in JUDGES.values()},
            "seconds": (seconds or {}).get(method, 1.0),
            "shared": 1,
        }
        for dataset in datasets
        for method, score in scores.items()
    ]


@pytest.fixture
def rows():
    sets = ("glioma", "lung", "pcmac", "basehock")
    scores = {"topk": 0.9, "mrmr": 0.8, "ttest": 0.7, "relieff": 0.6}
    classes = rows_of(scores, sets, seconds={"mrmr": 0.1, "ttest": 0.2, "relieff": 0.05})
    late = {"dataset": "pcmac", "method": "rfs", "split": 0, "error": "TimeoutError: late"}
    classes += rows_of({"rfs": 0.95}, ("glioma", "lung", "basehock"))
    return {
        "classes": [*classes, late],
        "labels": rows_of({"topk": 0.5, "relieff": 0.6}, ("yeast", "scene"), "f1"),
    }


def test_a_method_is_ranked_on_the_kinds_of_data_that_it_has(rows):
    text = tables(rows)
    assert "| gene expression | 2 | 5 | RFS 1.0, TopK 2.0, MRMR 3.0, TTest 4.0 | 2 |" in text
    assert "| text | 2 | 4 | TopK 1.0, MRMR 2.0, TTest 3.0, ReliefF 4.0 | 2 |" in text
    assert "| several labels, any | 2 | 2 | ReliefF 1.0, TopK 2.0 | 0 |" in text
    assert "| 5 | TopK 1.0, MRMR 2.0, TTest 3.0, ReliefF 4.0 |" in text


def test_only_what_stands_between_the_marks_is_replaced(rows, tmp_path):
    page = tmp_path / PAGE
    page.parent.mkdir()
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    (tmp_path / "league.csv").write_bytes((DOCS / "league.csv").read_bytes())
    main(tmp_path)
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{BEGIN}\n\n### By kind of data")
    assert text.endswith(f"{END}\nafter\n")
    assert "old" not in text
    with pytest.raises(ValueError, match="no marks"):
        updated("nothing here", rows)


def test_the_guide_has_the_tables_of_the_rows_and_says_how_many_sets_there_are():
    rows = read_rows(DOCS / "league.csv")
    page = (DOCS / PAGE).read_text(encoding="utf-8")
    assert page == updated(page, rows), "run python -m reproduction.league_guide docs"
    classes, labels = (
        len({row["dataset"] for row in rows[part]}) for part in ("classes", "labels")
    )
    assert f"on {classes} sets of classes" in (DOCS / PAGE).read_text(encoding="utf-8")
    text = " ".join((DOCS / "guide" / "comparing.md").read_text(encoding="utf-8").split())
    assert f"has {classes} sets of classes and {labels} of labels" in text
