"""The functions behind the commands: what they find is what the library finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from rowsparse import StabilitySelection, TopK, topk_path
from rowsparse._compat import HAS_CALLBACKS
from rowsparse.workflow.compare import compare
from rowsparse.workflow.errors import InputError
from rowsparse.workflow.path import find_path
from rowsparse.workflow.running import in_threads, told
from rowsparse.workflow.select import select
from rowsparse.workflow.table import Table, read_table
from rowsparse.workflow.validation import judges

N, D = 80, 12
rng = np.random.default_rng(3)
X = rng.standard_normal((N, D))
SCORE = X[:, 2] + X[:, 5] - X[:, 9] + 0.4 * rng.standard_normal(N)


def make(folder: Path, target: str = "goal", task: str = "auto", **columns: Any) -> Table:
    path = folder / "table.csv"
    pl.DataFrame({**{f"f{j}": X[:, j] for j in range(D)}, **columns}).write_csv(path)
    return read_table(path, target, task=task)


@pytest.fixture
def classes(tmp_path: Path) -> Table:
    return make(tmp_path, goal=np.array(["a", "b", "c"])[np.digitize(SCORE, [-1, 1])])


@pytest.fixture
def numbers(tmp_path: Path) -> Table:
    return make(tmp_path, goal=SCORE)


@pytest.fixture
def labels(tmp_path: Path) -> Table:
    columns = {f"l{j}": (SCORE + X[:, j] > 0).astype(int) for j in range(3)}
    return make(tmp_path, "l*", **columns)


def test_features_are_those_of_topk(classes: Table) -> None:
    result = select(classes, 4, seed=7)
    fitted = TopK(4, random_state=7).fit(classes.X, classes.y)
    chosen = fitted.get_support(indices=True)
    assert sorted(feature.index for feature in result.features) == chosen.tolist()
    scores = [feature.score for feature in result.features]
    assert scores == sorted(fitted.scores_[chosen].tolist(), reverse=True)
    assert [feature.rank for feature in result.features] == [1, 2, 3, 4]
    assert result.objective == fitted.objective_
    assert result.certificate is not None
    assert result.certificate.status == "heuristic"
    first = result.features[0]
    assert first.name == f"f{first.index}"
    expected = fitted.coef_[:, first.index] * classes.X[:, first.index].std()
    np.testing.assert_allclose(first.coefficients, expected)
    strongest = int(np.abs(expected).argmax())
    direction = "higher" if expected[strongest] > 0 else "lower"
    assert first.speaks_for == f"{'abc'[strongest]} ({direction})"


def test_the_score_is_honest(classes: Table) -> None:
    result = select(classes, 3, stability=0)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    scores, counts = [], np.zeros((3, 3), dtype=int)
    for train, test in folds.split(classes.X, classes.y):
        chosen = TopK(3, n_restarts=0, random_state=0).fit(classes.X[train], classes.y[train])
        S = chosen.get_support()
        model = make_pipeline(StandardScaler(), SVC(kernel="linear", C=1.0))
        answer = model.fit(classes.X[train][:, S], classes.y[train]).predict(classes.X[test][:, S])
        scores.append(np.mean(answer == classes.y[test]))
        for true, said in zip(classes.y[test], answer, strict=True):
            counts["abc".index(true), "abc".index(said)] += 1
    assert result.metric == "accuracy"
    assert result.score == pytest.approx(np.mean(scores))
    assert result.score_sd == pytest.approx(np.std(scores))
    assert result.confusion is not None
    np.testing.assert_array_equal(result.confusion.counts, counts)
    assert result.chance_score == pytest.approx(max(classes.target.counts) / N, abs=0.02)
    assert 0.3 < result.baseline_score <= 1
    assert result.stability is None
    assert all(feature.frequency is None for feature in result.features)


def test_labels_named_at_random_are_predicted_at_chance(tmp_path: Path) -> None:
    noise = make(tmp_path, goal=np.random.default_rng(0).permutation(["a", "b"] * (N // 2)))
    assert select(noise, 5, stability=0).score < 0.68


def test_frequencies_are_those_of_stability_selection(classes: Table) -> None:
    result = select(classes, 3, stability=9, seed=2, cv=0)
    selector = TopK(3, n_restarts=0, random_state=2)
    expected = StabilitySelection(selector, n_subsamples=9, random_state=2)
    expected.fit(classes.X, classes.y)
    for feature in result.features:
        assert feature.frequency == expected.frequencies_[feature.index]
        low, high = feature.frequency_interval or (0, 0)
        assert (low, high) == tuple(expected.frequency_intervals_[feature.index])
    assert result.stability is not None
    assert result.stability[0] == expected.stability_
    assert np.isnan(result.score)


def test_threads_do_not_change_the_answer(classes: Table) -> None:
    one, two = (select(classes, 3, stability=6, n_jobs=jobs) for jobs in (1, 3))
    assert one.features == two.features
    assert (one.score, one.stability) == (two.score, two.stability)


def test_correlations_and_alternatives(classes: Table) -> None:
    result = select(classes, 3, stability=0, cv=0)
    chosen = [feature.index for feature in result.features]
    every = np.corrcoef(classes.X.T)
    np.testing.assert_allclose(result.correlation, every[np.ix_(chosen, chosen)], atol=1e-12)
    left = [j for j in range(D) if j not in chosen]
    for feature, others in zip(result.features, result.alternatives, strict=True):
        best = max(left, key=lambda j: abs(every[feature.index, j]))
        assert others[0].name == f"f{best}"
        assert others[0].correlation == pytest.approx(every[feature.index, best])
        assert len(others) == 3


def test_distributions_per_class(classes: Table) -> None:
    result = select(classes, 2, stability=0, cv=0)
    for feature, shown in zip(result.features, result.distributions, strict=True):
        assert shown.groups == ("a", "b", "c")
        values = classes.X[classes.y == "b", feature.index]
        np.testing.assert_allclose(
            shown.quantiles[1], np.quantile(values, (0.05, 0.25, 0.5, 0.75, 0.95))
        )


def test_numbers(numbers: Table) -> None:
    result = select(numbers, 3, stability=4)
    assert sorted(feature.index for feature in result.features) == [2, 5, 9]
    assert result.metric == "r2"
    assert result.score > 0.8
    assert result.confusion is None
    assert result.distributions[0].groups == ("low", "middle", "high")
    assert result.features[0].speaks_for == ""
    assert result.data.classes == ()


def test_several_labels(labels: Table) -> None:
    result = select(labels, 4, stability=4)
    assert result.metric == "macro_f1"
    assert 0.6 < result.score <= 1
    assert result.data.classes == ("l0", "l1", "l2")
    assert all(len(feature.coefficients) == 3 for feature in result.features)
    assert result.distributions[0].groups == ("l0", "l1", "l2")


def test_a_method_without_coefficients(classes: Table) -> None:
    result = select(classes, 3, method="relieff", stability=3)
    assert result.method == "ReliefF"
    assert result.certificate is None
    assert all(feature.coefficients == () for feature in result.features)
    assert result.features[0].speaks_for
    assert np.isnan(result.objective)


def test_a_proof(classes: Table) -> None:
    result = select(classes, 2, certify=True, alpha=2.0, stability=0, cv=0)
    assert result.certificate is not None
    assert result.certificate.status == "optimal"
    assert result.certificate.lower_bound <= result.certificate.objective
    if HAS_CALLBACKS:
        assert result.progress
        assert result.progress[-1].seconds >= 0


def test_include_and_exclude(classes: Table) -> None:
    result = select(classes, 3, include="f0", exclude="f2, f5", stability=3)
    chosen = {feature.name for feature in result.features}
    assert "f0" in chosen
    assert not chosen & {"f2", "f5"}
    relief = select(classes, 3, method="relieff", exclude="f2", stability=0, cv=0)
    assert relief.data.n_features == D - 1
    assert "f2" not in {feature.name for feature in relief.features}


def test_k_by_cross_validation(classes: Table) -> None:
    result = select(classes, "auto", stability=0, k_max=6)
    assert result.k_was_chosen
    assert result.curve is not None
    assert result.curve.ks == (1, 2, 3, 4, 5, 6)
    assert result.k == result.curve.chosen_k <= result.curve.best_k
    assert len(result.features) == result.k
    assert result.curve.mean[result.curve.best_k - 1] == max(result.curve.mean)
    assert any("same folds" in sentence for sentence in result.warnings)


def test_k_by_cross_validation_of_another_method(classes: Table) -> None:
    result = select(classes, "auto", method="relieff", stability=0, k_max=7)
    assert result.curve is not None
    assert result.curve.ks == (1, 2, 3, 4, 5, 6)
    assert result.curve.objective is None
    assert result.k == result.curve.chosen_k


def test_the_score_is_told_around_the_k_asked_for(classes: Table) -> None:
    result = select(classes, 4, stability=0)
    curve = result.curve
    assert curve is not None
    assert not result.k_was_chosen
    assert curve.ks == (1, 2, 4, 6)
    assert curve.chosen_k == 4
    assert curve.mean[2] == result.score
    assert curve.sd[2] == result.score_sd
    other = select(classes, 6, stability=0).curve
    assert other.ks == (2, 3, 6, 9)
    assert (other.mean[0], other.mean[2]) == (curve.mean[1], curve.mean[3])
    assert select(classes, 4, stability=0, cv=0).curve is None
    forced = select(classes, 4, include="f0, f1", exclude="f2, f3, f4, f5, f6", stability=0).curve
    assert forced.ks == (2, 4, 6)
    assert select(classes, 4, method="rfs", stability=0).curve.ks == (2, 4, 6)


def test_large_tables_are_read_once_in_a_fold(classes: Table, monkeypatch: Any) -> None:
    monkeypatch.setattr("rowsparse.workflow.table._LARGE", 10)
    result = select(classes, 8, stability=0)
    assert result.curve.ks == (2, 4, 6, 8)
    splits = StratifiedKFold(5, shuffle=True, random_state=0).split(classes.X, classes.y)
    scores = []
    for train, test in splits:
        path = topk_path(classes.X[train], classes.y[train], 8, n_restarts=0, random_state=0)
        model = make_pipeline(StandardScaler(), SVC(kernel="linear"))
        chosen = path.supports[3]
        model.fit(classes.X[train][:, chosen], classes.y[train])
        scores.append(model.score(classes.X[test][:, chosen], classes.y[test]))
    assert result.curve.mean[1] == pytest.approx(np.mean(scores))


def test_categories_come_and_go_together(tmp_path: Path) -> None:
    colour = np.array(["red", "green", "blue"])[np.digitize(SCORE, [-1, 1])]
    table = make(tmp_path, goal=SCORE, colour=colour)
    result = select(table, 1, stability=3)
    assert {feature.name for feature in result.features} == {
        "colour=red",
        "colour=green",
        "colour=blue",
    }
    assert any("together or not at all" in note for note in result.data.notes)
    alone = select(table, 2, method="rfs", stability=0, cv=0)
    assert any("RFS knows no groups" in note for note in alone.data.notes)
    with pytest.raises(InputError, match="Nothing can be proven of groups"):
        select(table, 1, certify=True)
    automatic = select(table, "auto", stability=0, k_max=3)
    assert automatic.k_was_chosen
    assert automatic.curve is not None
    assert automatic.curve.ks == (1, 2, 3)


def test_a_category_is_one_step_of_a_path(tmp_path: Path) -> None:
    colour = np.array(["red", "green", "blue"])[np.digitize(SCORE, [-1, 1])]
    table = make(tmp_path, goal=SCORE, colour=colour)
    path = find_path(table, 3)
    named = [[path.names[j] for j in support] for support in path.supports]
    assert [len(names) for names in named] == [1, 2, 3]
    assert named[0] == ["colour"]
    assert not any("colour=" in name for names in named for name in names)
    assert any("together or not at all" in note for note in path.data.notes)
    assert find_path(table, 100).ks[-1] == table.n_units == D + 1
    barred = find_path(table, 100, exclude="colour")
    assert barred.ks[-1] == D
    assert all("colour" not in [barred.names[j] for j in support] for support in barred.supports)
    forced = find_path(table, 2, include="colour")
    assert forced.ks == (1, 2)
    with pytest.raises(InputError, match="--include has 2 columns, more than --k-max 1"):
        find_path(table, 1, include="colour,f1")


def test_pixels(tmp_path: Path) -> None:
    table = make(tmp_path, goal=np.where(SCORE > 0, "a", "b"))
    result = select(table, 2, image_shape=(3, 4), stability=0, cv=0)
    assert result.class_means is not None
    np.testing.assert_allclose(result.class_means[1], X[SCORE <= 0].mean(axis=0))
    with pytest.raises(InputError, match="--image 5x5 has 25 pixels"):
        select(table, 2, image_shape=(5, 5))


def test_sparse_data(tmp_path: Path) -> None:
    from scipy.io import savemat
    from scipy.sparse import csc_array

    counts = np.maximum(np.round(2 * X), 0)
    savemat(tmp_path / "a.mat", {"X": csc_array(counts), "Y": (SCORE > 0).astype(float)[:, None]})
    dense = tmp_path / "dense.mat"
    savemat(dense, {"X": counts, "Y": (SCORE > 0).astype(float)[:, None]})
    thin, thick = (select(read_table(p), 3, stability=3) for p in (tmp_path / "a.mat", dense))
    assert [f.index for f in thin.features] == [f.index for f in thick.features]
    np.testing.assert_allclose(thin.correlation, thick.correlation, atol=1e-10)
    assert thin.score == thick.score


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"k": 13}, "-k 13 is more than the 12 columns"),
        ({"k": 0}, "-k must be an integer of at least 1"),
        ({"k": 2, "cv": 1}, "--cv must be between 2 and"),
        ({"k": 2, "cv": 1000}, "--cv must be between 2 and"),
        ({"k": "auto", "cv": 0}, "-k auto needs cross-validation"),
        ({"k": 2, "stability": 1}, "--stability needs at least 2"),
        ({"k": 2, "stability": -1}, "--stability must be an integer of at least 0"),
        ({"k": 2, "method": "nosuch"}, "nosuch"),
        ({"k": 2, "method": "rfs", "certify": True}, "RFS has no --certify"),
        ({"k": 2, "method": "rfs", "alpha": 1.0}, "RFS has no --alpha"),
        ({"k": 2, "method": "relieff", "include": "f1"}, "ReliefF has no --include"),
        ({"k": 2, "include": "f1", "exclude": "f1"}, "--include and --exclude overlap in 'f1'"),
        ({"k": 2, "include": "g1"}, "--include: there is no column 'g1'"),
        ({"k": 2, "alpha": -1.0}, "alpha must be a number of at least 0"),
    ],
)
def test_options_that_do_not_fit(classes: Table, options: dict[str, Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        select(classes, **options)


def test_a_method_for_other_targets(numbers: Table) -> None:
    from rowsparse import list_selectors

    every, fit = set(list_selectors()), set(list_selectors(task="regression"))
    with pytest.raises(InputError, match="these are for regression"):
        select(numbers, 2, method=sorted(every - fit)[0])


def test_too_few_samples_for_a_score_is_a_note(tmp_path: Path) -> None:
    table = make(tmp_path, goal=["rare"] + ["common"] * (N - 1))
    result = select(table, 2, stability=4)
    assert np.isnan(result.score)
    assert any(sentence.startswith("No cross-validated score") for sentence in result.warnings)


def test_as_many_classes_as_samples_is_refused(tmp_path: Path) -> None:
    table = make(tmp_path, goal=[f"class {i}" for i in range(N)])
    with pytest.raises(InputError, match="No class has two samples"):
        select(table, 2)


def test_all_features_may_be_selected(classes: Table) -> None:
    result = select(classes, D, stability=2, cv=2)
    assert result.k == D
    assert result.alternatives == ((),) * D


def test_convergence_trouble_is_told() -> None:
    import warnings

    with told() as heard:
        warnings.warn("RFS did not converge.\nmore", ConvergenceWarning, stacklevel=1)
        warnings.warn("RFS did not converge.\nmore", ConvergenceWarning, stacklevel=1)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    assert heard.sentences == ["RFS did not converge."]
    assert not heard.converged


def test_threads_keep_the_order_and_raise_what_fails() -> None:
    done: list[int] = []
    assert in_threads([lambda i=i: i * i for i in range(6)], 3, done.append) == [
        i * i for i in range(6)
    ]
    assert done == [1, 2, 3, 4, 5, 6]
    with pytest.raises(ZeroDivisionError):
        in_threads([lambda: 1 // 0, lambda: 1], 2)


def test_many_samples_are_judged_by_a_quicker_model() -> None:
    assert list(judges("classification", 100)) == ["linear SVM", "1-NN"]
    assert next(iter(judges("classification", 10_000))) == "logistic regression"
    assert list(judges("multilabel", 10_000)) == ["logistic regression"]


# ------------------------------------------------------------------------- comparison and path
def test_comparison(classes: Table) -> None:
    result = compare(classes, [1, 3], ["topk", "relieff"], cv=3)
    assert result.curve.selectors == ["TopK", "ReliefF"]
    assert result.curve.ks == [1, 3]
    assert result.curve.mean("accuracy").shape == (2, 2)
    assert result.warnings == ()
    again = compare(classes, [1, 3], ["topk", "relieff"], cv=3)
    np.testing.assert_array_equal(again.curve.mean("accuracy"), result.curve.mean("accuracy"))


def test_comparison_of_the_usual_methods_and_its_refusals(classes: Table, numbers: Table) -> None:
    assert "TopK" in compare(classes, [2], cv=2).curve.selectors
    assert "TopK" in compare(numbers, [2], cv=2).curve.selectors
    with pytest.raises(InputError, match="-k 99 is more than the 12 columns"):
        compare(classes, [2, 99])
    with pytest.raises(InputError, match="at least one method"):
        compare(classes, [2], [])
    with pytest.raises(ValueError, match="nosuch"):
        compare(classes, [2], ["nosuch"])


def test_a_method_that_fails_is_told(classes: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    from rowsparse import ReliefF

    def fail(self: Any, X: Any, y: Any = None) -> None:
        raise ValueError("no neighbours.\nmore")

    monkeypatch.setattr(ReliefF, "fit", fail)
    result = compare(classes, [2], ["topk", "relieff"], cv=2)
    assert result.warnings == ("ReliefF failed: ValueError: no neighbours.",)
    assert np.isfinite(result.curve.mean("accuracy")[0, 0])


def test_path_is_that_of_topk(numbers: Table) -> None:
    result = find_path(numbers, 5, seed=1)
    expected = topk_path(numbers.X, numbers.y, 5, random_state=1)
    assert result.ks == (1, 2, 3, 4, 5)
    for found, support in zip(result.supports, expected.supports, strict=True):
        np.testing.assert_array_equal(found, support)
    assert result.objectives == tuple(expected.objectives.tolist())
    assert result.curve.metric == "r2"
    assert len(result.curve.mean) == 5
    assert find_path(numbers, 100).ks[-1] == D
    with pytest.raises(ValueError, match="--k-max must be an integer"):
        find_path(numbers, 0)
    with pytest.raises(InputError, match="--include has 2 columns, more than --k-max 1"):
        find_path(numbers, 1, include="f1,f2")
