"""StabilitySelection: the frequency with which a selector selects each feature, on subsamples."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from scipy.special import ndtri
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.parallel import delayed
from sklearn.utils.validation import validate_data

from rowsparse._arrays import Array, Index, Mask, ranks, to_host
from rowsparse._compat import (
    CallbackSupportMixin,
    finish_callbacks,
    parallel,
    told,
    with_callbacks,
)
from rowsparse._parameters import Allowed, Number, Satisfies
from rowsparse._validation import check_not_masked, check_number
from rowsparse.moments import Moments
from rowsparse.moments.parts import merged
from rowsparse.selectors.base.fitted_selector import FittedSelector
from rowsparse.selectors.base.shared_parameters import (
    COUNT,
    check_parameters,
    filled_docstring,
    with_task,
)
from rowsparse.selectors.base.source import (
    dealt_to_parts,
    number_to_select,
    refuse_device_arrays,
    row_blocks,
)
from rowsparse.selectors.topk.loss_defaults import own_task
from rowsparse.selectors.topk.topk import TopK
from rowsparse.targets import TASKS, declared_task, guess_task, survival_times, target_array

# Fewer parts leave too few different choices among them.
_LEAST_PARTS = 4
# Parts into which streamed samples are dealt.
_STREAMED_PARTS = 20


def _is_selector(value: Any) -> bool:
    return hasattr(value, "fit") and not isinstance(value, type) and bool(_choosing(value))


def _choosing(selector: Any) -> list[Any]:
    """The selector itself, or the selectors among the steps of a pipeline."""
    steps = [step for _, step in selector.steps] if isinstance(selector, Pipeline) else [selector]
    return [step for step in steps if hasattr(step, "get_support")]


@filled_docstring
class StabilitySelection(
    FittedSelector,
    CallbackSupportMixin,  # type: ignore[misc]
    MetaEstimatorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """The frequencies with which a selector selects each feature, over many subsamples.

    The selector is fitted on ``n_subsamples`` subsamples, drawn without replacement and, where
    y holds classes, with as many of each class as in all samples. The features it selects most
    often are the selected ones; of features selected equally often, those that it ranks better
    on average.

    Parameters
    ----------
    selector : selector, optional
        Any selector with ``get_support``, this package's or scikit-learn's, or a Pipeline with
        selectors whose other steps keep the columns, as scalers do; None is :class:`TopK` as it
        comes, for 10 features. Where its ``random_state`` is None, every
        subsample gets one of its own.
    n_subsamples : int, default=100
        Number of subsamples.
    subsample : float, default=0.5
        Share of the samples in each.
    threshold : float, optional
        Select all features with at least this frequency, in place of a fixed number.
    n_features_to_select : int or float, optional
        How many features to keep; a float between 0 and 1 is a share of all. None keeps as many
        as the selector selects, on average where that varies.
    n_jobs : int, optional
        Number of parallel fits; they do not change the answer.
    random_state : int, RandomState or None, default=None
        Draws the subsamples.

    Attributes
    ----------
    frequencies_ : array of shape (n_features,)
        Share of the subsamples in which each feature was selected.
    frequency_intervals_ : array of shape (n_features, 2)
        Wilson's 95 % confidence intervals for what more and more subsamples of the same data
        would give.
    stability_, stability_interval_ : float, tuple of two floats
        The :func:`stability` of the supports and its 95 % confidence interval.
    n_passes_ : int
        After a fit from :class:`RowBlocks`: how often they were read.
    supports_ : array of bool of shape (n_subsamples, n_features)
        The features selected in each subsample.
    support_ : array of bool of shape (n_features,)
        The selected features.
    ranking_ : array of int of shape (n_features,)
        1 for the selected features, then 2, 3, ... by falling frequency.
    {columns}

    References
    ----------
    N. Meinshausen, P. Bühlmann. Stability selection. JRSS B 72, 2010.

    S. Nogueira, K. Sechidis, G. Brown. On the stability of feature selection algorithms.
    Journal of Machine Learning Research 18, 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import StabilitySelection, TopK
    >>> X, y = load_iris(return_X_y=True)
    >>> selector = StabilitySelection(TopK(3), n_subsamples=20, random_state=0).fit(X, y)
    >>> selector.get_support(indices=True)
    array([1, 2, 3])
    >>> selector.frequencies_
    array([0., 1., 1., 1.])
    >>> selector.stability_
    1.0
    """

    allowed: ClassVar[Allowed] = {
        "selector": Satisfies(
            "a selector with fit and get_support, a Pipeline with one",
            _is_selector,
            TypeError,
            optional=True,
        ),
        "n_subsamples": Number(low=2, integer=True),
        "subsample": Number(low=0.0, low_open=True, high=1.0, high_open=True),
        "threshold": Number(low=0.0, low_open=True, high=1.0, optional=True),
        "n_features_to_select": replace(COUNT, optional=True),
    }

    def __init__(
        self,
        selector: Any = None,
        *,
        n_subsamples: int = 100,
        subsample: float = 0.5,
        threshold: float | None = None,
        n_features_to_select: int | float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.selector = selector
        self.n_subsamples = n_subsamples
        self.subsample = subsample
        self.threshold = threshold
        self.n_features_to_select = n_features_to_select
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, groups: Any = None, **fit_params: Any) -> Self:
        """Fit the selector on every subsample.

        Parameters
        ----------
        X : {array-like, sparse matrix or array} of shape (n_samples, n_features)
            Training data; or :class:`RowBlocks` or a dask collection, dealt into 20 parts for
            :meth:`fit_moments`.
        y : array-like, optional
            Whatever the selector takes.
        groups : array-like of shape (n_samples,), optional
            Samples with one value, as those of one patient, are drawn together.
        **fit_params
            Passed on to the selector, such as ``sample_weight``: one value a sample is taken
            apart like X. With metadata routing, what the selector requests.

        Returns
        -------
        self
        """
        self._check()
        weights = fit_params.get("sample_weight")
        others = {name: v for name, v in fit_params.items() if name != "sample_weight"}
        blocks = row_blocks(X, y, weights, groups=groups, **others)
        if blocks is not None:
            before, selector = blocks.n_passes, clone(self._inner)
            parts = dealt_to_parts(selector, blocks, _STREAMED_PARTS)
            if "class_weight" in selector.get_params(deep=False):
                selector.set_params(class_weight=None)  # the parts have it
            self._fit_parts(selector, parts)
            self.n_passes_ = blocks.n_passes - before
            return self
        refuse_device_arrays(self, X)
        X = to_host(X)
        fit_params = {name: value for name, value in fit_params.items() if value is not None}
        if get_config()["enable_metadata_routing"] and fit_params:
            fit_params = dict(process_routing(self, "fit", **fit_params).selector.fit)
        selector = self._inner
        X, y, strata, task = _checked(selector, X, y)
        if task is not None:
            selector = with_task(selector, task)
        rng = check_random_state(self.random_state)
        rows = [
            rows_of_share(X.shape[0], self.subsample, strata, rng)
            if groups is None
            else rows_of_groups(groups, self.subsample, strata, rng)
            for _ in range(self.n_subsamples)
        ]
        seeds = rng.randint(2**31 - 1, size=self.n_subsamples).tolist()
        tasks = (
            delayed(_fit_one)(clone(selector), X, y, fit_params, part, seed)
            for part, seed in zip(rows, seeds, strict=True)
        )
        fits = told(self, parallel(self, tasks), self.n_subsamples, "subsample")
        self._set_fitted(list(fits))
        validate_data(self, X, skip_check_array=True)
        return self

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit_moments(self, parts: Iterable[Moments]) -> Self:
        """Fit the selector on subsamples that are random choices of parts of the samples.

        Parameters
        ----------
        parts : list of Moments
            Of disjoint parts of the samples, as alike as random ones; at least 4. A subsample is
            the share ``subsample`` of them.

        Returns
        -------
        self
        """
        self._check()
        self._fit_parts(self._inner, list(parts))
        return self

    def _fit_parts(self, selector: Any, parts: list[Moments]) -> None:
        """Fit a selector on subsamples of parts."""
        if len(parts) < _LEAST_PARTS:
            raise ValueError(f"parts has {len(parts)} Moments: subsamples need {_LEAST_PARTS}.")
        if not hasattr(selector, "fit_moments"):
            name = type(selector).__name__
            raise TypeError(f"selector has no fit_moments: {name} needs the samples themselves.")
        rng = check_random_state(self.random_state)
        chosen = [
            rows_of_share(len(parts), self.subsample, None, rng) for _ in range(self.n_subsamples)
        ]
        seeds = rng.randint(2**31 - 1, size=self.n_subsamples).tolist()
        fits = (
            _fit_moments(clone(selector), merged([parts[i] for i in drawn]), seed)
            for drawn, seed in zip(chosen, seeds, strict=True)
        )
        self._set_fitted(list(told(self, fits, self.n_subsamples, "subsample")))
        self.n_features_in_ = parts[0].n_features
        if parts[0].feature_names is not None:
            self.feature_names_in_ = parts[0].feature_names

    def _check(self) -> None:
        check_parameters(self)
        if self.threshold is not None and self.n_features_to_select is not None:
            raise ValueError("Give threshold or n_features_to_select, not both.")

    @property
    def _inner(self) -> Any:
        return TopK() if self.selector is None else self.selector

    def _set_fitted(self, fits: list[tuple[Mask, Array | None]]) -> None:
        supports = np.array([support for support, _ in fits])
        m, d = supports.shape
        ranks = np.mean([np.zeros(d) if rank is None else rank for _, rank in fits], axis=0)
        counts = supports.sum(axis=0)
        order = np.lexsort((ranks, -counts))
        if self.threshold is not None:
            k = int(np.count_nonzero(counts >= self.threshold * m - 1e-9))
        elif self.n_features_to_select is None:
            k = int(np.floor(supports.sum() / m + 0.5))
        else:
            k = number_to_select(self.n_features_to_select, d)
        self.supports_ = supports
        self.frequencies_ = counts / m
        self.frequency_intervals_ = wilson_interval(counts, m)
        self.stability_, *interval = stability(supports)
        self.stability_interval_ = tuple(interval)
        self.support_ = np.zeros(d, dtype=bool)
        self.support_[order[:k]] = True
        self.ranking_ = np.ones(d, dtype=np.intp)
        self.ranking_[order[k:]] = np.arange(2, d - k + 2)
        finish_callbacks(self)

    def get_metadata_routing(self) -> Any:
        """Which metadata go to the selector.

        Returns
        -------
        MetadataRouter
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add(selector=self._inner, method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._inner)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.target_tags = inner.target_tags
        return tags


def _checked(selector: Any, X: Any, y: Any) -> tuple[Any, Any, Index | None, str | None]:
    """X and y in a form whose rows can be taken, the strata, and the task, if any.

    Strata are the classes of y, or the events of survival times, as numbers.

    Tables keep the names of their columns, and what they may hold is left to the selector.
    """
    check_not_masked("X", X)
    if not hasattr(X, "columns"):
        finite = "allow-nan" if get_tags(selector).input_tags.allow_nan else True
        X = check_array(X, accept_sparse="csr", ensure_all_finite=finite, estimator=selector)
    if X.shape[0] < 2:
        raise ValueError(f"X has n_samples = {X.shape[0]}: subsampling needs at least 2.")
    if y is None:
        return X, None, None, None
    task = own_task(selector) or declared_task(y, getattr(selector, "task", "auto"))
    y = target_array(y, X.shape[0])
    if y.dtype.kind == "O":
        return X, y, None, None
    if task == "auto":
        task = guess_task(y, getattr(selector, "tasks", TASKS)).task
    strata = None
    if task in ("classification", "survival"):
        labels = y if task == "classification" else survival_times(y)[:, 0]
        strata = np.unique(labels, return_inverse=True)[1].ravel()
    return X, y, strata, task


def _take(values: Any, rows: Index) -> Any:
    """Some rows of a table, a sparse matrix, or anything like an array."""
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    if hasattr(values, "columns") or sp.issparse(values):
        return values[rows]
    return np.asarray(values)[rows]


def _is_per_sample(value: Any, n: int) -> bool:
    if hasattr(value, "shape"):
        return bool(len(value.shape) > 0 and value.shape[0] == n)
    return isinstance(value, (list, tuple)) and len(value) == n


def _fit_one(
    selector: Any, X: Any, y: Any, fit_params: dict[str, Any], rows: Index, seed: int
) -> tuple[Mask, Array | None]:
    """The support on some rows, and the rank of each feature if the selector ranks them."""
    _seed(selector, seed)
    n = X.shape[0]
    params = {
        name: _take(value, rows) if _is_per_sample(value, n) else value
        for name, value in fit_params.items()
    }
    selector.fit(_take(X, rows), None if y is None else y[rows], **params)
    return _outcome(selector)


def _fit_moments(selector: Any, moments: Moments, seed: int) -> tuple[Mask, Array | None]:
    """The same on the samples of Moments."""
    _seed(selector, seed)
    return _outcome(selector.fit_moments(moments))


def _seed(selector: Any, seed: int) -> None:
    unset = [name for name in _random_states(selector) if selector.get_params()[name] is None]
    selector.set_params(**dict.fromkeys(unset, seed))


def _outcome(selector: Any) -> tuple[Mask, Array | None]:
    if isinstance(selector, Pipeline):
        support = _pipeline_support(selector)
        return support, _ranks(_choosing(selector)[-1], support.size)
    support = np.asarray(selector.get_support(), dtype=bool)
    return support, _ranks(selector, support.size)


def _pipeline_support(pipeline: Pipeline) -> Mask:
    """The columns of X that the steps of a pipeline leave."""
    steps = pipeline if hasattr(pipeline[-1], "get_feature_names_out") else pipeline[:-1]
    names = np.array([f"column {j}" for j in range(pipeline.n_features_in_)], dtype=object)
    names = getattr(pipeline, "feature_names_in_", names)
    left = steps.get_feature_names_out(names)
    if not np.isin(left, names).all():
        raise ValueError(
            "selector is a Pipeline with a step that makes other columns: its steps must select "
            "columns or keep them all, as scalers do."
        )
    return np.asarray(np.isin(names, left))


def _random_states(selector: Any) -> list[str]:
    names = selector.get_params(deep=True)
    return sorted(v for v in names if v == "random_state" or v.endswith("__random_state"))


def _ranks(selector: Any, d: int) -> Array | None:
    scores = getattr(selector, "scores_", None)
    if scores is not None and np.shape(scores) == (d,):
        scores = np.where(np.isnan(scores), -np.inf, scores)
        return ranks(-scores)
    ranking = getattr(selector, "ranking_", None)
    if ranking is not None and np.shape(ranking) == (d,):
        return ranks(np.asarray(ranking))
    return None


# ------------------------------------------------------------------------------- subsamples
def rows_of_share(n: int, share: float, strata: Index | None, rng: np.random.RandomState) -> Index:
    """Samples of a subsample, sorted; the strata keep their shares, to within one sample.

    >>> rows_of_share(6, 0.5, np.array([0, 0, 1, 0, 0, 1]), np.random.RandomState(0)).size
    3
    """
    size = min(max(2, round(share * n)), n)
    if strata is None:
        return np.sort(rng.permutation(n)[:size])
    counts = np.bincount(strata)
    wanted = counts * (size / n)
    quota = np.floor(wanted).astype(np.intp)
    if np.count_nonzero(quota == 0) + quota.sum() <= size:
        quota = np.maximum(quota, 1)  # no class goes missing
    lacking = rng.permutation(counts.size)
    lacking = lacking[np.argsort((quota - wanted)[lacking], kind="stable")]
    quota[lacking[: size - quota.sum()]] += 1
    parts = [
        rng.permutation(np.flatnonzero(strata == code))[:most]
        for code, most in enumerate(quota.tolist())
    ]
    return np.sort(np.concatenate(parts))


def rows_of_groups(
    groups: Any, share: float, strata: Index | None, rng: np.random.RandomState
) -> Index:
    """Samples of a share of the groups, sorted; a group is in the stratum of most of its rows.

    >>> rows_of_groups(["a", "b", "a", "c", "b", "d"], 0.5, None, np.random.RandomState(0))
    array([3, 5])
    """
    names, codes = np.unique(np.asarray(groups), return_inverse=True)
    if strata is not None:
        counts = np.zeros((names.size, int(strata.max()) + 1), dtype=np.intp)
        np.add.at(counts, (codes, strata), 1)
        # Numbered anew, as no group may be in the stratum of a rare class.
        strata = np.unique(counts.argmax(axis=1), return_inverse=True)[1]
    chosen = rows_of_share(names.size, share, strata, rng)
    return np.flatnonzero(np.isin(codes, chosen))


# --------------------------------------------------------------------------- stability of choices
class Stability(NamedTuple):
    """An estimate of stability: 1 for identical supports, 0 on average for random ones."""

    value: float
    lower: float
    upper: float


def stability(supports: Any, confidence: float = 0.95) -> Stability:
    """The stability of the supports that a selector chose on different samples.

    With p_f the share of the m supports that have feature f, and kbar their mean size,

        1 - mean_f(m / (m - 1) p_f (1 - p_f)) / (kbar / d (1 - kbar / d))

    Parameters
    ----------
    supports : array-like of bool of shape (m, n_features)
        One support a row, at least two; 0 and 1 will do.
    confidence : float, default=0.95
        Probability with which the interval holds the stability of the selector.

    Returns
    -------
    Stability
        ``value`` and the ends of its asymptotic confidence interval, ``lower`` and ``upper``.
        Where all supports are empty, or all of them full, these are 1.

    References
    ----------
    S. Nogueira, K. Sechidis, G. Brown. On the stability of feature selection algorithms.
    Journal of Machine Learning Research 18, 2018.

    Examples
    --------
    >>> stability([[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0]]).value
    0.333...
    """
    check_number("confidence", confidence, low=0.0, high=1.0, low_open=True)
    Z = _checked_supports(supports)
    m, d = Z.shape
    shares, sizes = Z.mean(axis=0), Z.sum(axis=1) / d
    size = sizes.mean()
    spread = size * (1 - size)
    if spread == 0:
        return Stability(1.0, 1.0, 1.0)
    value = 1 - m / (m - 1) * np.mean(shares * (1 - shares)) / spread
    influence = Z @ shares / d - sizes * size
    influence += value / 2 * (2 * size * sizes - sizes - size + 1)
    influence /= spread
    error = 2 / m * np.sqrt(np.sum((influence - influence.mean()) ** 2))
    margin = ndtri((1 + confidence) / 2) * error
    # No m supports are less alike than by -1 / (m - 1), nor more than by 1.
    lower, upper = np.clip([value - margin, value + margin], -1 / (m - 1), 1.0).tolist()
    return Stability(float(value), lower, upper)


def _checked_supports(supports: Any) -> Array:
    Z = np.asarray(supports)
    if Z.ndim != 2 or Z.shape[0] < 2 or Z.shape[1] < 1:
        raise ValueError(f"supports must be at least two rows of flags; got shape {Z.shape}.")
    if Z.dtype.kind not in "biuf" or not np.isin(Z, (0, 1)).all():
        raise ValueError("supports must hold only True and False, or 1 and 0.")
    return Z.astype(np.float64)


def wilson_interval(counts: Array, m: int, confidence: float = 0.95) -> Array:
    """Wilson's confidence interval for the probability of events, seen ``counts`` of m times.

    >>> wilson_interval(np.array([0, 5, 10]), 10).round(3)
    array([[0.   , 0.278],
           [0.237, 0.763],
           [0.722, 1.   ]])
    """
    z2 = ndtri((1 + confidence) / 2) ** 2
    shares = counts / m
    centre = (shares + z2 / (2 * m)) / (1 + z2 / m)
    margin = np.sqrt(z2 * (shares * (1 - shares) / m + z2 / (4 * m * m))) / (1 + z2 / m)
    return np.clip(np.stack([centre - margin, centre + margin], axis=1), 0.0, 1.0)
