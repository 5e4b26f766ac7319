"""Settings: how a table is read, and what is asked of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rowsparse._parameters import Number, OneOf
from rowsparse.selectors.topk.losses import LOSSES, PATH_LOSSES
from rowsparse.workflow.messages import InputError, check_setting, setting

__all__ = [
    "CompareSettings",
    "EvaluationSettings",
    "MethodSettings",
    "PathSettings",
    "SelectSettings",
    "TableSettings",
]

_IMPUTE = ("median", "mean", "most_frequent")
_POSITIVE = Number(low=1, integer=True)
_RIDGE = Number(low=0, optional=True)
_LOSS, _PATH_LOSS = OneOf(LOSSES, optional=True), OneOf(PATH_LOSSES, optional=True)
_CLIP = Number(low=0, low_open=True, optional=True)


@dataclass(frozen=True, kw_only=True)
class TableSettings:
    """How a file is read.

    Parameters
    ----------
    target : str, optional
        Column to predict: its name, several with commas between, or a pattern with ``*``. May be
        left out where the file itself says what y is.
    drop : str, optional
        Columns to leave out, in the same manner.
    drop_missing_target : bool, default=False
        Leave rows out that have no value of the target; otherwise they are refused.
    impute : {"median", "mean", "most_frequent"}, optional
        What replaces missing numbers (the most frequent value those of text); without it they are
        refused. In folds it is that of the training rows.
    groups_column : str, optional
        Column whose rows of one value, as those of a patient, stay together in folds and
        subsamples; it is no feature.
    task : {"auto", "classification", "multilabel", "regression"}, default="auto"
        What the target holds.
    na_values : str, optional
        Cells that stand for missing values, with commas between, besides empty ones and words such
        as NA.
    transpose : bool, default=False
        The file has a row for each feature, with its name first, and a column for each sample.
    query : str, optional
        SQL that makes the table of what the file holds, which it calls ``data``.
    labels : str, optional
        Another file with columns to predict, joined with the table.
    by : str, optional
        Column with the names of the samples, in both files; of a transposed table, the names of its
        columns are taken.
    keep_all : bool, default=False
        Keep constant columns and identifiers too, as for the pixels of an image.
    """

    target: str | None = None
    drop: str | None = None
    drop_missing_target: bool = False
    impute: str | None = None
    na_values: str | None = None
    transpose: bool = False
    query: str | None = None
    labels: str | None = None
    by: str | None = None
    groups_column: str | None = None
    task: str = "auto"
    keep_all: bool = False

    def __post_init__(self) -> None:
        check_setting("impute", self.impute, OneOf(_IMPUTE, optional=True))
        tasks = ("auto", "classification", "multilabel", "regression")
        check_setting("task", self.task, OneOf(tasks))
        if (self.labels is None) != (self.by is None):
            raise InputError(
                f"{setting('labels')} and {setting('by')} need each other: the file with the "
                "labels, and the column with the names of the samples."
            )


@dataclass(frozen=True, kw_only=True)
class EvaluationSettings:
    """How the result is evaluated.

    Parameters
    ----------
    cv : int, default=5
        Number of folds of the cross-validation.
    repeats : int, default=1
        How often the folds are drawn.
    seed : int, default=0
        Of all random numbers.
    n_jobs : int, optional
        Number of threads; the answer is the same for any.
    metric : str, optional
        What the scores are: "accuracy", "balanced_accuracy" or "macro_f1" for classes,
        "macro_f1" or "accuracy" for labels, "r2" for numbers; by default the first of them.
    """

    cv: int = 5
    repeats: int = 1
    seed: int = 0
    n_jobs: int | None = None
    metric: str | None = None

    def __post_init__(self) -> None:
        check_setting("seed", self.seed, Number(low=0, integer=True))
        check_setting("repeats", self.repeats, _POSITIVE)
        if self.repeats > 1 and not self.cv:
            raise InputError(
                f"{setting('repeats')} draws the folds again, and {setting('cv', 0)} leaves them "
                "out: leave one of them out."
            )
        if self.seed >= 2**32:
            raise InputError(f"{setting('seed')} must be below 4,294,967,296; got {self.seed:,}.")


@dataclass(frozen=True, kw_only=True)
class MethodSettings:
    """Which selector is fitted, and with which parameters.

    Parameters
    ----------
    method : str, default="topk"
        Name of a selector, as in :func:`rowsparse.list_selectors`.
    certify, time_limit, loss, alpha, clip
        As in :class:`rowsparse.TopK`; with ``certify``, ``time_limit`` is 10 seconds by default.
    include, exclude : str, optional
        Columns that must, or must not, be selected: names or patterns with commas between.
    adjust : str, optional
        Columns that are in every model, and do not count as features.
    """

    method: str = "topk"
    certify: bool = False
    time_limit: float | None = None
    loss: str | None = None
    alpha: float | None = None
    clip: float | None = None
    include: str | None = None
    exclude: str | None = None
    adjust: str | None = None

    def __post_init__(self) -> None:
        check_setting("loss", self.loss, _LOSS)
        check_setting("alpha", self.alpha, _RIDGE)
        check_setting("clip", self.clip, _CLIP)
        check_setting("time_limit", self.time_limit, Number(low=0, low_open=True, optional=True))


@dataclass(frozen=True, kw_only=True)
class SelectSettings(MethodSettings, EvaluationSettings):
    """Settings of :func:`rowsparse.workflow.select.select`.

    Parameters
    ----------
    k : int or "auto"
        Number of features; "auto" chooses it by cross-validation, up to ``k_max``.
    k_max : int, default=30
        The largest number of features to try.
    stability : int, optional
        Number of subsamples for the selection frequencies, 0 for none; 20 by default, 5 for a
        large table.
    image_shape : tuple of int, optional
        Height and width, where the features are the pixels of an image.
    **others
        See :class:`MethodSettings` and :class:`EvaluationSettings`; ``cv=0`` leaves the
        cross-validation out.
    """

    k: int | Literal["auto"]
    k_max: int = 30
    stability: int | None = None
    image_shape: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        MethodSettings.__post_init__(self)
        EvaluationSettings.__post_init__(self)
        name = "k_max" if self.k == "auto" else "k"
        check_setting(name, getattr(self, name), _POSITIVE)
        if self.k == "auto" and not self.cv:
            raise InputError(
                f"{setting('k', 'auto')} needs cross-validation: {setting('cv')} must be at least "
                "2."
            )
        check_setting("stability", self.stability, Number(low=0, integer=True, optional=True))
        if self.stability == 1:
            raise InputError(f"{setting('stability')} needs at least 2 subsamples, or 0 for none.")


@dataclass(frozen=True, kw_only=True)
class CompareSettings(EvaluationSettings):
    """Settings of :func:`rowsparse.workflow.compare.compare`.

    Parameters
    ----------
    k : tuple of int
        Numbers of features.
    methods : tuple of str, optional
        Names of selectors, or ``("all",)``; None takes a few quick ones.
    loss : str, optional
        What TopK minimises, if it is among the methods; as in :class:`rowsparse.TopK`.
    adjust : str, optional
        Columns that are in every model, and do not count as features; methods that cannot include
        columns select among the others, and the judges get both.
    **others
        See :class:`EvaluationSettings`; ``n_jobs`` is 1 by default, as with more threads the
        seconds of a method include the time that it waits.
    """

    k: tuple[int, ...]
    methods: tuple[str, ...] | None = None
    loss: str | None = None
    adjust: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_setting("loss", self.loss, _LOSS)
        for k in self.k:
            check_setting("k", k, _POSITIVE)
        if self.methods is not None and not self.methods:
            raise InputError(
                f"{setting('methods')} must name at least one method: see "
                f"{setting('list_selectors')}."
            )


@dataclass(frozen=True, kw_only=True)
class PathSettings(EvaluationSettings):
    """Settings of :func:`rowsparse.workflow.path.find_path`.

    Parameters
    ----------
    k_max : int, default=30
        The largest number of features; all, if there are fewer.
    **others
        See :class:`MethodSettings` and :class:`EvaluationSettings`.
    """

    k_max: int = 30
    loss: str | None = None
    alpha: float | None = None
    clip: float | None = None
    include: str | None = None
    exclude: str | None = None
    adjust: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_setting("k_max", self.k_max, _POSITIVE)
        check_setting("loss", self.loss, _PATH_LOSS)
        check_setting("alpha", self.alpha, _RIDGE)
        check_setting("clip", self.clip, _CLIP)
