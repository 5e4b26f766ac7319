"""TopKCV: how many features, by cross-validation or an information criterion."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any, ClassVar, Self

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
from rowsparse._parameters import Allowed, Number, OneOf, Several, Such
from rowsparse.moments import Moments
from rowsparse.moments.parts import merged
from rowsparse.selectors.base.device import refuse_device_arrays
from rowsparse.selectors.base.documentation import filled_docstring
from rowsparse.selectors.base.parameters import check_parameters
from rowsparse.selectors.base.sample import require_targets, validated_data
from rowsparse.selectors.base.state import fitted_attributes
from rowsparse.selectors.base.support import SupportMixin
from rowsparse.selectors.meta.cross_validation import (
    FoldData,
    FoldScorer,
    choose,
    ebic,
    grid_table,
    results_table,
    score_fold,
)
from rowsparse.selectors.meta.moments_validation import score_moments
from rowsparse.selectors.topk.losses import ALPHA, PATH_LOSSES
from rowsparse.selectors.topk.path import FEW_RESTARTS, as_path
from rowsparse.selectors.topk.path_problem import (
    PathProblem,
    moments_path_problem,
    path_problem,
)
from rowsparse.selectors.topk.topk import TopK
from rowsparse.streams.passes import gather_parts
from rowsparse.streams.row_blocks import as_row_blocks


def _is_cv(value: Any) -> bool:
    splits = hasattr(value, "split") or isinstance(value, Iterable)
    return Number(low=2, integer=True).accepts(value) or (splits and not isinstance(value, str))


def _is_estimator(value: Any) -> bool:
    return hasattr(value, "fit") and not isinstance(value, type)


def _is_scoring(value: Any) -> bool:
    return isinstance(value, str) or callable(value)


@filled_docstring
class TopKCV(SupportMixin, CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
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
    loss, without the ridge, and c counts its columns: one for two classes. (Of groups of
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
        As in scikit-learn: folds are stratified for classes.
    estimator : estimator, optional
        What is fitted on the selected columns and scored. None scores the model by which the
        features were chosen, as :class:`TopKClassifier` or :class:`TopKRegressor`: of classes,
        the logistic loss judges better than the squared one.
    scoring : str or callable, optional
        As in scikit-learn. None is the estimator's own score, or without an estimator accuracy
        for classes and labels and R^2 for numbers. Scores are weighted by ``sample_weight``
        where the scorer can. Those of probabilities need the logistic loss, or an estimator.
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

    allowed: ClassVar[Allowed] = {
        "k_max": Number(low=1, integer=True, optional=True),
        "alpha": ALPHA,
        "loss": OneOf(PATH_LOSSES),
        "alphas": Several(Number(low=0.0), least=1, optional=True),
        "cv": Such("an integer of at least 2, a splitter, an iterable", _is_cv, optional=True),
        "estimator": Such("an estimator with fit", _is_estimator, TypeError, optional=True),
        "scoring": Such("a string, a callable", _is_scoring, optional=True),
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
            collection the choice is made as by :meth:`fit_moments`.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Class labels, 0/1 label indicators (dense or sparse), or numbers.
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
        blocks = as_row_blocks(X, y, sample_weight, groups=groups)
        if blocks is not None:
            n_parts = 1 if self.rule == "ebic" else self.cv
            if self.rule != "ebic":
                self._check_parts(n_parts)
            self.fit_moments(gather_parts(blocks, self.task, n_parts))
            self.n_passes_ = 1
            return self
        require_targets(self, y)
        refuse_device_arrays(self, X)
        X = to_host(X)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        whole = self._topk(1, self.alpha, seed)
        prepared = path_problem(whole, X, y, sample_weight)
        alphas = self._candidates(prepared)
        k_max = prepared.largest(prepared.default_largest() if self.k_max is None else self.k_max)
        if self.rule == "ebic":
            names = getattr(whole, "feature_names_in_", None)
            k, alpha, found = self._by_ebic(prepared, alphas, k_max, seed, names)
        else:
            data = FoldData.of(validated_data(whole, X), y, sample_weight, prepared)
            scores = self._fold_scores(data, alphas, k_max, seed, groups)
            k, alpha, found = self._by_scores(scores, alphas, prepared.smallest)
        final = self._topk(k, alpha, seed).fit(X, y, sample_weight)
        self._take(final, {"n_features_": k, "alpha_": alpha, **found})
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
        parts = [parts] if isinstance(parts, Moments) else list(parts)
        total = merged(parts)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        selector = self._topk(1, self.alpha, seed)
        prepared = moments_path_problem(selector, total)
        alphas = self._candidates(prepared)
        k_max = prepared.largest(prepared.default_largest() if self.k_max is None else self.k_max)
        if self.rule == "ebic":
            k, alpha, found = self._by_ebic(prepared, alphas, k_max, seed, total.feature_names)
        else:
            self._check_parts(len(parts))
            folds = [merged(parts[i :: self.cv]) for i in range(self.cv)]
            found_scores = (
                score_moments(selector, folds, i, alphas, k_max, seed) for i in range(self.cv)
            )
            scores = np.array(list(told(self, found_scores, self.cv, "fold")))
            k, alpha, found = self._by_scores(scores, alphas, prepared.smallest)
        final = self._topk(k, alpha, seed).fit_moments(total)
        self._take(final, {"n_features_": k, "alpha_": alpha, **found})
        return self

    def _check_parts(self, n_parts: int) -> None:
        """Refuse what needs samples, or more parts."""
        if self.estimator is not None or self.scoring not in (None, "r2"):
            raise ValueError(
                "estimator and scoring need the samples themselves: from Moments, the score is "
                "'r2' of the refitted regression."
            )
        if not isinstance(self.cv, numbers.Integral):
            raise ValueError("cv must be a number of folds for Moments, whose parts are the folds.")
        if n_parts < int(self.cv):
            raise ValueError(f"parts has {n_parts} Moments, fewer than the cv={self.cv} folds.")

    def _by_scores(
        self, scores: Array, alphas: Array, smallest: int
    ) -> tuple[int, float, dict[str, Any]]:
        ks = np.arange(smallest, smallest + scores.shape[2])
        i, j = choose(scores, alphas, one_std_err=self.rule == "one_std_err")
        found = {"cv_results_": results_table(scores, alphas, ks)}
        return int(ks[j]), float(alphas[i]), found

    def _topk(self, k: int, alpha: float | str, seed: int) -> TopK:
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
            class_weight=self.class_weight,
            n_jobs=self.n_jobs,
            random_state=seed,
            **options,
        )

    def _candidates(self, prepared: PathProblem) -> Array:
        only = [prepared.effective_alpha(self.alpha)]
        return np.array(only if self.alphas is None else self.alphas, dtype=np.float64)

    def _fold_scores(
        self, data: FoldData, alphas: Array, k_max: int, seed: int, groups: Any
    ) -> Array:
        """Test scores, of shape (n_splits, n_alphas, n_ks)."""
        if data.weights is not None and (hasattr(self.cv, "split") or not np.iterable(self.cv)):
            # A sample of weight zero is not there; only folds given by index may count it.
            kept = np.flatnonzero(data.weights)
            data, groups = data.only(kept), None if groups is None else np.asarray(groups)[kept]
        classify = data.task == "classification"
        cv = check_cv(self.cv, data.y, classifier=classify)
        scorer = FoldScorer.of(self.estimator, self.scoring, data.task)
        asked = data.constraints
        selector = self._topk(1, alphas[0], seed).set_params(
            include=asked.include,
            exclude=asked.exclude,
            feature_groups=asked.groups,
            task=data.task,
        )
        splits = list(cv.split(data.X, data.y, groups))
        tasks = (
            delayed(score_fold)(data, train, test, clone(selector), alphas, k_max, scorer, seed)
            for train, test in splits
        )
        folds = parallel(self, tasks, prefer="threads")
        scores = np.array(list(told(self, folds, len(splits), "fold")))
        if not np.isfinite(scores.mean(axis=0)).any():
            raise ValueError("No score is a finite number: check scoring and estimator.")
        return scores

    def _by_ebic(
        self, prepared: PathProblem, alphas: Array, k_max: int, seed: int, names: Any
    ) -> tuple[int, float, dict[str, Any]]:
        solved = (
            prepared.solve(alpha, k_max, n_restarts=FEW_RESTARTS, seed=seed)
            for alpha in alphas.tolist()
        )
        paths = list(told(self, solved, alphas.size, "path"))
        values = np.array([ebic(prepared, points, self.ebic_gamma) for points in paths])
        ks = np.array([point.k for point in paths[0]])
        few = ks < max(prepared.n / 2, ks[0] + 0.5)
        i, j = choose(np.where(few, -values, -np.inf)[None], alphas, one_std_err=False)
        grid = grid_table(alphas, ks)
        found = {
            "cv_results_": {**grid, "ebic": values.ravel()},
            "path_": as_path(prepared, paths[i], names),
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
        """Replace the fitted attributes by those of the final selector and what was found."""
        for name in fitted_attributes(self):
            delattr(self, name)
        for name, value in (fitted_attributes(final) | found).items():
            setattr(self, name, value)
        finish_callbacks(self)
