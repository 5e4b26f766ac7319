"""The best features of every number from 1 to k_max, and what a search over k builds on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse._validation import check_choice, check_number
from rowsparse.selectors.base.documentation import filled_docstring
from rowsparse.selectors.base.parameters import check_parameters, generator
from rowsparse.selectors.topk.losses import PATH_LOSSES
from rowsparse.selectors.topk.path_problem import PathProblem, path_problem
from rowsparse.selectors.topk.topk import TopK
from rowsparse.solvers.subset.path import PathPoint

# Default number of perturbations of every size.
DEFAULT_PATH_RESTARTS = 2


@dataclass(frozen=True)
class TopKPath:
    """The best features found for each k.

    Attributes
    ----------
    ks : array of int of shape (m,)
        The numbers of features, or of groups: 1 (or as many as are included) up to ``k_max``.
    supports : list of m arrays of int
        The features selected for each k, sorted.
    objectives : array of shape (m,)
        The objective of :class:`TopK` on them; it never increases.
    coefs : list of m arrays of shape (n_targets, n_selected)
        Coefficients of the features of ``supports``, in the units of the data.
    intercepts : array of shape (m, n_targets)
        Intercepts, in the units of the data.
    n_features_in : int
        Number of columns of X.
    clip_limits : array of shape (2, n_features) or None
        With ``clip``, the limits of the columns; the models are of columns within them.
    """

    ks: Index
    supports: list[Index]
    objectives: Array
    coefs: list[Array]
    intercepts: Array
    n_features_in: int
    clip_limits: Array | None = None

    @property
    def membership(self) -> Mask:
        """Of shape (m, n_features): whether a feature is selected at each k."""
        inside = np.zeros((self.ks.size, self.n_features_in), dtype=bool)
        for row, support in zip(inside, self.supports, strict=True):
            row[support] = True
        return inside

    @property
    def entered(self) -> Index:
        """Of shape (n_features,): the least k at which a feature is selected, 0 for never."""
        first = np.zeros(self.n_features_in, dtype=np.intp)
        for k, support in zip(self.ks[::-1].tolist(), self.supports[::-1], strict=True):
            first[support] = k
        return first

    def position(self, k: int) -> int:
        """The place of k in ``ks``."""
        check_number("k", k, low=int(self.ks[0]), high=int(self.ks[-1]), integer=True)
        return int(k - self.ks[0])

    def coef(self, k: int) -> Array:
        """All coefficients at k, of shape (n_targets, n_features)."""
        i = self.position(k)
        coef = np.zeros((self.coefs[i].shape[0], self.n_features_in))
        coef[:, self.supports[i]] = self.coefs[i]
        return coef


@filled_docstring
def topk_path(
    X: Any,
    y: Any,
    k_max: int,
    *,
    alpha: float | str = "auto",
    loss: str = "auto",
    include: Any = None,
    exclude: Any = None,
    feature_groups: Any = None,
    sample_weight: Any = None,
    fit_intercept: bool = True,
    standardize: bool = True,
    clip: float | None = None,
    task: str = "auto",
    class_weight: Any = None,
    n_restarts: int = DEFAULT_PATH_RESTARTS,
    random_state: Any = None,
) -> TopKPath:
    """The best k features for every k up to ``k_max``.

    Searches for the features that :class:`TopK` searches for, for all k at once: what is best
    for k is tried with one feature more and with one fewer, each time exchanging features
    until nothing gains, until all k agree with their neighbours.

    Parameters
    ----------
    X : {array-like, sparse matrix or array} of shape (n_samples, n_features)
        Training data; or :class:`RowBlocks`, which bring their own y, or a dask collection.
    {targets}
    k_max : int
        The largest number of features, or of groups.
    {alpha}
    {path_loss}
    {constraints}
    {fit_intercept}
    {standardize}
    {clip}
    {task}
    {class_weight}
    n_restarts : int, default=2
        How often, for every k, some of the features are replaced to look for better ones.
    random_state : int, RandomState or None, default=None
        Draws the features that are replaced.

    Returns
    -------
    TopKPath

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import topk_path
    >>> path = topk_path(*load_iris(return_X_y=True), 3, random_state=0)
    >>> [support.tolist() for support in path.supports]
    [[2], [1, 3], [1, 2, 3]]
    >>> path.objectives.round(1)
    array([68.6, 60.9, 55.1])
    >>> path.entered
    array([0, 2, 1, 2])
    """
    selector = TopK(
        1,
        alpha=alpha,
        loss=loss,
        include=include,
        exclude=exclude,
        feature_groups=feature_groups,
        n_restarts=n_restarts,
        fit_intercept=fit_intercept,
        standardize=standardize,
        clip=clip,
        task=task,
        class_weight=class_weight,
        random_state=random_state,
    )
    check_parameters(selector)
    check_number("k_max", k_max, low=1, integer=True)
    check_choice("loss", loss, PATH_LOSSES)
    prepared = path_problem(selector, X, y, sample_weight)
    seed = int(generator(random_state).integers(2**31))
    ridge = prepared.effective_alpha(alpha)
    points = prepared.solve(ridge, prepared.largest(k_max), n_restarts=n_restarts, seed=seed)
    return as_path(prepared, points)


def as_path(prepared: PathProblem, points: list[PathPoint]) -> TopKPath:
    """The points of a path in the units of the data."""
    models = [prepared.model(point) for point in points]
    objectives = np.array([point.objective for point in points])
    return TopKPath(
        np.array([point.k for point in points]),
        [point.support for point in points],
        prepared.problem.restored("objective", objectives),
        [coef for coef, _ in models],
        np.array([intercept for _, intercept in models]),
        prepared.problem.design.shape[1],
        prepared.problem.units.limits,
    )
