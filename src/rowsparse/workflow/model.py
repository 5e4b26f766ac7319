"""A selection with its linear model, kept as JSON, that reduces and predicts other tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rowsparse._arrays import Array
from rowsparse._text import counted
from rowsparse.evaluation import Predictions
from rowsparse.workflow.linear_model import LinearModel
from rowsparse.workflow.loading import check_is_file
from rowsparse.workflow.messages import InputError, quoted, setting, shown
from rowsparse.workflow.new_table import NewTable, as_numbers, as_text, open_table
from rowsparse.workflow.transposing import SAMPLE

__all__ = ["MODEL_FILE", "SavedColumn", "SavedFeature", "SavedModel"]

# Name of the file in the folder of a selection.
MODEL_FILE = "model.json"
_FORMAT, _VERSION = "rowsparse model", 1


@dataclass(frozen=True)
class SavedColumn:
    """A column that a table must have.

    Attributes
    ----------
    name : str
    values : tuple of str or None
        The values of a column of categories; None for numbers.
    fill : float, str or None
        What replaces a missing value; None if missing values are refused.
    """

    name: str
    values: tuple[str, ...] | None = None
    fill: float | str | None = None


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
    task : {"classification", "multilabel", "regression"}
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
    columns : tuple of SavedColumn
        What a table needs.
    features : tuple of SavedFeature
        The selected features, strongest first.
    judge : LinearModel
        Fitted to the standardised features of all samples; it predicts.
    selector : LinearModel or None
        The selector's own coefficients of the features as they are; the rule is "values", or for
        the logistic loss of TopK that of its classes or labels.

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
    columns: tuple[SavedColumn, ...]
    features: tuple[SavedFeature, ...]
    judge: LinearModel
    selector: LinearModel | None = None

    # ------------------------------------------------------------------------- use
    def check_columns(self, table: Any) -> tuple[str, ...]:
        """Refuse a table that lacks columns, or has text where the model needs numbers.

        Returns
        -------
        tuple of str
            Columns of the table that the model does not use.
        """
        table = open_table(table)
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

    def identifiers_in(self, table: NewTable) -> list[str]:
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
        table = open_table(table)
        self.check_columns(table)
        columns = {column.name: _filled(table, column) for column in self.columns}
        parts = [
            columns[feature.column] if feature.value is None else _is(columns, feature)
            for feature in self.features
        ]
        return np.column_stack(parts).astype(np.float64)

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
        if self.task == "regression":
            return Predictions(found if len(self.targets) > 1 else found[:, 0])
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
        plain = {field.name: record[field.name] for field in fields(cls)}
        plain |= {
            name: tuple(plain[name]) for name in ("targets", "classes", "guess", "identifiers")
        }
        plain["columns"] = tuple(
            SavedColumn(item["name"], item["values"] and tuple(item["values"]), item["fill"])
            for item in record["columns"]
        )
        plain["features"] = tuple(SavedFeature(**item) for item in record["features"])
        for name in ("judge", "selector"):
            plain[name] = record[name] and LinearModel.from_record(
                record[name], len(plain["features"])
            )
        model = cls(**plain)
        if not {feature.column for feature in model.features} <= {c.name for c in model.columns}:
            raise ValueError
        return model


def _start(source: str) -> str:
    return source[:1].upper() + source[1:] if source.startswith("the ") else shown(source)


def _is(columns: dict[str, NDArray[Any]], feature: SavedFeature) -> NDArray[Any]:
    return np.asarray(columns[feature.column] == feature.value, dtype=np.float64)


def _filled(table: NewTable, column: SavedColumn) -> NDArray[Any]:
    """The values of a column, with those filled in that are missing."""
    values = table.values(column.name)
    if column.values is None:
        values = as_numbers(column.name, values)
        missing = np.isnan(values)
    else:
        values = as_text(values)
        missing = np.array([value is None for value in values.tolist()], dtype=bool)
        _check_known(column, values[~missing].tolist(), column.values)
    if missing.any():
        if column.fill is None:
            raise InputError(
                f"Column {shown(column.name)} has {counted(int(missing.sum()), 'missing value')}: "
                f"fill them first, or select again with {setting('impute', 'median')}."
            )
        values[missing] = column.fill
    return values


def _check_known(column: SavedColumn, present: list[str], known: Sequence[str]) -> None:
    unknown = sorted(set(present) - set(known))
    if unknown:
        raise InputError(
            f"Column {shown(column.name)} holds {quoted(unknown)}, which the model does not know: "
            f"it was made from {quoted(known)}."
        )
