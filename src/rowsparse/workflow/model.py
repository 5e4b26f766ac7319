"""A selection with its linear model, kept as JSON: fitted, used on other tables, scored there."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import clone
from sklearn.linear_model import PoissonRegressor
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from rowsparse._arrays import Array, Index, dense_columns
from rowsparse._text import counted
from rowsparse.evaluation.metrics import METRICS, Predictions, prediction_score
from rowsparse.targets import NUMERIC_TASKS
from rowsparse.workflow.columns import Column, as_numbers, complete_target, read_survival
from rowsparse.workflow.cross_validation import judges
from rowsparse.workflow.loading import SAMPLE, Loaded, check_is_file, open_table
from rowsparse.workflow.messages import InputError, quoted, shown
from rowsparse.workflow.results import HoldoutScore
from rowsparse.workflow.settings import ReadingSettings
from rowsparse.workflow.table import Table

_RULES = ("sign", "largest", "pairs", "labels", "values", "rates")


@dataclass(frozen=True)
class LinearModel:
    """Coefficients of the features, and how a prediction follows from what they give.

    ``rule`` is about Z @ coefficients.T + intercept: "sign": the second class if it is positive,
    otherwise the first; "largest": the class with the largest value; "pairs": each value is a vote
    for one of two classes, the first if it is positive, and the class with most votes wins;
    "labels": each label is 1 if its value is positive; "values": the values themselves; "rates":
    their exponentials. ``name`` is such as "linear SVM".
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
        """A value for each class or label, in the form of :class:`Predictions`.

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

    ``value`` counts as 1, all others as 0; None for numbers. The model takes (x - mean) / scale.
    """

    name: str
    column: str
    value: str | None
    mean: float
    scale: float


@dataclass(frozen=True)
class SavedModel:
    """A selection and its linear model, for other tables with the same columns.

    ``method`` is the selector. ``classes`` are those of the table: text, whole numbers or booleans;
    empty for labels and numbers. ``guess`` is what one would predict without features: the index of
    the most frequent class, the more frequent value of each label, or the means of the numbers.
    ``identifiers`` are columns that identified the rows, kept in reduced tables and predictions.

    ``columns`` are what a table needs, and ``features`` the selected ones, strongest first.
    ``judge`` predicts: it was fitted to the standardised features of all samples. ``selector`` has
    the selector's own coefficients of the features as they are; its rule is "values", or for the
    logistic loss of TopK that of its classes or labels, and for the Poisson loss "rates". ``event``
    is the value of the second target of survival times that is the event, and ``na_values`` are
    cells that are missing values in files, besides the usual ones.

    Use it as ``SavedModel.load("table-select").predict("new.csv")``.
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

        Returns the columns of the table that the model does not use.
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

        The table is a file in any format that is read, or a data frame of polars or pandas; columns
        may be in any order, and others beside them. It is refused if columns are missing, or hold
        text instead of numbers, values of categories that the model does not know, or missing
        values without a rule to fill them.
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
        """Classes, 0/1 labels or numbers for the rows of a table, a column for each of several."""
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
        """Read a model from its file, or from the folder of the selection."""
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


# ---------------------------------------------------------------------------- fitted to all samples
def fit_model(
    table: Table, selector: Any, order: Index, method: str, metric: str | None = None
) -> SavedModel:
    """Fit the linear model of the cross-validation to all samples of a table.

    ``selector`` is fitted to the table, ``order`` has the selected features, strongest first, and
    ``metric`` is the score of the cross-validation, which decides on its model.
    """
    X = dense_columns(table.X, order)
    name, judge = next(iter(judges(table, metric).items()))
    scaler, judge = StandardScaler().fit(X), clone(judge)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        judge.fit(scaler.transform(X), table.y)
    origins = {int(j): table.origin(int(j)) for j in order}
    features = tuple(
        SavedFeature(
            name=table.names[j],
            column=origin,
            value=table.names[j].removeprefix(f"{origin}=") if j in table.made_from else None,
            mean=float(mean),
            scale=float(scale),
        )
        for (j, origin), mean, scale in zip(
            origins.items(), scaler.mean_, scaler.scale_, strict=True
        )
    )
    return SavedModel(
        method=method,
        task=table.task,
        targets=table.target.names,
        classes=_classes(table, judge) if table.task == "classification" else (),
        guess=_guess(table),
        identifiers=table.identifiers,
        columns=tuple(map(table.column, dict.fromkeys(origins.values()))),
        features=features,
        judge=linear_model(name, judge),
        selector=selector_model(method, selector, order, table.task),
        event=str(table.target.values[0]) if table.task == "survival" else None,
        na_values=table.reading.na_values,
    )


def _classes(table: Table, judge: Any) -> tuple[Any, ...]:
    """The classes as they are in the file."""
    return table.target.values or tuple(judge.classes_.tolist())


def _guess(table: Table) -> tuple[float, ...]:
    if table.task == "classification":
        return (float(np.argmax(table.target.counts)),)
    if table.task == "survival":
        return (0.0,)
    means = np.atleast_1d(table.y.mean(axis=0))
    return tuple((means > 0.5).astype(float) if table.task == "multilabel" else means.tolist())


def linear_model(name: str, judge: Any) -> LinearModel:
    """What a fitted linear classifier or regressor of scikit-learn computes."""
    if isinstance(judge, OneVsRestClassifier):
        width = judge.n_features_in_
        rows = [_label_row(one, width) for one in judge.estimators_]
        coef, intercept = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
        return LinearModel(name, "labels", coef, intercept)
    coef, intercept = np.atleast_2d(judge.coef_), np.atleast_1d(judge.intercept_)
    if not hasattr(judge, "classes_"):
        rule = "rates" if isinstance(judge, PoissonRegressor) else "values"
    elif len(judge.classes_) == 2:
        rule = "sign"
    else:
        rule = "pairs" if isinstance(judge, SVC) else "largest"
    return LinearModel(name, rule, np.asarray(coef), np.asarray(intercept))


def _label_row(one: Any, width: int) -> tuple[Array, float]:
    """Coefficients and intercept for one label."""
    if hasattr(one, "coef_"):
        return np.ravel(one.coef_), float(one.intercept_[0])
    # A label that is the same in all samples is always predicted so.
    return np.zeros(width), 1.0 if one.predict(np.zeros((1, width)))[0] else -1.0


def selector_model(method: str, selector: Any, order: Index, task: str) -> LinearModel | None:
    """The own coefficients of a selector, and how they predict; None if it has none."""
    coef, intercept = getattr(selector, "coef_", None), getattr(selector, "intercept_", None)
    if coef is None or intercept is None or np.ndim(coef) > 2:
        return None
    if hasattr(selector, "clip_limits_"):
        return None  # its coefficients are of columns within limits
    rows = np.atleast_2d(coef)
    offsets = np.atleast_1d(intercept)
    if rows.shape[1] <= order.max() or offsets.shape != (len(rows),):
        return None
    rule = "rates" if getattr(selector, "loss_", None) == "poisson" else "values"
    if task == "classification" and len(rows) == 1:
        rule = "sign"
    elif getattr(selector, "loss_", None) == "logistic":
        rule = "labels" if task == "multilabel" else "largest"
    return LinearModel(method, rule, np.asarray(rows[:, order]), np.asarray(offsets))


# -------------------------------------------------------------------------- scored on another table
def check_targets(
    table: Loaded, targets: tuple[str, ...], classes: Sequence[str] | None = None
) -> list[NDArray[Any]]:
    """The targets of a table; refused if one is not there, misses values, or has other classes.

    A class that is new counts as wrong where others are known, unless it is a known one that is
    spelt otherwise.
    """
    absent = [name for name in targets if name not in set(table.target_names)]
    if absent:
        raise InputError(
            f"{shown(table.source)} has no column {quoted(absent)}, the target: there is nothing "
            "to compare predictions with."
        )
    if not table.n_rows:
        raise InputError(f"{shown(table.source)} has no row with a value of {quoted(targets)}.")
    columns = [complete_target(name, table.target_values(name)) for name in targets]
    if classes is None:
        return columns
    found = np.unique(columns[0].astype(str)).tolist()
    unknown = [name for name in found if name not in classes]
    alike = {*map(_spelling, unknown)} & {*map(_spelling, classes)}
    if unknown and (alike or len(unknown) == len(found)):
        raise InputError(
            f"The target {shown(targets[0])} in {shown(table.source)} holds the classes "
            f"{quoted(unknown)}, and those of the model are {quoted(classes)}: spell them alike."
        )
    return columns


def _spelling(name: str) -> str:
    """What is left of a name without case, blanks and marks."""
    return "".join(character for character in name.casefold() if character.isalnum())


def score_holdout(model: SavedModel, table: Loaded, metric: str | None = None) -> HoldoutScore:
    """Predict a table with a model, and compare with its targets.

    The score is by default the first metric of the task.
    """
    is_classes = model.task == "classification"
    cells = check_targets(table, model.targets, _names(model).tolist() if is_classes else None)
    truth, said, guess = _truth(model, cells), model.predictions(table), _guesses(model, table)
    if is_classes:
        # As text, so that a class that the model has never seen counts as wrong.
        truth, answers, classes = truth.astype(str), said.answers.astype(str), _names(model)
        said = replace(said, answers=answers, classes=classes)
    metric = metric or METRICS[model.task][0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a single sample, R² is not defined
        every = {
            name: prediction_score(name, model.task, truth, said) for name in METRICS[model.task]
        }
        chance = prediction_score(metric, model.task, truth, guess)
    return HoldoutScore(
        source=table.source,
        n_samples=table.n_rows,
        metric=metric,
        score=every[metric],
        chance=chance,
        scores={name: value for name, value in every.items() if math.isfinite(value)},
    )


def _truth(model: SavedModel, cells: list[NDArray[Any]]) -> NDArray[Any]:
    """The targets as the model predicts them."""
    columns = dict(zip(model.targets, cells, strict=True))
    if model.task == "survival":
        return read_survival(columns, model.event, needs_event=False).y
    if model.task == "classification":
        return cells[0]
    y = np.column_stack([as_numbers(name, column) for name, column in columns.items()])
    if model.task == "multilabel" and not np.isin(y, (0.0, 1.0)).all():
        raise InputError(f"The labels {quoted(model.targets)} must be 0 or 1.")
    return y if y.shape[1] > 1 else y[:, 0]


def _names(model: SavedModel) -> NDArray[Any]:
    return np.array(model.classes).astype(str)


def _guesses(model: SavedModel, table: Loaded) -> Predictions:
    """What one would predict without features; all values of a class or label are the same."""
    if model.task == "classification":
        names = _names(model)
        values = np.zeros((table.n_rows, names.size))
        return Predictions(np.full(table.n_rows, names[int(model.guess[0])]), values, names)
    rows = np.tile(model.guess, (table.n_rows, 1))
    return Predictions(rows if rows.shape[1] > 1 else rows[:, 0], np.zeros(rows.shape))
