"""A selection with its linear model, kept as JSON, that reduces and predicts other tables."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from rowsparse._arrays import Array
from rowsparse._text import counted
from rowsparse.evaluation.predictions import Predictions
from rowsparse.targets import NUMERIC_TASKS
from rowsparse.workflow.cells import SAMPLE
from rowsparse.workflow.columns import Column, as_numbers
from rowsparse.workflow.loading import Loaded, check_is_file, open_table
from rowsparse.workflow.messages import InputError, quoted, shown
from rowsparse.workflow.settings import ReadingSettings

__all__ = ["MODEL_FILE", "LinearModel", "SavedFeature", "SavedModel"]


_RULES = ("sign", "largest", "pairs", "labels", "values", "rates")


@dataclass(frozen=True)
class LinearModel:
    """Coefficients of the features, and how a prediction follows from what they give.

    Attributes
    ----------
    name : str
        Such as "linear SVM".
    rule : {"sign", "largest", "pairs", "labels", "values", "rates"}
        Of Z @ coefficients.T + intercept: "sign": the second class if it is positive, otherwise
        the first; "largest": the class with the largest value; "pairs": each value is a vote for
        one of two classes, the first if it is positive, and the class with most votes wins;
        "labels": each label is 1 if its value is positive; "values": the values themselves;
        "rates": their exponentials.
    coefficients : array of shape (n_outputs, n_features)
    intercept : array of shape (n_outputs,)
    """

    name: str
    rule: str
    coefficients: Array
    intercept: Array

    def decisions(self, Z: Array) -> Array:
        """The values that the rule is applied to, for standardised features."""
        return np.asarray(Z @ self.coefficients.T + self.intercept)

    def predict(self, Z: Array, n_classes: int) -> NDArray[Any]:
        """Indices of classes, 0/1 labels or numbers, for standardised features."""
        found = self.decisions(Z)
        if self.rule == "sign":
            return (found[:, 0] > 0).astype(np.intp)
        if self.rule == "largest":
            return np.argmax(found, axis=1)
        if self.rule == "labels":
            return (found > 0).astype(np.int64)
        if self.rule == "values":
            return found
        if self.rule == "rates":
            return np.exp(found)
        return np.argmax(_votes(found, n_classes)[0], axis=1)

    @property
    def has_probabilities(self) -> bool:
        """Whether the values of the classes are probabilities."""
        return self.name == "logistic regression" and self.rule != "labels"

    def class_values(self, Z: Array, n_classes: int) -> Array:
        """A value for each class or label.

        The form is that of :class:`~rowsparse.evaluation.predictions.Predictions`.

        Of pairs, these are the votes for each class, and less than half a vote for how clear the
        pairs with it are, as in scikit-learn.
        """
        found = self.decisions(Z)
        if self.rule == "pairs":
            votes, clear = _votes(found, n_classes)
            return np.asarray(votes + clear / (3 * (np.abs(clear) + 1)))
        if self.rule == "sign":
            found = np.column_stack([-found[:, 0], found[:, 0]])
            found = found / 2 if self.has_probabilities else found
        return np.asarray(softmax(found, axis=1)) if self.has_probabilities else found

    @classmethod
    def from_record(cls, record: dict[str, Any], n_features: int) -> LinearModel:
        """Read a model of ``n_features`` features from its JSON."""
        coefficients = np.array(record["coefficients"], dtype=np.float64)
        intercept = np.array(record["intercept"], dtype=np.float64)
        if coefficients.shape != (intercept.size, n_features) or record["rule"] not in _RULES:
            raise ValueError
        return cls(record["name"], record["rule"], coefficients, intercept)


def _votes(decisions: Array, n_classes: int) -> tuple[Array, Array]:
    """The votes for each class, and the sums of the decisions for it, from pairs of classes."""
    votes = np.zeros((len(decisions), n_classes))
    clear = np.zeros_like(votes)
    first, second = np.triu_indices(n_classes, 1)
    for value, i, j in zip(decisions.T, first.tolist(), second.tolist(), strict=True):
        votes[:, i] += value > 0
        votes[:, j] += value <= 0
        clear[:, i] += value
        clear[:, j] -= value
    return votes, clear


# Name of the file in the folder of a selection.
MODEL_FILE = "model.json"
_FORMAT, _VERSION = "rowsparse model", 3


@dataclass(frozen=True)
class SavedFeature:
    """A selected feature: a column of numbers, or whether a category has a value.

    Attributes
    ----------
    name : str
    column : str
        The column of the table.
    value : str or None
        The value that counts as 1, all others as 0; None for numbers.
    mean, scale : float
        The model takes (x - mean) / scale.
    """

    name: str
    column: str
    value: str | None
    mean: float
    scale: float


@dataclass(frozen=True)
class SavedModel:
    """A selection and its linear model, for other tables with the same columns.

    Attributes
    ----------
    method : str
        The selector.
    task : {"classification", "multilabel", "regression", "counts", "survival"}
    targets : tuple of str
        Names of the target columns.
    classes : tuple
        The classes as they are in the table: text, whole numbers or booleans; empty for labels
        and numbers.
    guess : tuple
        What one would predict without features: the index of the most frequent class, the more
        frequent value of each label, or the means of the numbers.
    identifiers : tuple of str
        Columns that identified the rows, kept in reduced tables and predictions.
    columns : tuple of Column
        What a table needs.
    features : tuple of SavedFeature
        The selected features, strongest first.
    judge : LinearModel
        Fitted to the standardised features of all samples; it predicts.
    selector : LinearModel or None
        The selector's own coefficients of the features as they are; the rule is "values", or for
        the logistic loss of TopK that of its classes or labels, and for the Poisson loss "rates".
    event : str or None
        Of survival times, the value of the second target that is the event.
    na_values : str or None
        Cells that are missing values in files, besides the usual ones.

    Examples
    --------
    ``SavedModel.load("table-select").predict("new.csv")``
    """

    method: str
    task: str
    targets: tuple[str, ...]
    classes: tuple[Any, ...]
    guess: tuple[float, ...]
    identifiers: tuple[str, ...]
    columns: tuple[Column, ...]
    features: tuple[SavedFeature, ...]
    judge: LinearModel
    selector: LinearModel | None = None
    na_values: str | None = None
    event: str | None = None

    @property
    def outputs(self) -> tuple[str, ...]:
        """What is predicted: the targets, or for survival times the risk."""
        return self.targets if self.event is None else ("risk",)

    # ------------------------------------------------------------------------- use
    def open(self, table: Any, reading: ReadingSettings | None = None) -> Loaded:
        """A table, whose file is read as that of the selection where nothing else is said."""
        asked = reading or ReadingSettings()
        missing = self.na_values if asked.na_values is None else asked.na_values
        return open_table(table, replace(asked, na_values=missing))

    def check_columns(self, table: Any) -> tuple[str, ...]:
        """Refuse a table that lacks columns, or has text where the model needs numbers.

        Returns
        -------
        tuple of str
            Columns of the table that the model does not use.
        """
        table = self.open(table)
        if not table.n_rows:
            raise InputError(f"{_start(table.source)} has no rows.")
        there = set(table.names)
        missing = [column.name for column in self.columns if column.name not in there]
        used = {column.name for column in self.columns} | {*self.targets, *self.identifiers}
        extra = tuple(name for name in table.names if name not in used)
        if missing:
            has = f"; it has {quoted(extra)}, which the model does not use" if extra else ""
            raise InputError(
                f"{_start(table.source)} lacks {len(missing):,} of the "
                f"{counted(len(self.columns), 'column')} of the model: {quoted(missing)}{has}."
            )
        for column in self.columns:
            if column.values is None:
                as_numbers(column.name, table.values(column.name))
        return extra

    def identifiers_in(self, table: Loaded) -> list[str]:
        """Columns of a table that identify its rows."""
        samples = SAMPLE if table.reading.transpose else None
        known = dict.fromkeys((*self.identifiers, table.reading.by or samples))
        return [name for name in known if name in set(table.target_names)]

    def transform(self, table: Any) -> Array:
        """The selected features of a table, encoded and filled as for the selection.

        Parameters
        ----------
        table : str, Path or data frame
            A file in any format that is read, or a data frame of polars or pandas; columns may
            be in any order, and others beside them.

        Returns
        -------
        array of shape (n_samples, n_features)
            In the order of ``features``.

        Raises
        ------
        InputError
            If columns are missing, hold text instead of numbers, values of categories that the
            model does not know, or missing values without a rule to fill them.
        """
        table = self.open(table)
        self.check_columns(table)
        found: dict[tuple[str, str | None], Array] = {}
        for column in self.columns:
            features = column.filled(column.features(table.values(column.name)))
            for part, values in zip(column.parts, features.T, strict=True):
                found[column.name, part] = values
        return np.column_stack([found[one.column, one.value] for one in self.features])

    def predict(self, table: Any) -> NDArray[Any]:
        """Classes, 0/1 labels or numbers for the rows of a table.

        Parameters
        ----------
        table : str, Path or data frame
            As in :meth:`transform`.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_targets)
            Two-dimensional for several targets.
        """
        return np.asarray(self.predictions(table).answers)

    def predictions(self, table: Any) -> Predictions:
        """The same with the values of each class or label, for scores that need them."""
        X = self.transform(table)
        Z = (X - [feature.mean for feature in self.features]) / [
            feature.scale for feature in self.features
        ]
        found = self.judge.predict(Z, len(self.classes))
        if self.task in (*NUMERIC_TASKS, "survival"):
            return Predictions(found if len(self.outputs) > 1 else found[:, 0])
        values = self.judge.class_values(Z, len(self.classes))
        if self.task == "multilabel":
            return Predictions(found if len(self.targets) > 1 else found[:, 0], values)
        classes = np.array(self.classes)
        return Predictions(classes[found], values, classes, self.judge.has_probabilities)

    # ----------------------------------------------------------------------- files
    def to_json(self) -> str:
        """The model as text; numbers keep all their digits."""
        record = {"format": _FORMAT, "version": _VERSION, **asdict(self)}
        # Only ASCII, as names may hold lone surrogates, which UTF-8 cannot encode.
        return json.dumps(record, indent=1, default=lambda array: array.tolist()) + "\n"

    @classmethod
    def load(cls, path: str | Path) -> SavedModel:
        """Read a model.

        Parameters
        ----------
        path : str or Path
            The file, or the folder of the selection.
        """
        path = Path(path)
        path = path / MODEL_FILE if path.is_dir() else path
        check_is_file(path)
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            if record["format"] != _FORMAT:
                raise ValueError
            newer = record["version"] != _VERSION
            model = None if newer else cls._from_record(record)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise InputError(
                f"{shown(str(path))} is not a model that rowsparse select wrote."
            ) from None
        if model is None:
            raise InputError(
                f"{shown(str(path))} was written by another version of rowsparse: select again, "
                "or install that version."
            )
        return model

    @classmethod
    def _from_record(cls, record: dict[str, Any]) -> SavedModel:
        plain = {field.name: _tuple(record[field.name]) for field in fields(cls)}
        plain["columns"] = tuple(
            Column(**item | {"values": _tuple(item["values"])}) for item in record["columns"]
        )
        plain["features"] = tuple(SavedFeature(**item) for item in record["features"])
        for name in ("judge", "selector"):
            plain[name] = record[name] and LinearModel.from_record(
                record[name], len(plain["features"])
            )
        model = cls(**plain)
        known = {(column.name, part) for column in model.columns for part in column.parts}
        if not {(feature.column, feature.value) for feature in model.features} <= known:
            raise ValueError
        return model


def _tuple(value: Any) -> Any:
    """A list of JSON as the tuple that it was."""
    return tuple(value) if isinstance(value, list) else value


def _start(source: str) -> str:
    return source[:1].upper() + source[1:] if source.startswith("the ") else shown(source)
