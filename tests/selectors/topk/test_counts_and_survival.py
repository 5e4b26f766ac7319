"""TopK with counts and with times of survival: targets, models, scores and refusals."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import PoissonRegressor
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rowsparse import (
    FisherScore,
    Moments,
    NearOptimal,
    StabilitySelection,
    TopK,
    TopKClassifier,
    TopKCV,
    TopKRegressor,
    topk_path,
)
from rowsparse.certificate import verify
from rowsparse.selectors.topk.risk_scores import concordance

from .losses import (
    ALPHA,
    LOSSES,
    counts,
    cox_objective,
    least_cox,
    least_poisson,
    standardised,
    survival,
)


def topk(loss, k, **settings):
    return LOSSES[loss].topk(k, **{"certify": True} | settings)


# ---------------------------------------------------------------------------------- counts
def test_whole_numbers_are_counts_only_where_asked_for():
    X, y, _ = counts(0)
    assert TopK(2, loss="poisson").fit(X, y).task_ == "counts"
    assert TopK(2, task="counts").fit(X, y).loss_ == "poisson"
    assert TopK(2, task="regression").fit(X, y).loss_ == "squared"
    assert TopKRegressor(2).fit(X, y).loss_ == "squared"
    with pytest.raises(ValueError, match="task='counts' is for loss='poisson'"):
        TopK(2, task="counts", loss="squared").fit(X, y)
    with pytest.raises(ValueError, match="loss='poisson' is for counts, but y holds classes"):
        TopK(2, task="classification", loss="poisson").fit(X, y)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda y: -y, "y must hold counts of at least 0 for loss='poisson'; its least is -"),
        (lambda y: np.where(y == 0, np.nan, y), "y contains NaN"),
        (lambda y: y * 1e17, "too large for loss='poisson': divide y by a power of ten"),
    ],
)
def test_what_is_no_count_is_refused_in_one_sentence(change, sentence):
    X, y, _ = counts(0)
    with pytest.raises(ValueError, match=sentence):
        TopK(2, loss="poisson").fit(X, change(y))


def test_the_regressor_predicts_rates_and_scores_their_deviance():
    X, y, w = counts(7, n=100)
    regressor = TopKRegressor(3, loss="poisson", alpha=0.1, random_state=0).fit(X, y, w)
    S = regressor.get_support(indices=True)
    Z = X[:, S] / np.sqrt(np.cov(X[:, S].T, aweights=w, bias=True).diagonal())
    peer = PoissonRegressor(alpha=0.1, tol=1e-12, max_iter=1000, solver="newton-cholesky")
    peer.fit(Z, y, sample_weight=w)
    np.testing.assert_allclose(regressor.predict(X), peer.predict(Z), rtol=1e-7)
    assert regressor.score(X, y, w) == pytest.approx(peer.score(Z, y, sample_weight=w))


def test_several_columns_of_counts_are_summed():
    X, Y, w = counts(8, c=3)
    Y[:, 1] = 4
    selector = topk("poisson", 2).fit(X, Y, w)
    best = min(least_poisson(X, Y[:, [0, 2]], w, S) for S in combinations(range(8), 2))
    assert selector.objective_ == pytest.approx(best, rel=1e-8)
    assert selector.status_ == "optimal"
    assert not selector.coef_[1].any()
    for exact in (False, True):
        assert verify(X, Y, selector, w, exact=exact).bound == pytest.approx(best, rel=1e-6)
    predicted = TopKRegressor(2, loss="poisson").fit(X, Y).predict(X)
    assert predicted.shape == Y.shape
    np.testing.assert_allclose(predicted[:, 1], 4.0)


def test_the_number_of_features_of_counts_is_chosen_by_deviance():
    X, y, w = counts(10, n=150)
    own = TopKCV(loss="poisson", rule="best", random_state=0).fit(X, y, w)
    named = TopKCV(
        loss="poisson", rule="best", scoring="neg_mean_poisson_deviance", random_state=0
    ).fit(X, y, w)
    scores = own.cv_results_["mean_test_score"]
    np.testing.assert_allclose(scores, named.cv_results_["mean_test_score"])
    assert scores.argmax() + 1 == own.n_features_
    assert TopKCV(loss="poisson", rule="ebic", random_state=0).fit(X, y, w).n_features_ <= 8


@pytest.mark.parametrize("wrapped", [False, True])
def test_subsamples_of_counts_are_counts(wrapped):
    X, y, _ = counts(11)
    selector = TopK(3, loss="poisson")
    if wrapped:
        selector = make_pipeline(StandardScaler(), selector)
    found = StabilitySelection(selector, n_subsamples=6, random_state=0).fit(X, y)
    assert found.get_support().sum() == 3


# -------------------------------------------------------------------------------- survival
def test_survival_times_are_structured_or_two_columns():
    X, y, w = survival(0)
    pandas = pytest.importorskip("pandas")
    columns = np.column_stack([y["died"], y["months"]])
    frame = pandas.DataFrame({"died": y["died"], "months": y["months"]})
    known = topk("cox", 2).fit(X, y, w)
    whole = np.array(list(zip(y["died"].astype(int), y["months"].astype(int), strict=True)), "i,i")
    for selector, targets in (
        (TopK(2, alpha=ALPHA, random_state=0), y),
        (TopKRegressor(2, alpha=ALPHA, random_state=0), y),
        (TopKRegressor(2, alpha=ALPHA, task="survival", random_state=0), columns),
        (TopK(2, alpha=ALPHA, loss="cox", random_state=0), whole),
        (TopK(2, alpha=ALPHA, loss="cox", random_state=0), columns),
        (TopK(2, alpha=ALPHA, task="survival", random_state=0), frame),
    ):
        selector.fit(X, targets, w)
        assert (selector.task_, selector.loss_) == ("survival", "cox")
        assert selector.coef_.shape == (8,)
        np.testing.assert_allclose(selector.coef_, known.coef_, atol=1e-9)
    assert verify(X, columns, known, w).bound == verify(X, y, known, w).bound


def changed(y, **fields):
    y = y.copy()
    for name, value in fields.items():
        y[name] = value
    return y


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda y: changed(y, died=False), "y has no event: loss='cox' needs at least one"),
        (lambda y: changed(y, months=np.arange(40)), "times greater than 0 .*; the least is 0"),
        (lambda y: changed(y, months=-1.0), "times greater than 0 .*; the least is -1"),
        (lambda y: changed(y, months=np.nan), "y contains NaN or infinity"),
        (lambda y: y[["months", "died"]], "the event of each sample before its time"),
        (lambda y: y[["died"]], "y must have two fields for loss='cox'.*; it has died"),
        (lambda y: y["months"], "y must have two columns for loss='cox'.*; it has 1"),
        (lambda y: np.column_stack([y["months"], y["months"]]), "1 .True. or 0 .False.,"),
        (lambda y: np.array(["a"] * 40), "y must hold numbers"),
    ],
)
def test_what_is_no_survival_time_is_refused_in_one_sentence(change, sentence):
    X, y, _ = survival(0)
    with pytest.raises(ValueError, match=sentence):
        TopK(2, loss="cox").fit(X, change(y))


def test_survival_times_are_refused_where_they_do_not_fit():
    X, y, _ = survival(0)
    columns = np.column_stack([y["died"], y["months"]])
    for selector, targets, sentence in (
        (TopK(2, loss="squared"), y, "task='survival' is for loss='cox': set loss to it"),
        (
            TopK(2, loss="cox", task="classification"),
            y["months"],
            "loss='cox' is for survival times",
        ),
        (TopKClassifier(2), y, "structured array, of events and times of survival"),
        (TopKClassifier(2, loss="cox"), y, "loss='cox' is for survival.*: take TopKRegressor"),
        (FisherScore(2), y, "FisherScore takes targets for .*; y is for survival"),
        (TopK(2, loss="cox", class_weight="balanced"), y, "class_weight is for classification"),
    ):
        with pytest.raises(ValueError, match=sentence):
            selector.fit(X, targets)
    with pytest.raises(ValueError, match="they need all samples at once"):
        Moments().update(X, y)
    with pytest.raises(AttributeError, match="loss='cox' needs the samples themselves"):
        TopK(2, loss="cox").partial_fit(X, columns)


def test_the_regressor_predicts_risks_and_scores_their_concordance():
    X, y, w = survival(7, n=60)
    regressor = TopKRegressor(3, alpha=ALPHA, random_state=0).fit(X, y, w)
    S = regressor.get_support(indices=True)
    Z = standardised(X, w, {})[:, S]
    risks = regressor.predict(X)
    scale = np.sqrt(np.average((X - np.average(X, axis=0, weights=w)) ** 2, axis=0, weights=w))
    np.testing.assert_allclose(risks, Z @ (regressor.coef_ * scale)[S], atol=1e-12)
    assert np.linalg.norm(cox_objective((regressor.coef_ * scale)[S], Z, y, w)[1]) < 1e-7
    right = total = 0.0
    for i, j in combinations(range(60), 2):
        # The earlier one first; of the same time, the one with the event.
        i, j = sorted((i, j), key=lambda at: (y["months"][at], not y["died"][at]))
        tied = y["months"][i] == y["months"][j] and y["died"][i] == y["died"][j]
        if y["died"][i] and not tied:
            total += w[i] * w[j]
            right += w[i] * w[j] * (risks[i] > risks[j])
    assert regressor.score(X, y, w) == pytest.approx(right / total)
    assert regressor.score(X, y) > 0.55
    same = TopKRegressor(3, alpha=1e9, random_state=0).fit(X, y)
    same.coef_[:] = 0.0
    assert same.score(X, y) == 0.5
    assert same.score(X, changed(y, died=False)) == 0.5


@pytest.mark.parametrize("scoring", [None, "concordance", "partial_likelihood"])
def test_the_number_of_features_of_survival_times_is_chosen_by_held_out_scores(scoring):
    X, y, w = survival(10, n=90)
    found = TopKCV(scoring=scoring, rule="best", k_max=4, cv=3, random_state=0).fit(X, y, w)
    folds = StratifiedKFold(3).split(X, y["died"])
    for i, (train, test) in enumerate(folds):
        path = topk_path(X[train], y[train], 4, sample_weight=w[train], n_restarts=0)
        for j, k in enumerate(path.ks):
            risks = X[test] @ path.coef(k)[0] + path.intercepts[j][0]
            if scoring == "partial_likelihood":
                V = np.ones(1)
                value = cox_objective(V, risks[:, None], y[test], w[test])[0]
                value -= ALPHA * w[test].sum() / 2
                own = -value / (w[test] @ y["died"][test])
            else:
                own = concordance(y[test], risks, w[test])
            score = found.cv_results_[f"split{i}_test_score"][j]
            assert score == pytest.approx(own, abs=1e-9)
    assert found.cv_results_["mean_test_score"].argmax() + 1 == found.n_features_


def test_choosing_the_number_for_survival_times_has_its_words():
    X, y, w = survival(10, n=60)
    with pytest.raises(ValueError, match=r"scoring must be .*concordance"):
        TopKCV(loss="cox", scoring="accuracy").fit(X, y)
    chosen = TopKCV(rule="ebic", ebic_gamma=0.0, k_max=3, random_state=0).fit(X, y, w)
    path = topk_path(X, y, 3, sample_weight=w, random_state=0)
    Z, n = standardised(X, w, {}), w @ y["died"]
    for k, S, value in zip(path.ks, path.supports, chosen.cv_results_["ebic"], strict=True):
        free = minimize(
            lambda V, S=S: cox_objective(V, Z[:, S], y, w)[0] - ALPHA * w.sum() / 2 * (V @ V),
            np.zeros(k),
        )
        assert value == pytest.approx(2 * free.fun + k * np.log(n), rel=1e-6)


def test_subsamples_of_survival_times_keep_the_share_of_events():
    X, y, _ = survival(11)
    y = changed(y, died=np.arange(40) < 2)
    found = StabilitySelection(TopK(3), n_subsamples=6, subsample=0.5, random_state=0).fit(X, y)
    assert found.get_support().sum() == 3


def test_nearly_optimal_choices_of_survival_times_are_listed():
    X, y, w = survival(12)
    near = NearOptimal(topk("cox", 2), tolerance=0.05).fit(X, y, w)
    values = {S: least_cox(X, y, w, S) for S in combinations(range(8), 2)}
    best = min(values.values())
    inside = {S for S, value in values.items() if value < 1.05 * best}
    assert {tuple(S.tolist()) for S in near.choices_} == inside
    assert near.complete_
    assert 1 < len(inside) < 20


def test_times_at_which_all_have_their_event_say_nothing():
    X, y, _ = survival(9)
    y = changed(y, died=True, months=3.0)
    selector = topk("cox", 2).fit(X, y)
    assert (selector.objective_, selector.status_) == (0.0, "optimal")
    assert not selector.coef_.any()
    assert verify(X, y, selector).bound == verify(X, y, selector, exact=True).bound == 0.0
