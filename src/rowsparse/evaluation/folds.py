"""What is done in each fold: models are fitted to some samples and judged on the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rowsparse._arrays import Index, dense_columns
from rowsparse.evaluation.metrics import (
    METRICS,
    Predictions,
    predict,
    prediction_scores,
    redundancy,
    refitted_objective,
    score_by_chance,
)
from rowsparse.evaluation.supports import Selection

__all__ = ["Fold", "Record", "failed_records"]


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
