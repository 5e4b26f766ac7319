"""Scores of folds for TopKCV, from samples or sums over them, and the choice of alpha and k."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from inspect import Parameter, signature
from numbers import Integral
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln
from sklearn.base import clone
from sklearn.metrics import check_scoring, get_scorer, mean_poisson_deviance
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)
from sklearn.utils.validation import has_fit_parameter

from rowsparse._arrays import Array, Index, Mask
from rowsparse._validation import check_choice
from rowsparse.moments import Moments
from rowsparse.moments.parts import merged
from rowsparse.moments.statistics import Statistics
from rowsparse.selectors.topk.predictors import TopKClassifier, TopKRegressor
from rowsparse.selectors.topk.risk_scores import concordance, partial_likelihood
from rowsparse.selectors.topk.topk import TopK
from rowsparse.selectors.topk.topk_problem import TopKProblem, open_problem
from rowsparse.solvers.problem import Fit, Options
from rowsparse.targets import check_sample_weight, survival_times, target_array

# Mean scores closer than this are ties.
_SAME_SCORE = 1e-12


class Fold(Protocol):
    """The training data of a model, and the data of its score."""

    def posed(self, selector: TopK) -> tuple[TopKProblem, Callable[[Fit], float]]:
        """The training samples, posed for a selector, and the score of a model of the path."""


def score_fold(fold: Fold, selector: TopK, alphas: Array, k_max: int, seed: int) -> Array:
    """Scores of one fold, of shape (n_alphas, n_ks): one design, one path for each alpha."""
    prepared, score = fold.posed(clone(selector))
    scores = [
        score(fit)
        for alpha in alphas.tolist()
        for fit in prepared.solve(alpha, k_max, Options(seed=seed)).values()
    ]
    return np.array(scores).reshape(alphas.size, -1)


# ------------------------------------------------------------------------- folds of samples
def drawn_folds(
    cv: Any,
    X: Any,
    y: Any,
    task: str,
    groups: Any = None,
    *,
    shuffle: bool = False,
    random_state: Any = None,
) -> list[tuple[Index, Index]]:
    """Training and test rows of each fold, stratified by class or event.

    ``shuffle`` is about a number of folds; then samples of a group stay together.
    """
    strata = survival_times(y)[:, 0] if task == "survival" else y
    splitter = check_cv(cv, strata, classifier=task in ("classification", "survival"))
    if shuffle and isinstance(cv, Integral):
        kind = type(splitter) if groups is None else _WITH_GROUPS[type(splitter)]
        splitter = kind(int(cv), shuffle=True, random_state=random_state)
    with warnings.catch_warnings():
        if shuffle:  # gene expression data often have classes with fewer samples than folds
            warnings.filterwarnings("ignore", message="The least populated class")
        return list(splitter.split(X, strata, groups))


_WITH_GROUPS = {KFold: GroupKFold, StratifiedKFold: StratifiedGroupKFold}


@dataclass(frozen=True)
class FoldData:
    """All samples, checked, from which the folds take theirs."""

    X: Any
    y: Any
    weights: Array | None
    task: str

    @classmethod
    def checked(cls, X: Any, y: Any, sample_weight: Any, task: str) -> FoldData:
        """From validated X, for a task that is known."""
        X = sp.csr_array(X) if sp.issparse(X) else X
        y = target_array(y, X.shape[0])
        weights = check_sample_weight(sample_weight, X.shape[0])
        if task == "classification":
            y = y.ravel()
        return cls(X, y, weights, task)

    def only(self, rows: Index) -> FoldData:
        """Some of the samples."""
        X, y, weights = self.part(rows)
        return replace(self, X=X, y=y, weights=weights)

    def part(self, rows: Index) -> tuple[Any, Any, Array | None]:
        """X, y and weights of some samples."""
        return self.X[rows], self.y[rows], None if self.weights is None else self.weights[rows]


@dataclass(frozen=True)
class FoldScorer:
    """An estimator (or None), its scorer, and whether they take sample weights."""

    estimator: Any
    scorer: Any
    weighs_fit: bool
    weighs_score: bool

    @classmethod
    def from_parameters(cls, estimator: Any, scoring: Any, task: str) -> FoldScorer:
        """From the parameters of :class:`TopKCV`."""
        if scoring is None and estimator is None:
            scoring = _DEFAULT_SCORES.get(task, "accuracy")
        if task == "survival" and isinstance(scoring, str):
            check_choice("scoring", scoring, SURVIVAL_SCORES)
            scoring = SURVIVAL_SCORES[scoring]
        scorer = get_scorer(scoring) if estimator is None else check_scoring(estimator, scoring)
        own = estimator is not None and scoring is None
        function = estimator.score if own else getattr(scorer, "_score_func", scorer)
        weighs_fit = estimator is not None and has_fit_parameter(estimator, "sample_weight")
        return cls(estimator, scorer, weighs_fit, _takes_weights(function))

    def fitted(self, X: Any, y: Any, weights: Array | None) -> Any:
        """The estimator on the selected columns of the training samples."""
        if weights is None or not self.weighs_fit:
            return clone(self.estimator).fit(X, y)
        return clone(self.estimator).fit(X, y, sample_weight=weights)

    def __call__(self, model: Any, X: Any, y: Any, weights: Array | None) -> float:
        if weights is None or not self.weighs_score:
            return float(self.scorer(model, X, y))
        return float(self.scorer(model, X, y, sample_weight=weights))


def _minus_deviance(model: Any, X: Any, y: Array, sample_weight: Array | None = None) -> float:
    """Minus the mean Poisson deviance, the mean over the columns of counts."""
    rates = np.maximum(model.predict(X), np.finfo(np.float64).tiny)
    pairs = zip(np.atleast_2d(y.T), np.atleast_2d(rates.T), strict=True)
    deviances = [mean_poisson_deviance(*pair, sample_weight=sample_weight) for pair in pairs]
    return -float(np.mean(deviances))


def _of_survival(score: Any) -> Any:
    """A scorer of the risks that a model predicts."""

    def scored(model: Any, X: Any, y: Any, sample_weight: Array | None = None) -> float:
        return float(score(y, model.predict(X), sample_weight))

    return scored


# The scores of survival times by name, and those of tasks without classes.
SURVIVAL_SCORES = {
    "concordance": _of_survival(concordance),
    "partial_likelihood": _of_survival(partial_likelihood),
}
_DEFAULT_SCORES: dict[str, Any] = {
    "regression": "r2",
    "counts": _minus_deviance,
    "survival": "concordance",
}


def _takes_weights(function: Any) -> bool:
    parameters = signature(function).parameters
    return "sample_weight" in parameters or any(
        p.kind is Parameter.VAR_KEYWORD for p in parameters.values()
    )


@dataclass(frozen=True)
class SamplesFold:
    """A fold of samples, by index."""

    data: FoldData
    train: Index
    test: Index
    scorer: FoldScorer

    def posed(self, selector: TopK) -> tuple[TopKProblem, Callable[[Fit], float]]:
        """The score is that of the estimator on the columns of a fit, or of the fit itself."""
        scorer, (X, y, weights) = self.scorer, self.data.part(self.train)
        prepared, held_out = open_problem(selector, X, y, weights), self.data.part(self.test)

        def score(fit: Fit) -> float:
            Z, truth, counts = held_out
            if scorer.estimator is None:
                model: Any = _refitted(prepared, fit)
            else:
                model = scorer.fitted(X[:, fit.support], y, weights)
            return scorer(model, Z[:, fit.support], truth, counts)

        return prepared, score


def _refitted(prepared: TopKProblem, fit: Fit) -> TopKClassifier | TopKRegressor:
    """The model by which the features were chosen, as a predictor of their columns."""
    targets, limits = prepared.data.targets, prepared.data.scaling.limits
    coef, intercept = prepared.decision_model(fit)
    fitted: dict[str, Any] = {"task_": targets.task, "loss_": prepared.loss_name}
    if limits is not None:
        fitted["clip_limits_"] = limits[:, fit.support]
    if targets.task in TopKRegressor.tasks:
        if targets.single_output:
            coef, intercept = coef[0], intercept[0]
        return TopKRegressor._of_model(coef, intercept, **fitted)
    if targets.task == "classification":
        fitted["classes_"] = targets.classes
    else:
        fitted["classes_"] = np.arange(len(intercept))
    return TopKClassifier._of_model(coef, intercept, **fitted)


# ---------------------------------------------------------------------------- folds of sums
@dataclass(frozen=True)
class SumsFold:
    """A fold by the Moments of all folds."""

    folds: Sequence[Moments]
    test: int

    def posed(self, selector: TopK) -> tuple[TopKProblem, Callable[[Fit], float]]:
        """The score is R^2 on the test samples."""
        training = merged([fold for i, fold in enumerate(self.folds) if i != self.test])
        training = training.with_classes_of(self.folds[self.test])
        prepared, held_out = open_problem(selector, training), self.folds[self.test]
        statistics = held_out.with_classes_of(training).statistics
        return prepared, lambda fit: r2_score(statistics, *prepared.model(fit), fit.support)


def r2_score(found: Statistics, coef: Array, intercept: Array, support: Index) -> float:
    """R^2 of a linear model on the samples of statistics, as scikit-learn has it.

    The mean over the targets of 1 - sum of squared residuals / scatter; of a target without
    scatter, 1 or 0.

    Parameters
    ----------
    found : Statistics
        Of the test samples.
    coef, intercept : arrays of shape (c, k) and (c,)
        The model.
    support : array of int of shape (k,)
        The columns it is of.
    """
    part = found.with_columns(support)
    offset = part.y_mean - intercept - coef @ part.x_mean
    residual = np.diag(part.yy) - 2.0 * np.einsum("cj,jc->c", coef, part.xy)
    residual += np.einsum("ci,ij,cj->c", coef, part.full_xx(), coef)
    residual = np.maximum(residual, 0.0) + part.weight * offset**2
    scatter = np.where(part.y_low < part.y_high, np.diag(part.yy), 0.0)
    flat = scatter <= 0
    scores = 1.0 - residual / np.where(flat, 1.0, scatter)
    return float(np.mean(np.where(flat, (residual == 0).astype(float), scores)))


# ------------------------------------------------------------------------------- the choice
def choose(
    scores: Array, alphas: Array, *, one_std_err: bool, n_folds: int | None = None
) -> tuple[int, int]:
    """Which alpha and which k, from scores of shape (n_splits, n_alphas, n_ks).

    ``n_folds`` is the number of folds if they are repeated: repetitions of the same samples do not
    make the standard error smaller.

    >>> scores = np.array([[[0.5, 0.85, 0.9]], [[0.6, 0.95, 1.0]]])
    >>> choose(scores, np.array([0.5]), one_std_err=False)
    (0, 2)
    >>> choose(scores, np.array([0.5]), one_std_err=True)
    (0, 1)
    """
    means = scores.mean(axis=0)
    means = np.where(np.isnan(means), -np.inf, means)
    slack = _SAME_SCORE * max(1.0, abs(float(means.max())))
    best = _first(means >= means.max() - slack, means, alphas)
    if not one_std_err or scores.shape[0] < 2:
        return best
    error = scores[:, best[0], best[1]].std(ddof=1) / np.sqrt(n_folds or scores.shape[0])
    return _first(means >= means[best] - error - slack, means, alphas)


def _first(good: Mask, means: Array, alphas: Array) -> tuple[int, int]:
    """The good candidate with the fewest features, then the best mean, then the largest alpha."""
    j = int(np.flatnonzero(good.any(axis=0))[0])
    rows = np.flatnonzero(good[:, j])
    top = rows[means[rows, j] >= means[rows, j].max() - _SAME_SCORE]
    return int(top[np.argmax(alphas[top])]), j


def ebic(prepared: TopKProblem, fits: dict[int, Fit], gamma: float) -> Array:
    """The extended Bayesian information criterion of each fit of a path; see :class:`TopKCV`."""
    n, c, d = prepared.n_terms, prepared.n_columns, prepared.constraints.n_left
    ks = np.array(list(fits))
    n_selected = np.array([fit.support.size for fit in fits.values()])
    choices = gammaln(d + 1) - gammaln(ks + 1) - gammaln(d - ks + 1)
    return prepared.deviances(fits) + n_selected * c * np.log(n) + 2 * gamma * choices


def grid_table(alphas: Array, ks: Index) -> dict[str, Array]:
    """The candidates: every k for the first alpha, then every k for the second, ..."""
    return {"n_features": np.tile(ks, alphas.size), "alpha": np.repeat(alphas, ks.size)}


def results_table(scores: Array, alphas: Array, ks: Index) -> dict[str, Array]:
    """``cv_results_`` from scores of shape (n_splits, n_alphas, n_ks)."""
    splits = {f"split{i}_test_score": split.ravel() for i, split in enumerate(scores)}
    mean, std = scores.mean(axis=0).ravel(), scores.std(axis=0).ravel()
    return {**grid_table(alphas, ks), "mean_test_score": mean, "std_test_score": std, **splits}
