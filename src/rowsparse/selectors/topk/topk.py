"""TopK: the k features with the least ridge regression objective."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from rowsparse._arrays import Index, Mask
from rowsparse._compat import has_callbacks
from rowsparse._deadline import Deadline
from rowsparse._parameters import Allowed, Flag, Number, OneOf
from rowsparse.selectors.base.from_moments import FromMoments
from rowsparse.selectors.base.messages import warn_user
from rowsparse.selectors.base.moments import MomentsSample
from rowsparse.selectors.base.parameters import generator
from rowsparse.selectors.base.problem import LinearProblem
from rowsparse.selectors.base.ranges import Dimension
from rowsparse.selectors.base.sample import number_to_select
from rowsparse.selectors.base.selector import LinearSelector
from rowsparse.selectors.registry import register
from rowsparse.selectors.topk.certification import Certification
from rowsparse.selectors.topk.constraints import Constraints, resolve_groups
from rowsparse.selectors.topk.logistic import solve_logistic
from rowsparse.selectors.topk.losses import (
    ALPHA,
    LOSSES,
    RESTARTS,
    effective_alpha,
    effective_loss,
    effective_restarts,
)
from rowsparse.selectors.topk.solution import decision_model, no_proof, solution_of
from rowsparse.selectors.topk.wide_stream import fit_wide
from rowsparse.solvers.l21.robust import robust_topk
from rowsparse.solvers.solution import Solution
from rowsparse.solvers.subset.search import SearchResult, search
from rowsparse.streams import RowBlocks

# Share of the objective of no features below which a fit is perfect.
_PERFECT = 1e-10


@register("topk", kind="sparse", reference="this library")
class TopK(FromMoments, LinearSelector):
    """The best k features for logistic or ridge regression, by exact exchanges from many starts.

    Minimises the logistic loss for classes and labels, and ||Y - XW - 1b'||_F^2 + ridge ||W||_F^2
    for numbers (see ``loss``), over coefficient matrices W with at most k non-zero rows, where
    ridge is ``alpha`` times the number of samples. Features are added one
    by one where they lower the objective most; then the best exchange of a selected feature for
    another one is made, as long as that lowers it with all coefficients refitted; and the same
    again from ``n_restarts`` changed supports, of which the best is kept. With the squared loss
    nothing but the columns of X'X for the features that were ever selected is computed.

    TopK is a selector: ``coef_`` and ``intercept_`` are the ridge regression (or logistic
    regression) refitted on the selected features, which says how they were judged. To predict
    with it take :class:`TopKClassifier` or :class:`TopKRegressor`, or fit a model of your own on
    what :meth:`transform` returns.

    Parameters
    ----------
    n_features_to_select : int or float, default=10
        How many features to keep; a float between 0 and 1 is a share of all. With
        ``feature_groups``, how many groups.
    {alpha}
    loss : {"auto", "squared", "l21", "logistic"}, default="auto"
        "squared" is the sum of squared residuals above. "l21" sums the norms of the residuals of
        the samples instead of their squares, which bounds the influence of outliers; it has no
        ridge. "logistic", for classes and labels, is the negative log-likelihood of logistic
        regression: of the second of two classes; of several classes each against the rest, or of
        each label, summed. "auto" is "logistic" for them and "squared" for numbers; from more
        than 100,000 samples, and from Moments, streams and ``partial_fit``, it is always
        "squared".
    gamma : float, default=0.0
        For ``loss="l21"``: weight of the sum of the row norms of W.
    {constraints}
    n_restarts : int or "auto", default="auto"
        Starts after the first; 0 is greedy growth and exchange alone. "auto" is 2 with the
        logistic loss, whose first start is nearly as good, and 20 with the others. With the
        squared loss the search goes on where better choices are likely: if fewer than two of the
        starts, those that keep more than half of a choice not counted, end at the best one. More
        starts then follow, which also exchange at a loss and join good choices, until
        ``n_restarts`` of them in a row find nothing better; in all there are at most ten times
        ``n_restarts``. Without a ridge a few of them follow as well if less than two thirds end
        there.
    certify : bool, default=False
        Whether to prove how far from the least objective the answer can be, by branch and
        bound; a better choice that turns up on the way is taken. For the squared and the
        logistic loss. The proof begins after the first start, and where a few subproblems
        complete it, the others are left out. Without a ridge (``alpha=0``) there is no bound
        for the logistic loss, and for the squared loss only with more samples than columns
        none of which depend on each other, or with few columns.
    gap_tol : float, default=1e-6
        Relative gap at which a proof is complete. Rounding keeps it above 0.
    time_limit : float, optional
        Seconds after which search and proof end with the best answer so far; Ctrl-C then does
        so too.
    {fit_intercept}
    {standardize}
    {clip}
    {task}
    {class_weight}
    n_jobs : int, optional
        Threads for the starts and processes for a proof that takes more than a second or so, as
        in joblib; they do not change the answer, but for what a time limit cuts off.
    random_state : int, RandomState or None, default=None
        Draws the changed supports.

    Attributes
    ----------
    {choice}
    {streamed}
    {search}
    {model}
        For two classes one row, positive for the second: of the squared loss, as in
        scikit-learn's ``RidgeClassifier``, the regression of -1 and 1.
    loss_, alpha_ : str and float
        The loss and the ridge that took effect.
    {clip_limits}
    converged_ : bool
        True; for ``loss="l21"``, whether the fit is certified and no exchange tried improves it.
    status_ : str
        "optimal" if ``gap_`` is at most ``gap_tol``, "gap" if it is more; "heuristic" with
        ``certify=False``.
    lower_bound_, gap_ : float
        No choice of k features has an objective below the bound, and the gap is what is left
        between it and ``objective_``, as a share of that. Without a proof they are 0 and 1.
    root_bound_, n_nodes_ : float and int
        With ``certify=True``: the bound before any branching, and the number of subproblems
        solved.
    proof_history_ : dict of arrays
        With ``certify=True``, over the time of the proof: "seconds" since the search began,
        "objective" and "lower_bound" so far, and "nodes" solved by then.
    proof_ : rowsparse.certificate.Proof
        With ``certify=True``: every step of the proof, for :func:`rowsparse.certificate.verify`
        to check; ``proof_.save`` writes it to a file. Of a proof of more than 256 MB it has the
        bound before any branching alone.
    refit_gap_ : float
        For ``loss="l21"``: certified gap of the fit on the selected features.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import TopK
    >>> X, y = load_iris(return_X_y=True)
    >>> selector = TopK(2, random_state=0).fit(X, y)
    >>> selector.get_support(indices=True)
    array([1, 3])
    >>> selector.transform(X).shape
    (150, 2)
    >>> TopK(2, include=[0], random_state=0).fit(X, y).get_support(indices=True)
    array([0, 3])
    >>> TopK(2, certify=True, random_state=0).fit(X, y).status_
    'optimal'
    >>> TopK(1, feature_groups=["sepal", "sepal", "petal", "petal"]).fit(X, y).get_support()
    array([False, False,  True,  True])
    """

    objective_attributes = ("lower_bound_", "root_bound_")
    gap_attributes = ("gap_", "refit_gap_")

    allowed: ClassVar[Allowed] = {
        "loss": OneOf(LOSSES),
        "alpha": ALPHA,
        "gamma": Number(low=0.0),
        "n_restarts": RESTARTS,
        "certify": Flag(),
        "gap_tol": Number(low=0.0),
    }

    def __init__(
        self,
        n_features_to_select: int | float = 10,
        *,
        alpha: float | str = "auto",
        loss: str = "auto",
        gamma: float = 0.0,
        include: Any = None,
        exclude: Any = None,
        feature_groups: Any = None,
        n_restarts: int | str = "auto",
        certify: bool = False,
        gap_tol: float = 1e-6,
        time_limit: float | None = None,
        fit_intercept: bool = True,
        standardize: bool = True,
        clip: float | None = None,
        task: str = "auto",
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.alpha = alpha
        self.loss = loss
        self.gamma = gamma
        self.include = include
        self.exclude = exclude
        self.feature_groups = feature_groups
        self.n_restarts = n_restarts
        self.certify = certify
        self.gap_tol = gap_tol
        self.time_limit = time_limit
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.clip = clip
        self.task = task
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_combinations(self) -> None:
        if self.clip is not None and not self.standardize:
            raise ValueError("clip is for standardised columns: set standardize=True.")
        if self.loss != "l21" and self.gamma > 0:
            warn_user(f"gamma has no effect with loss={self.loss!r}: use alpha.")
        if self.loss == "l21" and not isinstance(self.alpha, str) and self.alpha > 0:
            warn_user("alpha has no effect with loss='l21': use gamma.")
        if self.loss == "l21" and self.feature_groups is not None:
            raise ValueError("feature_groups are not for loss='l21'.")
        if self.certify and (self.loss == "l21" or self.feature_groups is not None):
            raise ValueError(
                "certify is for loss='squared' and loss='logistic' without feature_groups."
            )

    def _check_moments(self) -> None:
        if self.loss not in ("auto", "squared"):
            raise ValueError(
                f"loss={self.loss!r} needs the samples themselves: Moments are enough for "
                "loss='squared' only."
            )

    def _select_wide(self, blocks: RowBlocks, sample: MomentsSample) -> None:
        fit_wide(self, blocks, sample)

    def _number_to_select(self, d: int) -> int:
        if self.feature_groups is None:
            return super()._number_to_select(d)
        n_groups = len(
            resolve_groups(self.feature_groups, d, getattr(self, "feature_names_in_", None))
        )
        return number_to_select(self.n_features_to_select, n_groups, "groups")

    def _objective_power(self) -> int:
        # "auto" is not the squared loss for classes, but these have no units.
        return 2 if self.loss in ("auto", "squared") else 1

    def _dimensions(self) -> dict[str, Dimension]:
        return {"alpha": Dimension(x=2), "gamma": Dimension(x=1)}

    def _solve(self, problem: LinearProblem) -> Solution:
        d, names = problem.design.shape[1], getattr(self, "feature_names_in_", None)
        asked = Constraints.of(self.include, self.exclude, self.feature_groups, d, names)
        asked.check(problem.k)
        loss = effective_loss(self.loss, problem.targets.task, problem.n_rows)
        alpha = effective_alpha(self.alpha, loss, problem.targets.task)
        solution = self._solve_with(loss, alpha, problem, asked)
        solution.attributes |= {"loss_": loss, "alpha_": problem.scaled("alpha", alpha)}
        return solution

    def _solve_with(
        self, loss: str, alpha: float, problem: LinearProblem, asked: Constraints
    ) -> Solution:
        if loss == "l21":
            return self._solve_robust(problem, asked)
        certification = self._certification(loss, alpha)
        if loss == "logistic":
            return solve_logistic(
                problem,
                asked,
                alpha=alpha,
                seed=int(generator(self.random_state).integers(2**31)),
                certification=certification,
            )
        centred, mean = problem.squared()
        ridge = float(problem.scaled("alpha", alpha) * problem.n_samples)
        solution = self._solve_squared(centred, asked, ridge, certification)
        solution.b = mean
        return solution

    def _solve_robust(self, problem: LinearProblem, asked: Constraints) -> Solution:
        solution = robust_topk(
            problem.design,
            problem.Y,
            problem.k,
            weights=problem.weights,
            gamma=problem.scaled("gamma", self.gamma),
            fit_intercept=problem.fit_intercept,
            include=asked.include,
            exclude=asked.exclude,
            n_restarts=effective_restarts(self.n_restarts, "l21"),
            rng=generator(self.random_state),
            monitor=problem.monitor,
        )
        solution.attributes |= no_proof(solution.objective)
        return solution

    def _solve_squared(
        self,
        problem: LinearProblem,
        asked: Constraints,
        ridge: float,
        certification: Certification,
    ) -> Solution:
        """The search on centred and weighted data, with the ridge in the units of the design."""
        seed = int(generator(self.random_state).integers(2**31))

        def searched(n_restarts: int) -> SearchResult:
            return search(
                problem.design,
                problem.Y,
                problem.k,
                ridge=ridge,
                include=asked.include,
                exclude=asked.exclude,
                groups=asked.groups,
                n_restarts=n_restarts,
                seed=seed,
                n_jobs=self.n_jobs,
                deadline=certification.deadline,
                monitor=problem.monitor,
            )

        result, proven = certification.of_squared(problem, asked, ridge, searched)
        self._warn_if_perfect(problem, result, ridge)
        return solution_of(result, proven)

    def _certification(self, loss: str, alpha: float) -> Certification:
        return Certification(
            loss=loss,
            alpha=alpha,
            standardize=self.standardize,
            clip=self.clip,
            class_weight=self.class_weight,
            n_restarts=effective_restarts(self.n_restarts, loss),
            certify=self.certify,
            gap_tol=self.gap_tol,
            n_jobs=self.n_jobs,
            deadline=Deadline(self.time_limit),
            keep_on_interrupt=self.time_limit is not None or has_callbacks(self),
        )

    def _warn_if_perfect(self, problem: LinearProblem, result: SearchResult, ridge: float) -> None:
        n, k = problem.Y.shape[0], result.support.size
        total = float(np.vdot(problem.Y, problem.Y))
        enough = k >= n - bool(self.fit_intercept)
        if ridge == 0 and enough and result.objective <= _PERFECT * total:
            warn_user(
                f"{k} features fit {n} samples perfectly with alpha=0, and so would others: the "
                "choice is arbitrary; take alpha > 0 or fewer features."
            )

    def _set_model(self, solution: Solution, problem: LinearProblem) -> None:
        super()._set_model(solution, problem)
        if problem.targets.task == "classification":
            self.coef_, self.intercept_ = decision_model(self.coef_, np.asarray(self.intercept_))

    def _support(self, solution: Solution, k: int, varies: Mask) -> Index:
        """The support of the search, which has constant columns if they are included."""
        if solution.support is None:
            return super()._support(solution, k, varies)
        constant = int(np.count_nonzero(~varies[solution.support]))
        if constant:
            warn_user(
                f"{constant} of the columns selected are constant: they were included, or there "
                "were no others."
            )
        return solution.support
