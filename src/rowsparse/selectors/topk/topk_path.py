"""topk_path and TopKPath: the best features found for every k from 1 to k_max."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rowsparse._arrays import Array, Index, Mask
from rowsparse._validation import check_choice, check_number
from rowsparse.certificate import Proof
from rowsparse.selectors.base.shared_parameters import check_parameters, filled_docstring
from rowsparse.selectors.topk.loss_defaults import PATH_LOSSES
from rowsparse.selectors.topk.search_report import proven_path
from rowsparse.selectors.topk.topk import TopK
from rowsparse.selectors.topk.topk_problem import TopKProblem, open_problem
from rowsparse.solvers.problem import Fit
from rowsparse.solvers.solution import relative_gap

# Restarts of every size where many paths are searched.
FEW_RESTARTS = 2


@dataclass(frozen=True, repr=False)
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
        Coefficients of the features of ``supports``, in the units of the data; one row for two
        classes.
    intercepts : array of shape (m, n_targets)
        Intercepts, in the units of the data.
    n_features_in : int
        Number of columns of X.
    clip_limits : array of shape (2, n_features) or None
        With ``clip``, the limits of the columns; the models are of columns within them.
    feature_names_in : array of str of shape (n_features,) or None
        The names of the columns, if X has them.
    lower_bounds : array of shape (m,) or None
        With ``certify=True``: no choice of as many features has an objective below this.
    statuses : list of m str or None
        With ``certify=True``: "optimal" where the bound is within ``gap_tol`` of the objective,
        as a share of it, and "gap" elsewhere.
    proofs : list of m rowsparse.certificate.Proof or None
        With ``certify=True``: every step, for :func:`rowsparse.certificate.verify` to check.
    n_nodes : array of int of shape (m,) or None
        With ``certify=True``: the number of subproblems solved for each.
    """

    ks: Index
    supports: list[Index]
    objectives: Array
    coefs: list[Array]
    intercepts: Array
    n_features_in: int
    clip_limits: Array | None = None
    feature_names_in: NDArray[Any] | None = None
    lower_bounds: Array | None = None
    statuses: list[str] | None = None
    proofs: list[Proof] | None = None
    n_nodes: Index | None = None

    def __repr__(self) -> str:
        proven = ""
        if self.statuses is not None:
            proven = f", {self.statuses.count('optimal')} of {self.ks.size} proven"
        return (
            f"TopKPath({self.ks[0]} to {self.ks[-1]} of {self.n_features_in} features, objective "
            f"{self.objectives[0]:.4g} to {self.objectives[-1]:.4g}{proven})"
        )

    @property
    def gaps(self) -> Array | None:
        """Objectives less bounds, as shares of the objectives; None without ``certify=True``."""
        if self.lower_bounds is None:
            return None
        pairs = zip(self.objectives.tolist(), self.lower_bounds.tolist(), strict=True)
        return np.array([relative_gap(objective, objective - low) for objective, low in pairs])

    def feature_names(self, k: int) -> list[str]:
        """The names of the features selected at k: x0, x1, ... where X has none."""
        support = self.supports[self.position(k)].tolist()
        names = self.feature_names_in
        return [f"x{j}" if names is None else str(names[j]) for j in support]

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
    n_restarts: int | str = "auto",
    certify: bool = False,
    gap_tol: float = 1e-6,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> TopKPath:
    """The best k features for every k up to ``k_max``.

    Searches for the features of each k as :class:`TopK` does with the same settings. What is
    best for k is then tried with one feature more and with one fewer, each time exchanging
    features until nothing gains, until all k agree with their neighbours.

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
    n_restarts : int or "auto", default="auto"
        Starts after the first, for every k; "auto" is that of :class:`TopK`.
    certify : bool, default=False
        Prove that each choice is the best of its size, as ``TopK(certify=True)`` does, or say by
        how much a better one can be lower at most. The proofs share the search, and what is
        computed from the columns. A size that is proven at once is not searched again.
    gap_tol : float, default=1e-6
        Relative gap at which a proof is complete.
    time_limit : float, optional
        Seconds for all sizes together, each with its share of what those before it leave. When
        they are over, or with Ctrl-C, proofs end with the bounds that they have.
    n_jobs : int, optional
        Threads of the searches, and processes of the proofs.
    random_state : int, RandomState or None, default=None
        Draws the changed supports from which these begin.

    Returns
    -------
    TopKPath

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import topk_path
    >>> path = topk_path(*load_iris(return_X_y=True), 3, random_state=0)
    >>> [support.tolist() for support in path.supports]
    [[3], [1, 3], [1, 2, 3]]
    >>> path.objectives.round(1)
    array([164.4, 142.3, 128.4])
    >>> path
    TopKPath(1 to 3 of 4 features, objective 164.4 to 128.4)
    >>> path.feature_names(2)
    ['x1', 'x3']
    >>> path.entered
    array([0, 2, 3, 1])

    With a proof for each:

    >>> path = topk_path(*load_iris(return_X_y=True), 3, certify=True, random_state=0)
    >>> path.statuses
    ['optimal', 'optimal', 'optimal']
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
        certify=certify,
        gap_tol=gap_tol,
        time_limit=time_limit,
        n_jobs=n_jobs,
        random_state=random_state,
    )
    check_parameters(selector)
    check_number("k_max", k_max, low=1, integer=True)
    check_choice("loss", loss, PATH_LOSSES)
    prepared = open_problem(selector, X, y, sample_weight)
    options = selector._options(prepared.loss_name)
    ridge, largest = prepared.effective_alpha(alpha), prepared.largest(k_max)
    names = getattr(selector, "feature_names_in_", None)
    if not certify:
        return path_of_fits(prepared, prepared.solve(ridge, largest, options), names)
    proven = proven_path(prepared, ridge, largest, options, selector)
    found = path_of_fits(prepared, {k: one.fit for k, one in proven.items()}, names)
    bounds = np.array([one.proof.lower_bound for one in proven.values()])
    return replace(
        found,
        lower_bounds=np.minimum(bounds, found.objectives),
        statuses=[one.status for one in proven.values()],
        proofs=[one.proof for one in proven.values()],
        n_nodes=np.array([one.n_nodes for one in proven.values()]),
    )


def path_of_fits(prepared: TopKProblem, fits: dict[int, Fit], names: Any) -> TopKPath:
    """A path in the units of the data."""
    models = [prepared.decision_model(fit) for fit in fits.values()]
    objectives = np.array([fit.objective for fit in fits.values()])
    return TopKPath(
        np.array(list(fits)),
        [fit.support for fit in fits.values()],
        prepared.data.restored("objective", objectives),
        [coef for coef, _ in models],
        np.array([intercept for _, intercept in models]),
        prepared.data.design.shape[1],
        prepared.data.scaling.limits,
        names,
    )
