"""Choosing the number of features: scores of the folds, rules, and a criterion without folds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from inspect import Parameter, signature
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln
from sklearn.base import clone
from sklearn.metrics import check_scoring, get_scorer
from sklearn.utils.validation import has_fit_parameter

from rowsparse._arrays import Array, Index, Mask
from rowsparse.selectors.topk.constraints import Constraints
from rowsparse.selectors.topk.path_problem import PathProblem, path_problem
from rowsparse.selectors.topk.predictors import TopKClassifier, TopKRegressor
from rowsparse.selectors.topk.solution import decision_model
from rowsparse.selectors.topk.topk import TopK
from rowsparse.solvers.subset.path import PathPoint
from rowsparse.targets import check_sample_weight, target_array

# Mean scores closer than this are ties.
_SAME_SCORE = 1e-12


@dataclass(frozen=True)
class FoldData:
    """All samples, checked, from which the folds take theirs."""

    X: Any
    y: Any
    weights: Array | None
    task: str
    constraints: Constraints

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any, prepared: PathProblem) -> FoldData:
        """From validated X; ``prepared`` knows the task and the constraints."""
        X = sp.csr_array(X) if sp.issparse(X) else X
        y = target_array(y, X.shape[0])
        weights = check_sample_weight(sample_weight, X.shape[0])
        task = prepared.problem.targets.task
        if task == "classification":
            y = y.ravel()
        return cls(X, y, weights, task, prepared.constraints)

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
    def of(cls, estimator: Any, scoring: Any, task: str) -> FoldScorer:
        """From the parameters of :class:`TopKCV`; None is accuracy, or R^2 for regression."""
        if estimator is None:
            default = "r2" if task == "regression" else "accuracy"
            scorer = get_scorer(default if scoring is None else scoring)
        else:
            scorer = check_scoring(estimator, scoring)
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


def _takes_weights(function: Any) -> bool:
    parameters = signature(function).parameters
    return "sample_weight" in parameters or any(
        p.kind is Parameter.VAR_KEYWORD for p in parameters.values()
    )


def score_fold(
    data: FoldData,
    train: Index,
    test: Index,
    selector: TopK,
    alphas: Array,
    k_max: int,
    scorer: FoldScorer,
    seed: int,
) -> Array:
    """Scores of one fold, of shape (n_alphas, n_ks): one design, one path for each alpha."""
    X, y, weights = data.part(train)
    X_test, y_test, weights_test = data.part(test)
    prepared = path_problem(selector, X, y, weights)
    scores = []
    for alpha in alphas.tolist():
        points = prepared.solve(alpha, k_max, n_restarts=0, seed=seed)
        for point in points:
            S = point.support
            if scorer.estimator is None:
                model: Any = _refitted(prepared, point)
            else:
                model = scorer.fitted(X[:, S], y, weights)
            scores.append(scorer(model, X_test[:, S], y_test, weights_test))
    return np.array(scores).reshape(alphas.size, -1)


def _refitted(prepared: PathProblem, point: PathPoint) -> TopKClassifier | TopKRegressor:
    """The model by which the features were chosen, as a predictor of their columns."""
    targets, limits = prepared.problem.targets, prepared.problem.units.limits
    coef, intercept = prepared.model(point)
    fitted: dict[str, Any] = {"task_": targets.task, "loss_": prepared.loss_name}
    if limits is not None:
        fitted["clip_limits_"] = limits[:, point.support]
    if targets.task == "regression":
        if targets.single_output:
            coef, intercept = coef[0], intercept[0]
        return TopKRegressor._of_model(coef, intercept, **fitted)
    if targets.task == "classification":
        coef, intercept = decision_model(coef, intercept)
        fitted["classes_"] = targets.classes
    else:
        fitted["classes_"] = np.arange(len(intercept))
    return TopKClassifier._of_model(coef, intercept, **fitted)


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


def ebic(prepared: PathProblem, points: list[PathPoint], gamma: float) -> Array:
    """The extended Bayesian information criterion of each point; see :class:`TopKCV`."""
    n, c, d = prepared.n, prepared.n_columns, prepared.constraints.n_left
    ks = np.array([point.k for point in points])
    n_selected = np.array([point.support.size for point in points])
    choices = gammaln(d + 1) - gammaln(ks + 1) - gammaln(d - ks + 1)
    return prepared.deviances(points) + n_selected * c * np.log(n) + 2 * gamma * choices


def grid_table(alphas: Array, ks: Index) -> dict[str, Array]:
    """The candidates: every k for the first alpha, then every k for the second, ..."""
    return {"n_features": np.tile(ks, alphas.size), "alpha": np.repeat(alphas, ks.size)}


def results_table(scores: Array, alphas: Array, ks: Index) -> dict[str, Array]:
    """``cv_results_`` from scores of shape (n_splits, n_alphas, n_ks)."""
    splits = {f"split{i}_test_score": split.ravel() for i, split in enumerate(scores)}
    mean, std = scores.mean(axis=0).ravel(), scores.std(axis=0).ravel()
    return {**grid_table(alphas, ks), "mean_test_score": mean, "std_test_score": std, **splits}
