"""TopK: the k features with the least ridge regression objective."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from rowsparse._arrays import Index, Mask
from rowsparse._compat import has_callbacks
from rowsparse._deadline import Deadline
from rowsparse._parameters import Allowed, Flag, Number, OneOf
from rowsparse._validation import warn_user
from rowsparse.selectors.base.linear_problem import Dimension, LinearProblem
from rowsparse.selectors.base.selector import FromMoments, LinearSelector
from rowsparse.selectors.base.shared_parameters import generator
from rowsparse.selectors.base.source import Blocks, number_to_select
from rowsparse.selectors.registry import register
from rowsparse.selectors.topk.loss_defaults import (
    ALPHA,
    LOSSES,
    OWN_TASKS,
    RESTARTS,
    effective_alpha,
    effective_loss,
    effective_restarts,
)
from rowsparse.selectors.topk.search_report import no_proof, proven, searched, statement_of
from rowsparse.selectors.topk.topk_problem import Constraints, decision_model, pose, resolve_groups
from rowsparse.solvers.l21.robust import robust_topk
from rowsparse.solvers.problem import Listing, Options
from rowsparse.solvers.solution import Monitor, Solution, silent
from rowsparse.targets import ASKED_TASKS, TASKS


@register("topk", kind="sparse", reference="this library")
class TopK(FromMoments, LinearSelector):
    """The best k features for logistic, ridge, Poisson or Cox regression, by exact exchanges.

    Minimises the logistic loss for classes and labels, ||Y - XW - 1b'||_F^2 + ridge ||W||_F^2
    for numbers, and other losses for counts and survival times (see ``loss``), over coefficient
    matrices W with at most k non-zero rows, where ridge is ``alpha`` times the number of samples.
    Features are added one by one where they lower the objective most; then the best exchange of a
    selected feature for another one is made, as long as that lowers it with all coefficients
    refitted. The same is done from ``n_restarts`` changed supports, and the best result is kept.
    With the squared loss only the columns of X'X for the features that were ever selected are
    computed.

    TopK is a selector: ``coef_`` and ``intercept_`` are the ridge regression (or that of another
    loss) refitted on the selected features, which says how they were judged. To predict
    with it take :class:`TopKClassifier` or :class:`TopKRegressor`, or fit a model of your own on
    what :meth:`transform` returns.

    Parameters
    ----------
    n_features_to_select : int or float, default=10
        How many features to keep; a float between 0 and 1 is a share of all. With
        ``feature_groups``, how many groups.
    {alpha}
    loss : {"auto", "squared", "l21", "logistic", "poisson", "cox"}, default="auto"
        "squared" is the sum of squared residuals above. "l21" sums the norms of the residuals of
        the samples instead of their squares, which bounds the influence of outliers; it has no
        ridge. "logistic", for classes and labels, is the negative log-likelihood of logistic
        regression: of the second of two classes; of several classes each against the rest, or of
        each label, summed. "poisson", for counts, numbers of at least 0, is half the deviance of
        Poisson regression with the log link: of events a day, or visits a person. "cox", for
        survival times, is half the deviance of Cox regression: minus the log partial likelihood,
        with Breslow's ties, less that of a perfect fit; it has no intercept, and y is a structured
        array of events and times, or has these two columns. "auto" is "cox" for such structured
        arrays, "logistic" for classes and labels and "squared" for numbers, whole ones too; of
        classes and labels from more than 100,000 samples, and from Moments, streams and
        ``partial_fit``, it is always "squared".
    gamma : float, default=0.0
        For ``loss="l21"``: weight of the sum of the row norms of W.
    {constraints}
    n_restarts : int or "auto", default="auto"
        Starts after the first; 0 is greedy growth and exchange alone. "auto" is 2 with the
        logistic and the Poisson loss, whose first start is nearly as good, 5 with the Cox loss,
        and 20 with the others. With a ridge no more of them follow once three starts (seven with
        the logistic, the Poisson and the Cox loss) have all ended at one choice of features. With
        the squared loss the search goes on where better choices are likely: if fewer than two of
        the starts, those that keep more than half of a choice not counted, end at the best one.
        More starts then follow, which also exchange at a loss and join good choices, until
        ``n_restarts`` of them in a row find nothing better; in all there are at most ten times
        ``n_restarts``. Without a ridge a few of them always follow.
    certify : bool, default=False
        Whether to prove how far from the least objective the answer can be, by branch and
        bound; a better choice that turns up on the way is taken. For all losses but "l21".
        The proof begins after the first start, and where a few subproblems complete it, the
        others are left out. Without a ridge (``alpha=0``) only the squared loss has a bound, with
        few columns, or with linearly independent columns and more samples than columns. With
        ``feature_groups`` the choices are those of groups.
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
        in joblib; they do not change the answer, unless a time limit ends the run.
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
        No choice of k features has an objective below the bound, and the gap is the difference
        between ``objective_`` and it, relative to ``objective_``. Without a proof they are 0 and 1.
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

    # Which choices a proof lists beside the best one; NearOptimal sets it.
    _listing: Listing | None = None

    works_by_passes = True
    objective_attributes = ("lower_bound_", "root_bound_")
    gap_attributes = ("gap_", "refit_gap_")

    tasks: ClassVar[tuple[str, ...]] = (*TASKS[1:], *ASKED_TASKS)
    allowed: ClassVar[Allowed] = {
        "task": OneOf(("auto", *tasks)),
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
        if self.certify and self.loss == "l21":
            raise ValueError("certify is not for loss='l21'.")

    def _asked_task(self, y: Any = None) -> str:
        own = OWN_TASKS.get(self.loss)
        return own if own and self.task in ("auto", "regression") else super()._asked_task(y)

    def _check_without_rows(self) -> None:
        if self.loss not in ("auto", "squared"):
            raise ValueError(
                f"loss={self.loss!r} needs the samples themselves: Moments are enough for "
                "loss='squared' only."
            )

    def _number_to_select(self, d: int) -> int:
        if self.feature_groups is None:
            return super()._number_to_select(d)
        n_groups = len(
            resolve_groups(self.feature_groups, d, getattr(self, "feature_names_in_", None))
        )
        return number_to_select(self.n_features_to_select, n_groups, "groups")

    def _dimensions(self) -> dict[str, Dimension]:
        # "auto" is not the squared loss for classes, but these have no units.
        # Other losses have y in units of its own.
        power = 2 if self.loss in ("auto", "squared") else 1
        return {"objective": Dimension(y=power), "alpha": Dimension(x=2), "gamma": Dimension(x=1)}

    def _solve(self, data: LinearProblem) -> Solution:
        asked = self._constraints(data.design.shape[1])
        asked.check(data.k)
        task = data.targets.task
        loss = effective_loss(self.loss, task, data.source.n_rows)
        alpha = effective_alpha(self.alpha, loss, task)
        if loss == "l21":
            solution = self._solve_robust(data, asked)
        elif isinstance(data.source, Blocks) and not data.source.has_products:
            solution = self._solve_wide(data, data.source, asked, alpha)
        else:
            posed = pose(loss, data, asked)
            problem, options = posed.problem(alpha, data.k), self._options(loss, data.monitor)
            if self.certify:
                solution = proven(posed, problem, options, statement_of(self, posed, alpha))
            else:
                solution = searched(posed, problem, options)
        solution.attributes |= {"loss_": loss, "alpha_": data.scaled("alpha", alpha)}
        return solution

    def _constraints(self, d: int) -> Constraints:
        """The constraints on a choice from d columns."""
        names = getattr(self, "feature_names_in_", None)
        return Constraints.resolved(self.include, self.exclude, self.feature_groups, d, names)

    def _options(self, loss: str, monitor: Monitor = silent) -> Options:
        """The options of a search, or a proof."""
        return Options(
            n_restarts=effective_restarts(self.n_restarts, loss),
            seed=int(generator(self.random_state).integers(2**31)),
            n_jobs=self.n_jobs,
            deadline=Deadline(self.time_limit),
            monitor=monitor,
            gap_tol=self.gap_tol,
            keep_on_interrupt=self.time_limit is not None or has_callbacks(self),
            listing=self._listing,
        )

    def _solve_robust(self, data: LinearProblem, asked: Constraints) -> Solution:
        solution = robust_topk(
            data.design,
            data.Y,
            data.k,
            weights=data.weights,
            gamma=data.scaled("gamma", self.gamma),
            fit_intercept=data.fit_intercept,
            include=asked.include,
            exclude=asked.exclude,
            n_restarts=effective_restarts(self.n_restarts, "l21"),
            rng=generator(self.random_state),
            monitor=data.monitor,
        )
        solution.attributes |= no_proof(solution.objective)
        return solution

    def _solve_wide(
        self, data: LinearProblem, source: Blocks, asked: Constraints, alpha: float
    ) -> Solution:
        from rowsparse.selectors.topk.wide_stream import solve_wide

        if self.certify or self.feature_groups is not None:
            raise ValueError(
                "certify and feature_groups need X'X: there are too many columns for it."
            )
        options = self._options("squared", data.monitor)
        return solve_wide(data, source, self._settings(), asked, alpha, options)

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
