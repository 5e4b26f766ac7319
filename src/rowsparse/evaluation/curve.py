"""Scores of selectors over the number of features, and the records that they are summaries of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, PoissonRegressor
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.parallel import Parallel, delayed

from rowsparse._arrays import Array, Index, dense_columns
from rowsparse._validation import check_choice, check_number
from rowsparse.evaluation.metrics import (
    METRICS,
    NEEDS_VALUES,
    Predictions,
    predict,
    prediction_scores,
    redundancy,
    refitted_objective,
    score_by_chance,
)
from rowsparse.evaluation.supports import Selection, select_for_each
from rowsparse.evaluation.survival import targets_for
from rowsparse.selectors import TopKRegressor, get_selector, stability
from rowsparse.selectors.base.shared_parameters import with_task
from rowsparse.selectors.meta.fold_scores import drawn_folds
from rowsparse.selectors.registry import selector_info
from rowsparse.targets import declared_task, encode_targets, target_array


@dataclass(frozen=True)
class Record:
    """One selector, number of features, estimator and split.

    Attributes
    ----------
    selector, estimator : str
        Their names.
    protocol : {"honest", "published"}
        Whether the selection saw the training samples only, or all of them.
    k, split : int
        Number of features asked for, and which split of the data.
    n_selected : int
        Number of features selected.
    support : tuple of int
        The features.
    scores : dict of str to float
        Metrics on the test samples.
    objective : float
        Squared error of least squares on the selected features of the training samples; NaN for
        survival times.
    redundancy : float
        Mean absolute correlation of the selected features in the training samples.
    seconds : float
        Time of the selection.
    shared : bool
        Whether one fit gave the selections of several k.
    chance : float
        What the first score would be if the predictions were given to the test samples at random.
    error : str
        Why there is no result; empty if there is one.
    """

    selector: str
    estimator: str
    protocol: str
    k: int
    split: int
    n_selected: int = 0
    support: tuple[int, ...] = ()
    scores: dict[str, float] = field(default_factory=dict)
    objective: float = np.nan
    redundancy: float = np.nan
    seconds: float = np.nan
    shared: bool = False
    chance: float = np.nan
    error: str = ""

    def flat(self) -> dict[str, Any]:
        """The record as one row of a table; the features as text."""
        row = asdict(self)
        row["support"] = " ".join(map(str, self.support))
        return row | row.pop("scores")


@dataclass(frozen=True)
class Fold:
    """A split of samples: models are fitted to the training samples and predict the test samples.

    ``X`` and ``y`` are those of all samples; they are standardised by the training samples of each
    fit, unless ``is_scaled`` says that they are already.
    """

    X: Any
    y: Any
    task: str
    train: Index
    test: Index
    number: int = 0
    is_scaled: bool = False

    def of_columns(self, columns: Any, *, scaled: bool = False) -> Self:
        """The fold with some columns alone; ``scaled`` standardises them by all samples."""
        part = dense_columns(self.X, columns)
        part = StandardScaler().fit_transform(part) if scaled else part
        return replace(self, X=part, is_scaled=scaled)

    def predictions(self, model: Any) -> Predictions:
        """What a clone of a model, fitted to the training samples, says of the test samples."""
        model = clone(model)
        if not self.is_scaled:
            model = make_pipeline(StandardScaler(with_mean=not sp.issparse(self.X)), model)
        model.fit(self.X[self.train], self.y[self.train])
        return predict(model, self.X[self.test], self.task)

    def records(
        self,
        name: str,
        selection: Selection,
        models: Mapping[str, Any],
        *,
        protocol: str = "honest",
        metric: str | None = None,
    ) -> list[Record]:
        """The records of one selection, one for every model.

        ``metric`` is the score that counts, by default the customary one of the task.
        """
        support, truth = selection.support, self.y[self.test]
        own, every = self.of_columns(support, scaled=protocol == "published"), range(support.size)
        X, y = own.X[self.train], self.y[self.train]
        shared: dict[str, Any] = {
            "n_selected": int(support.size),
            "support": tuple(support.tolist()),
            "objective": np.nan
            if self.task == "survival"
            else refitted_objective(X, y, every, task=self.task),
            "redundancy": redundancy(X, every),
            "seconds": selection.seconds,
            "shared": selection.shared,
        }
        records = []
        for judge, model in models.items():
            said = own.predictions(model)
            records.append(
                Record(
                    name,
                    judge,
                    protocol,
                    selection.k,
                    self.number,
                    scores=prediction_scores(self.task, truth, said, metric),
                    chance=score_by_chance(metric or METRICS[self.task][0], self.task, truth, said),
                    **shared,
                )
            )
        return records


def failed_records(
    name: str, ks: Iterable[int], models: Iterable[str], protocol: str, split: int, error: str
) -> list[Record]:
    """The records of a selector that failed in a split."""
    return [Record(name, judge, protocol, k, split, error=error) for k in ks for judge in models]


# ---------------------------------------------------------------------- over the number of features
@dataclass(frozen=True)
class SelectionCurve:
    """The records of a comparison, and summaries of them.

    Attributes
    ----------
    records : list of Record
        In the order selector, split, k, estimator.
    task : {"classification", "multilabel", "regression", "counts", "survival"}
        What the targets are.
    protocol : {"honest", "published"}
        How the features were selected.
    n_features : int
        Number of columns of the data.
    metric : str or None
        The metric that comes first, by default the customary one of the task.
    """

    records: list[Record]
    task: str
    protocol: str
    n_features: int
    metric: str | None = None

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics of the records, ``metric`` or the customary one first."""
        first = METRICS[self.task][0] if self.metric is None else self.metric
        skipped = {first, *NEEDS_VALUES}
        return (first, *(metric for metric in METRICS[self.task] if metric not in skipped))

    @property
    def selectors(self) -> list[str]:
        """Names of the selectors, in the order given."""
        return list(dict.fromkeys(record.selector for record in self.records))

    @property
    def estimators(self) -> list[str]:
        """Names of the estimators, in the order given."""
        return list(dict.fromkeys(record.estimator for record in self.records))

    @property
    def ks(self) -> list[int]:
        """Numbers of features, rising."""
        return sorted({record.k for record in self.records})

    def values(self, what: str, selector: str, estimator: str, k: int) -> Array:
        """One figure of every split: a metric, or a field of :class:`Record`."""
        return np.array(
            [
                record.scores.get(what, np.nan) if what in self.metrics else getattr(record, what)
                for record in self.records
                if (record.selector, record.estimator, record.k) == (selector, estimator, k)
            ],
            dtype=np.float64,
        )

    def mean(self, what: str, estimator: str | None = None) -> Array:
        """Means over the splits, of shape (n_selectors, n_ks)."""
        return self._over_splits(np.mean, what, estimator)

    def sd(self, what: str, estimator: str | None = None) -> Array:
        """Standard deviations over the splits, of shape (n_selectors, n_ks)."""
        return self._over_splits(np.std, what, estimator)

    def _over_splits(self, reduce: Any, what: str, estimator: str | None) -> Array:
        name = self.estimators[0] if estimator is None else estimator
        return np.array(
            [
                [reduce(self.values(what, selector, name, k)) for k in self.ks]
                for selector in self.selectors
            ]
        )

    def stability(self, selector: str, k: int) -> tuple[float, float, float]:
        """Stability of a selector over the splits and its 95 % confidence interval.

        The measure of Nogueira, Sechidis and Brown (2018); NaN where it is not defined: under the
        published protocol, where there is one selection only, and if all features are selected.
        """
        first = self.estimators[0]
        supports = [
            record.support
            for record in self.records
            if (record.selector, record.estimator, record.k) == (selector, first, k)
            and not record.error
        ]
        if len(supports) < 2 or self.protocol == "published":
            return (np.nan, np.nan, np.nan)
        mask = np.zeros((len(supports), self.n_features), dtype=bool)
        for row, support in zip(mask, supports, strict=True):
            row[list(support)] = True
        if mask.all() or not mask.any():
            return (np.nan, np.nan, np.nan)
        return tuple(stability(mask))  # type: ignore[return-value]

    def to_frame(self) -> Any:
        """The records as a pandas DataFrame."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError('to_frame needs pandas: pip install "rowsparse[tables]".') from None
        return pd.DataFrame([record.flat() for record in self.records])


# honest: select inside each training fold. published: select once, on all samples.
PROTOCOLS = ("honest", "published")
# Ridge per sample of the models that have no coefficients without one if the fit is perfect.
_LEAST_RIDGE = 1e-2


def selection_curve(
    selectors: Any,
    X: Any,
    y: Any,
    ks: Iterable[int],
    estimators: Mapping[str, Any] | None = None,
    *,
    cv: Any = 5,
    protocol: str = "honest",
    task: str = "auto",
    on_error: str = "raise",
    n_jobs: int | None = None,
    random_state: int | None = 0,
) -> SelectionCurve:
    """Compare selectors over the number of features, by cross-validation.

    Under the honest protocol everything that looks at the data, standardising and selecting
    included, happens inside each training fold. Under the published one it happens once, on all
    samples, before the folds are made, as many papers did it: the test samples have then
    been seen, and accuracies come out too high.

    Parameters
    ----------
    selectors : list of str, or dict of str to selector
        Names of the registry, or selectors by the name to show. Each is given every k.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Data.
    y : array-like
        Targets.
    ks : iterable of int
        Numbers of features.
    estimators : dict of str to estimator, optional
        Fitted on the selected features and scored; by default a linear support vector machine and
        the nearest neighbour for classes, a linear support vector machine for each label, and
        linear regression for numbers, and Poisson and Cox regression for counts and survival.
    cv : int, splitter or iterable, default=5
        As in scikit-learn. An integer means stratified folds, shuffled by ``random_state``.
    protocol : {"honest", "published"}, default="honest"
        Where the selection happens.
    task : str, default="auto"
        "classification", "multilabel", "regression", "counts", "survival", or "auto".
        It is what y holds. Selectors that know no counts take them as numbers, and those that know
        no survival times take their martingale residuals.
    on_error : {"raise", "record"}, default="raise"
        Whether a selector that fails stops everything, or is noted in its records.
    n_jobs : int, optional
        Number of processes; the answer is the same for any.
    random_state : int or None, default=0
        Shuffles the folds, and seeds the selectors without a ``random_state`` of their own.

    Returns
    -------
    SelectionCurve

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse.evaluation import selection_curve
    >>> X, y = load_iris(return_X_y=True)
    >>> curve = selection_curve(["topk", "rfs"], X, y, ks=[1, 2])
    >>> curve.mean("accuracy").shape
    (2, 2)
    """
    check_choice("protocol", protocol, PROTOCOLS)
    check_choice("on_error", on_error, ("raise", "record"))
    X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
    task = declared_task(y, task)
    y = target_array(y, X.shape[0])
    task = encode_targets(y, task).task
    counts = _checked_counts(ks)
    named = _named(selectors)
    judges = dict(default_estimators(task) if estimators is None else estimators)
    splits = drawn_folds(cv, X, y, task, shuffle=True, random_state=random_state)
    seeds = np.random.SeedSequence(random_state).generate_state(len(splits))
    if protocol == "published":
        work = [(name, list(enumerate(splits)), int(seeds[0])) for name in named]
    else:
        work = [
            (name, [(at, split)], int(seeds[at]))
            for name in named
            for at, split in enumerate(splits)
        ]
    runs = Parallel(n_jobs=n_jobs)(
        delayed(evaluate_split)(
            named[name],
            X,
            y,
            part,
            counts,
            judges,
            name=name,
            task=task,
            protocol=protocol,
            on_error=on_error,
            seed=seed,
        )
        for name, part, seed in work
    )
    return SelectionCurve([r for run in runs for r in run], task, protocol, X.shape[1])


def evaluate_split(
    selector: Any,
    X: Any,
    y: Any,
    splits: list[tuple[int, tuple[Index, Index]]],
    ks: list[int],
    estimators: Mapping[str, Any],
    *,
    name: str,
    task: str,
    protocol: str = "honest",
    on_error: str = "raise",
    seed: int | None = None,
) -> list[Record]:
    """The records of one selector on numbered splits, which share a selection if published."""
    records: list[Record] = []
    found: dict[int, Selection] = {}
    selector = with_task(selector, task)
    scaler = StandardScaler(with_mean=not sp.issparse(X))
    for split, (train, test) in splits:
        seen = np.arange(X.shape[0]) if protocol == "published" else train
        try:
            if not found or protocol == "honest":
                scaler.fit(X[seen])
                Z = scaler.transform(X[seen])
                goal = targets_for(selector, y[seen], task)
                found = select_for_each(selector, Z, goal, ks, seed=seed)
        except Exception as error:
            if on_error == "raise":
                raise
            why = f"{type(error).__name__}: {error}"
            records += failed_records(name, ks, estimators, protocol, split, why)
            continue
        fold = Fold(X, y, task, train, test, split)
        for k in ks:
            records += fold.records(name, found[k], estimators, protocol=protocol)
    return records


def default_estimators(task: str) -> dict[str, Any]:
    """The estimators that score a selection by default."""
    machine = SVC(kernel="linear", C=1.0)
    if task == "regression":
        return {"linear regression": LinearRegression()}
    if task == "counts":
        return {"Poisson regression": PoissonRegressor(alpha=_LEAST_RIDGE, max_iter=300)}
    if task == "survival":
        return {"Cox regression": TopKRegressor(1.0, loss="cox", alpha=_LEAST_RIDGE)}
    if task == "multilabel":
        return {"linear SVM": OneVsRestClassifier(machine)}
    return {"linear SVM": machine, "1-NN": KNeighborsClassifier(n_neighbors=1)}


def _named(selectors: Any) -> dict[str, Any]:
    if isinstance(selectors, str):
        selectors = [selectors]
    if not isinstance(selectors, Mapping):
        selectors = {selector_info(name).cls.__name__: get_selector(name, 1) for name in selectors}
    if not selectors:
        raise ValueError("selectors must name at least one selector.")
    for name, selector in selectors.items():
        if not (hasattr(selector, "fit") and hasattr(selector, "get_support")):
            raise TypeError(f"selectors: {name!r} must be a selector; got {selector!r}.")
    return dict(selectors)


def _checked_counts(ks: Iterable[int]) -> list[int]:
    counts = list(ks) if isinstance(ks, Iterable) else [ks]
    if not counts:
        raise ValueError("ks must hold at least one number of features.")
    for k in counts:
        check_number("every one of ks", k, low=1, integer=True)
    return sorted({int(k) for k in counts})
