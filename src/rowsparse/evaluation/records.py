"""The result of a comparison of selectors: a record for each split, and summaries of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from rowsparse._arrays import Array
from rowsparse.evaluation.metrics import METRICS, NEEDS_VALUES
from rowsparse.selectors import stability

__all__ = ["Record", "SelectionCurve"]


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
        Squared error of least squares on the selected features of the training samples.
    redundancy : float
        Mean absolute correlation of the selected features in the training samples.
    seconds : float
        Time of the selection.
    shared : bool
        Whether one fit gave the selections of several k.
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
    error: str = ""

    def flat(self) -> dict[str, Any]:
        """The record as one row of a table; the features as text."""
        row = asdict(self)
        row["support"] = " ".join(map(str, self.support))
        return row | row.pop("scores")


@dataclass(frozen=True)
class SelectionCurve:
    """The records of a comparison, and summaries of them.

    Attributes
    ----------
    records : list of Record
        In the order selector, split, k, estimator.
    task : {"classification", "multilabel", "regression"}
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
