"""The best features of every number from 1 to k_max, and what a search over k builds on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse._deadline import NO_DEADLINE
from rowsparse._validation import check_number
from rowsparse.selectors.base.messages import warn_user
from rowsparse.selectors.base.parameters import check_parameters, generator
from rowsparse.selectors.base.problem import LinearProblem
from rowsparse.selectors.topk.constraints import Constraints
from rowsparse.selectors.topk.topk import TopK
from rowsparse.solvers.subset.gram import GramProblem, reduced_targets
from rowsparse.solvers.subset.path import PathPoint, solve_path
from rowsparse.solvers.subset.search import search

# Default number of perturbations of every size.
DEFAULT_PATH_RESTARTS = 2
# Default of the largest k.
_K_MAX = 30


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
    """

    ks: Index
    supports: list[Index]
    objectives: Array
    coefs: list[Array]
    intercepts: Array
    n_features_in: int

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


def topk_path(
    X: Any,
    y: Any,
    k_max: int,
    *,
    alpha: float = 0.5,
    include: Any = None,
    exclude: Any = None,
    feature_groups: Any = None,
    sample_weight: Any = None,
    fit_intercept: bool = True,
    standardize: bool = True,
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
    X, y, sample_weight
        As in :meth:`TopK.fit`.
    k_max : int
        The largest number of features, or of groups.
    alpha, include, exclude, feature_groups, fit_intercept, standardize, task, class_weight
        As in :class:`TopK`.
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
        include=include,
        exclude=exclude,
        feature_groups=feature_groups,
        n_restarts=n_restarts,
        fit_intercept=fit_intercept,
        standardize=standardize,
        task=task,
        class_weight=class_weight,
        random_state=random_state,
    )
    check_parameters(selector)
    check_number("k_max", k_max, low=1, integer=True)
    prepared = PathProblem.of(selector, X, y, sample_weight)
    seed = int(generator(random_state).integers(2**31))
    points = prepared.solve(alpha, prepared.largest(k_max), n_restarts=n_restarts, seed=seed)
    return prepared.path(points)


@dataclass(frozen=True)
class PathProblem:
    """Data ready for searches over k, at any ridge; build it with :meth:`of`."""

    problem: LinearProblem
    Y: Array
    mean: Array
    shared: GramProblem
    constraints: Constraints

    @classmethod
    def of(cls, selector: TopK, X: Any, y: Any, sample_weight: Any) -> PathProblem:
        """What the selector, its parameters checked, would hand to its solver."""
        problem = selector._problem(selector._read(X, y, sample_weight))
        d, names = problem.design.shape[1], getattr(selector, "feature_names_in_", None)
        asked = Constraints.of(
            selector.include, selector.exclude, selector.feature_groups, d, names
        )
        squared, mean = problem.squared()
        shared = GramProblem.of(squared.design, reduced_targets(squared.Y))
        return cls(problem, squared.Y, mean, shared, asked)

    @property
    def n(self) -> float:
        """The number of samples, or the sum of their weights."""
        return self.problem.n_samples

    @property
    def smallest(self) -> int:
        """The least k: 1, or what must be selected."""
        return max(1, self.constraints.fixed.size)

    def default_largest(self) -> int:
        """The default of k_max."""
        return max(1, min(_K_MAX, self.constraints.n_left), self.smallest)

    def largest(self, k_max: int) -> int:
        """``k_max``, or what is left to select from if that is less; one warning says so."""
        asked = self.constraints
        asked.check_overlap()
        if asked.fixed.size > k_max:
            raise ValueError(
                f"include has {asked.fixed.size} {asked.noun}, more than k_max={k_max}."
            )
        if asked.n_left < 1:
            raise ValueError(f"exclude leaves no {asked.noun} to select from.")
        if k_max > asked.n_left:
            what = "features" if asked.groups is None else "groups"
            warn_user(
                f"k_max={k_max} is greater than the number of {what} to select from: it is "
                f"taken as {asked.n_left}."
            )
        return min(k_max, asked.n_left)

    def solve(self, alpha: float, k_max: int, *, n_restarts: int, seed: int) -> list[PathPoint]:
        """The best support of every size."""
        ridge = self.problem.scaled("alpha", alpha) * self.n
        return solve_path(
            self.shared.with_ridge(ridge),
            self.Y,
            k_max,
            include=self.constraints.include,
            exclude=self.constraints.exclude,
            groups=self.constraints.groups,
            n_restarts=n_restarts,
            seed=seed,
        )

    def best(self, selector: TopK, k: int) -> Index:
        """The features that the selector would select for k, found in the data of all k."""
        asked = self.constraints
        k = min(k, asked.n_units)
        asked.check(k)
        shared = self.shared.with_ridge(self.problem.scaled("alpha", selector.alpha) * self.n)
        return search(
            shared.design,
            self.Y,
            k,
            ridge=shared.ridge,
            include=asked.include,
            exclude=asked.exclude,
            groups=asked.groups,
            n_restarts=selector.n_restarts,
            seed=int(generator(selector.random_state).integers(2**31)),
            n_jobs=selector.n_jobs,
            deadline=NO_DEADLINE,
            problem=shared,
        ).support

    def model(self, point: PathPoint) -> tuple[Array, Array]:
        """Coefficients (n_targets x n_selected) and intercepts, in the units of the data."""
        return self.problem.model(point.V, self.mean, point.support)

    def path(self, points: list[PathPoint]) -> TopKPath:
        """The points in the units of the data."""
        models = [self.model(point) for point in points]
        return TopKPath(
            np.array([point.k for point in points]),
            [point.support for point in points],
            self.problem.restored("objective", np.array([p.objective for p in points])),
            [coef for coef, _ in models],
            np.array([intercept for _, intercept in models]),
            self.shared.diagonal.size,
        )
