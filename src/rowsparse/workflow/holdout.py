"""The score of a saved model on a table that took no part in the selection."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rowsparse.evaluation.metrics import METRICS, prediction_score
from rowsparse.evaluation.predictions import Predictions
from rowsparse.workflow.columns import as_numbers
from rowsparse.workflow.loading import Loaded
from rowsparse.workflow.messages import InputError, quoted, shown
from rowsparse.workflow.model import SavedModel
from rowsparse.workflow.results import HoldoutScore
from rowsparse.workflow.target_columns import complete_target, read_survival

__all__ = ["check_targets", "score_holdout"]


def check_targets(
    table: Loaded, targets: tuple[str, ...], classes: Sequence[str] | None = None
) -> None:
    """Refuse a table without the targets, with missing values in them, or with other classes.

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
        return
    found = np.unique(columns[0].astype(str)).tolist()
    unknown = [name for name in found if name not in classes]
    alike = {*map(_spelling, unknown)} & {*map(_spelling, classes)}
    if unknown and (alike or len(unknown) == len(found)):
        raise InputError(
            f"The target {shown(targets[0])} in {shown(table.source)} holds the classes "
            f"{quoted(unknown)}, and those of the model are {quoted(classes)}: spell them alike."
        )


def _spelling(name: str) -> str:
    """What is left of a name without case, blanks and marks."""
    return "".join(character for character in name.casefold() if character.isalnum())


def score_holdout(model: SavedModel, table: Loaded, metric: str | None = None) -> HoldoutScore:
    """Predict a table with a model, and compare with its targets.

    Parameters
    ----------
    model : SavedModel
    table : Loaded
        See :func:`rowsparse.workflow.loading.open_table`.
    metric : str, optional
        What the score is; the first metric of the task by default.
    """
    is_classes = model.task == "classification"
    check_targets(table, model.targets, _names(model).tolist() if is_classes else None)
    truth, said, guess = _targets(model, table), model.predictions(table), _guesses(model, table)
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


def _targets(model: SavedModel, table: Loaded) -> NDArray[Any]:
    if model.task == "survival":
        cells = {name: table.target_values(name) for name in model.targets}
        return read_survival(cells, model.event, needs_event=False).y
    columns = [complete_target(name, table.target_values(name)) for name in model.targets]
    if model.task == "classification":
        return columns[0]
    numbers = [
        as_numbers(name, column) for name, column in zip(model.targets, columns, strict=True)
    ]
    y = np.column_stack(numbers)
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
