"""TopKCV: the number of features, by cross-validation or an information criterion."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import (
    UNUSED,
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.parallel import delayed

from rowsparse._arrays import Array, to_host
from rowsparse._compat import (
    CallbackSupportMixin,
    finish_callbacks,
    parallel,
    told,
    with_callbacks,
)
from rowsparse._parameters import Allowed, Number, OneOf, Satisfies, Several
from rowsparse.moments import Moments
from rowsparse.moments.parts import merged
from rowsparse.selectors.base.fitted_selector import FittedSelector, fitted_attributes
from rowsparse.selectors.base.shared_parameters import check_parameters, filled_docstring
from rowsparse.selectors.base.source import (
    dealt_to_parts,
    refuse_device_arrays,
    require_targets,
    row_blocks,
    validated_data,
)
from rowsparse.selectors.meta.fold_scores import (
    Fold,
    FoldData,
    FoldScorer,
    SamplesFold,
    SumsFold,
    choose,
    drawn_folds,
    ebic,
    grid_table,
    results_table,
    score_fold,
)
from rowsparse.selectors.topk.loss_defaults import ALPHA, PATH_LOSSES
from rowsparse.selectors.topk.topk import TopK
from rowsparse.selectors.topk.topk_path import FEW_RESTARTS, path_of_fits
from rowsparse.selectors.topk.topk_problem import TopKProblem, open_problem
from rowsparse.solvers.problem import Options

if TYPE_CHECKING:
    from rowsparse.streams import RowBlocks


def _is_cv(value: Any) -> bool:
    splits = hasattr(value, "split") or isinstance(value, Iterable)
    return Number(low=2, integer=True).accepts(value) or (splits and not isinstance(value, str))


def _is_estimator(value: Any) -> bool:
    return hasattr(value, "fit") and not isinstance(value, type)


def _is_scoring(value: Any) -> bool:
    return isinstance(value, str) or callable(value)


class _Search(NamedTuple):
    """The parts of a search: the selector for some k, its problem, the candidates and a seed."""

    selector: TopK
    problem: TopKProblem
    alphas: Array
    k_max: int
    seed: int


@filled_docstring
class TopKCV(FittedSelector, CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """The best k features, and k itself by cross-validation or EBIC.

    In every fold the best features of all numbers up to ``k_max`` are found at once
    (:func:`topk_path`, without restarts) from its training samples alone, and scored on its
    test samples; then :class:`TopK` selects the chosen number from all samples. Several alphas
    share the products with X in every fold.

    The rules are: "best", the highest mean score; "one_std_err", the fewest features whose mean
    score is within one standard error of that; and "ebic", which needs no folds: the least

        n c log(RSS / (n c)) + k c log(n) + 2 ebic_gamma log(d choose k)

    where RSS is the sum of squares that least squares leaves on the k features, without the
    ridge, c is the rank of the centred targets (one less than there are classes) and d the
    number of features that are not excluded. With the logistic loss the first term is twice that
    loss, without the ridge, and c counts its columns: one for two classes; with the Cox loss it is
    the deviance, and n the number of events. (Of groups of
    columns, d and the last k count groups, the k before log(n) their columns.) It is meant for
    many more samples than features selected: of k >= n / 2 it chooses none. Ties go to the fewest
    features, then to the largest alpha.

    Parameters
    ----------
    k_max : int, optional
        The largest number of features to try, given by name. None tries 30, or all if there are
        fewer.
    {alpha}
    {path_loss}
    alphas : list of float, optional
        Ridges to choose from, instead of ``alpha``.
    cv : int, splitter or iterable, default=5
        As in scikit-learn: folds are stratified for classes, and by event for survival times.
    estimator : estimator, optional
        What is fitted on the selected columns and scored. None scores the model by which the
        features were chosen, as :class:`TopKClassifier` or :class:`TopKRegressor`: of classes,
        the logistic loss judges better than the squared one.
    scoring : str or callable, optional
        As in scikit-learn. None is the estimator's own score, or without an estimator accuracy
        for classes and labels, R^2 for numbers, minus the mean deviance for counts and
        "concordance" for survival times: Harrell's C. Their other score is "partial_likelihood",
        the mean log partial likelihood of an event, less that of a perfect prediction. Scores are
        weighted by ``sample_weight`` where the scorer can. Those of probabilities need the
        logistic loss, or an estimator.
    rule : {"one_std_err", "best", "ebic"}, default="one_std_err"
        How to choose.
    ebic_gamma : float, default=1.0
        Weight of the number of possible choices in "ebic"; 0 is BIC.
    {constraints}
    n_restarts : int, optional
        Starts after the first in the selection from all samples; None is the default of
        :class:`TopK`.
    {fit_intercept}
    {standardize}
    {clip}
    {task}
    {class_weight}
    n_jobs : int, optional
        Threads for the folds and for the selection; they do not change the answer.
    random_state : int, RandomState or None, default=None
        Draws the restarts.

    Attributes
    ----------
    n_features_, alpha_ : int, float
        What was chosen; with ``feature_groups``, the number of groups.
    loss_ : str
        The loss that took effect.
    cv_results_ : dict of arrays
        "n_features" and "alpha" of each candidate, "mean_test_score", "std_test_score" and
        "split0_test_score", ...; for rule "ebic" the values "ebic" in place of scores.
    path_ : TopKPath
        For rule "ebic", the path at the chosen alpha.
    n_passes_ : int
        After a fit from :class:`RowBlocks`: how often they were read.
    {choice}
    {search}
    converged_ : bool
        True.
    status_, lower_bound_, gap_ : str, float and float
        "heuristic", 0 and 1: nothing is proven here; ``TopK(k, certify=True)`` proves.
    {model}
    {clip_limits}

    References
    ----------
    J. Chen, Z. Chen. Extended Bayesian information criteria for model selection with large
    model spaces. Biometrika 95, 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import TopKCV
    >>> X, y = load_iris(return_X_y=True)
    >>> selector = TopKCV(random_state=0).fit(X, y)
    >>> selector.n_features_, selector.get_support(indices=True)
    (3, array([1, 2, 3]))
    >>> selector.cv_results_["mean_test_score"].round(2)
    array([0.88, 0.88, 0.91, 0.92])
    """

    tasks: ClassVar[tuple[str, ...]] = TopK.tasks
    allowed: ClassVar[Allowed] = {
        "task": OneOf(("auto", *tasks)),
        "k_max": Number(low=1, integer=True, optional=True),
        "alpha": ALPHA,
        "loss": OneOf(PATH_LOSSES),
        "alphas": Several(Number(low=0.0), least=1, optional=True),
        "cv": Satisfies("an integer of at least 2, a splitter, an iterable", _is_cv, optional=True),
        "estimator": Satisfies("an estimator with fit", _is_estimator, TypeError, optional=True),
        "scoring": Satisfies("a string, a callable", _is_scoring, optional=True),
        "rule": OneOf(("one_std_err", "best", "ebic")),
        "ebic_gamma": Number(low=0.0),
        "n_restarts": Number(low=0, integer=True, optional=True),
    }

    # The splitter asks for these, and the fit passes them on.
    __metadata_request__fit: ClassVar[dict[str, str]] = {"groups": UNUSED}

    def __init__(
        self,
        *,
        k_max: int | None = None,
        alpha: float | str = "auto",
        loss: str = "auto",
        alphas: Any = None,
        cv: Any = 5,
        estimator: Any = None,
        scoring: Any = None,
        rule: str = "one_std_err",
        ebic_gamma: float = 1.0,
        include: Any = None,
        exclude: Any = None,
        feature_groups: Any = None,
        n_restarts: int | None = None,
        fit_intercept: bool = True,
        standardize: bool = True,
        clip: float | None = None,
        task: str = "auto",
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.k_max = k_max
        self.alpha = alpha
        self.loss = loss
        self.alphas = alphas
        self.cv = cv
        self.estimator = estimator
        self.scoring = scoring
        self.rule = rule
        self.ebic_gamma = ebic_gamma
        self.include = include
        self.exclude = exclude
        self.feature_groups = feature_groups
        self.n_restarts = n_restarts
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.clip = clip
        self.task = task
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose the number of features and select them.

        Parameters
        ----------
        X : {array-like, sparse matrix or array} of shape (n_samples, n_features)
            Training data. From :class:`RowBlocks`, which bring their own y, or a dask
            collection the choice is made as by :meth:`fit_moments`, where class weights are
            sample weights, in the scores too.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Class labels, 0/1 label indicators (dense or sparse), or numbers; for survival times a
            structured array of events and times, or these two columns.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each sample; an integer weight equals repeating the sample.
        groups : array-like of shape (n_samples,), optional
            Groups of samples, not of columns, for a splitter that keeps them together.

        Returns
        -------
        self
        """
        check_parameters(self)
        if get_config()["enable_metadata_routing"] and groups is not None:
            groups = process_routing(self, "fit", groups=groups).splitter.split.get("groups")
        blocks = row_blocks(X, y, sample_weight, groups=groups)
        if blocks is not None:
            self._fit_blocks(blocks)
            return self
        require_targets(self, y)
        refuse_device_arrays(self, X)
        X = to_host(X)
        search = self._opened(self.class_weight, X, y, sample_weight)
        folds: list[Fold] = []
        if self.rule != "ebic":
            task = search.problem.data.targets.task
            data = FoldData.checked(validated_data(search.selector, X), y, sample_weight, task)
            folds = self._folds_of_samples(data, groups)
        self._choose(search, folds, X, y, sample_weight)
        return self

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit_moments(self, parts: Moments | Iterable[Moments]) -> Self:
        """Choose the number of features and select them, from statistics of the samples.

        The score is R^2, of classes and labels that of their indicators, because others need the
        samples; it is the one that :meth:`fit` has for numbers.

        Parameters
        ----------
        parts : list of Moments, or Moments for rule="ebic"
            Of disjoint parts of the samples, at least as many as there are folds. With ``cv``
            folds, the parts number i, i + cv, ... are the test samples of fold i.

        Returns
        -------
        self
        """
        check_parameters(self)
        self._fit_parts([parts] if isinstance(parts, Moments) else list(parts), self.class_weight)
        return self

    def _fit_blocks(self, blocks: RowBlocks) -> None:
        """Fit from blocks, whose weights get the class weights."""
        n_parts = 1 if self.rule == "ebic" else self.cv
        if self.rule != "ebic":
            self._check_parts(n_parts)
        before = blocks.n_passes
        self._fit_parts(dealt_to_parts(self, blocks, n_parts), class_weight=None)
        self.n_passes_ = blocks.n_passes - before

    def _fit_parts(self, parts: list[Moments], class_weight: Any) -> None:
        """Fit from the Moments of parts of the samples."""
        total = merged(parts)
        search = self._opened(class_weight, total)
        folds: list[Fold] = []
        if self.rule != "ebic":
            self._check_parts(len(parts))
            of_folds = [merged(parts[i :: self.cv]) for i in range(self.cv)]
            folds = [SumsFold(of_folds, i) for i in range(self.cv)]
        self._choose(search, folds, total)

    def _opened(
        self, class_weight: Any, X: Any, y: Any = None, sample_weight: Any = None
    ) -> _Search:
        """The parts of the search, from any source of samples."""
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        selector = self._topk(1, self.alpha, seed, class_weight)
        problem = open_problem(selector, X, y, sample_weight)
        only = [problem.effective_alpha(self.alpha)]
        alphas = np.array(only if self.alphas is None else self.alphas, dtype=np.float64)
        k_max = problem.largest(problem.default_largest() if self.k_max is None else self.k_max)
        return _Search(selector, problem, alphas, k_max, seed)

    def _choose(
        self, search: _Search, folds: list[Fold], X: Any, y: Any = None, sample_weight: Any = None
    ) -> None:
        """Choose the number of features, and select them from the same source."""
        choice = self._by_ebic(search) if self.rule == "ebic" else self._by_scores(search, folds)
        k, alpha, found = choice
        final = self._topk(k, alpha, search.seed, search.selector.class_weight)
        final.fit(X, y, sample_weight)
        self._take(final, {"n_features_": k, "alpha_": alpha, **found})

    def _check_parts(self, n_parts: int) -> None:
        """Refuse parameters that need samples, or more parts."""
        if self.estimator is not None or self.scoring not in (None, "r2"):
            raise ValueError(
                "estimator and scoring need the samples themselves: from Moments, the score is "
                "'r2' of the refitted regression."
            )
        if not isinstance(self.cv, numbers.Integral):
            raise ValueError("cv must be a number of folds for Moments, whose parts are the folds.")
        if n_parts < int(self.cv):
            raise ValueError(f"parts has {n_parts} Moments, fewer than the cv={self.cv} folds.")

    def _by_scores(self, search: _Search, folds: list[Fold]) -> tuple[int, float, dict[str, Any]]:
        scores, alphas = self._fold_scores(search, folds), search.alphas
        ks = np.arange(search.problem.smallest, search.problem.smallest + scores.shape[2])
        i, j = choose(scores, alphas, one_std_err=self.rule == "one_std_err")
        found = {"cv_results_": results_table(scores, alphas, ks)}
        return int(ks[j]), float(alphas[i]), found

    def _topk(self, k: int, alpha: float | str, seed: int, class_weight: Any) -> TopK:
        """The selector for one k and alpha."""
        options: dict[str, Any] = {} if self.n_restarts is None else {"n_restarts": self.n_restarts}
        return TopK(
            k,
            alpha=alpha,
            loss=self.loss,
            include=self.include,
            exclude=self.exclude,
            feature_groups=self.feature_groups,
            fit_intercept=self.fit_intercept,
            standardize=self.standardize,
            clip=self.clip,
            task=self.task,
            class_weight=class_weight,
            n_jobs=self.n_jobs,
            random_state=seed,
            **options,
        )

    def _folds_of_samples(self, data: FoldData, groups: Any) -> list[Fold]:
        if data.weights is not None and (hasattr(self.cv, "split") or not np.iterable(self.cv)):
            # A sample of weight zero is not there; only folds given by index may count it.
            kept = np.flatnonzero(data.weights)
            data, groups = data.only(kept), None if groups is None else np.asarray(groups)[kept]
        scorer = FoldScorer.from_parameters(self.estimator, self.scoring, data.task)
        splits = drawn_folds(self.cv, data.X, data.y, data.task, groups)
        return [SamplesFold(data, train, test, scorer) for train, test in splits]

    def _fold_scores(self, search: _Search, folds: list[Fold]) -> Array:
        """Test scores, of shape (n_splits, n_alphas, n_ks)."""
        asked, alphas = search.problem.constraints, search.alphas
        selector = clone(search.selector).set_params(
            alpha=alphas[0],
            include=asked.include,
            exclude=asked.exclude,
            feature_groups=asked.groups,
            task=search.problem.data.targets.task,
        )
        tasks = (
            delayed(score_fold)(fold, selector, alphas, search.k_max, search.seed) for fold in folds
        )
        found = parallel(self, tasks, prefer="threads")
        scores = np.array(list(told(self, found, len(folds), "fold")))
        if not np.isfinite(scores.mean(axis=0)).any():
            raise ValueError("No score is a finite number: check scoring and estimator.")
        return scores

    def _by_ebic(self, search: _Search) -> tuple[int, float, dict[str, Any]]:
        problem, alphas = search.problem, search.alphas
        solved = (
            problem.solve(alpha, search.k_max, Options(n_restarts=FEW_RESTARTS, seed=search.seed))
            for alpha in alphas.tolist()
        )
        paths = list(told(self, solved, alphas.size, "path"))
        values = np.array([ebic(problem, fits, self.ebic_gamma) for fits in paths])
        ks = np.array(list(paths[0]))
        few = ks < max(problem.n_terms / 2, ks[0] + 0.5)
        i, j = choose(np.where(few, -values, -np.inf)[None], alphas, one_std_err=False)
        names = getattr(search.selector, "feature_names_in_", None)
        found = {
            "cv_results_": {**grid_table(alphas, ks), "ebic": values.ravel()},
            "path_": path_of_fits(problem, paths[i], names),
        }
        return int(ks[j]), float(alphas[i]), found

    def get_metadata_routing(self) -> Any:
        """Which metadata go to the splitter: ``groups``, if it keeps them together.

        Returns
        -------
        MetadataRouter
        """
        mapping = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(splitter=check_cv(self.cv), method_mapping=mapping)

    def _take(self, final: TopK, found: dict[str, Any]) -> None:
        """Replace the fitted attributes by those of the final selector and the results."""
        for name in fitted_attributes(self):
            delattr(self, name)
        for name, value in (fitted_attributes(final) | found).items():
            setattr(self, name, value)
        finish_callbacks(self)
