"""Settings: how a table is read, and what is asked of it; each is declared once, here.

A field is the parameter in Python, the option at the command line, the key in settings.toml and
result.json, and the word in messages; its :class:`Option` says what it is, what it may be, and how
typed text becomes its value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from typing import Any, Literal, Self, TypeVar

from rowsparse._parameters import Constraint, Either, Number, OneOf
from rowsparse.workflow.messages import InputError, check_setting, setting, shown, split_names

Kind = TypeVar("Kind", bound="Settings")

_COUNT = Number(low=1, integer=True)
_AUTO = OneOf(("auto",))
_TASKS = OneOf(("auto", "classification", "multilabel", "regression", "counts", "survival"))


@dataclass(frozen=True)
class Option:
    """What a setting is.

    ``help`` is a short sentence, ``panel`` where the help of a command lists it, and ``short`` a
    flag of one letter. ``allowed`` says what it may be, if that does not depend on the table, or
    returns that. ``parse`` makes the value of what is typed; by default the type of the field does.
    ``is_path`` is for a file, which settings.toml names from its own folder, and ``is_argument``
    for what is typed by its place, without a flag.
    """

    help: str
    panel: str = "Table"
    allowed: Constraint | Callable[[], Constraint] | None = None
    short: str = ""
    parse: Callable[[str], Any] | None = None
    is_path: bool = False
    is_argument: bool = False


def option(help: str, default: Any = None, **more: Any) -> Any:
    """A field with its :class:`Option`; a default of ``MISSING`` means that it is needed."""
    return field(default=default, metadata={"option": Option(help, **more)})


class Settings:
    """Settings that are checked when they are made."""

    def __post_init__(self) -> None:
        for one in fields(self):  # type: ignore[arg-type]
            declared: Option | None = one.metadata.get("option")
            allowed = None if declared is None else declared.allowed
            value = getattr(self, one.name)
            if allowed is not None and (value is not None or one.default is not None):
                check_setting(
                    one.name, value, allowed if isinstance(allowed, Constraint) else allowed()
                )

    @classmethod
    def taken(cls, given: Mapping[str, Any]) -> Self:
        """The settings of this kind among those given."""
        names = [one.name for one in fields(cls)]  # type: ignore[arg-type]
        return cls(**{name: given[name] for name in names if name in given})

    def as_kind(self, kind: type[Kind]) -> Kind:
        """Those of another kind of settings that are among these."""
        return kind.taken(asdict(self))  # type: ignore[call-overload]


def _losses() -> Constraint:
    """What TopK can minimise; imported when it is asked for, as the selectors take their time."""
    from rowsparse.selectors.topk.loss_defaults import LOSSES

    return OneOf(LOSSES)


def _parts(text: str) -> tuple[str, ...]:
    """What stands between commas, each once."""
    return tuple(dict.fromkeys(split_names(text)))


def _count(text: str) -> int | Literal["auto"]:
    """The number of features, or "auto"."""
    if text.strip().lower() == "auto":
        return "auto"
    try:
        return int(text)
    except ValueError:
        raise InputError(
            f"{setting('k')} must be a whole number or 'auto'; got {shown(text)}."
        ) from None


def _share(text: str) -> float:
    """A share as a percentage, or as a number."""
    number, sign, rest = text.strip().partition("%")
    try:
        if rest:
            raise ValueError
        return float(number) / (100.0 if sign else 1.0)
    except ValueError:
        raise InputError(
            f"{setting('alternatives')} must be a percentage, as in 1%; got {shown(text)}."
        ) from None


def _counts(text: str) -> tuple[int, ...]:
    """Numbers of features with commas between."""
    try:
        counts = sorted({int(part) for part in _parts(text)})
    except ValueError:
        counts = []
    if not counts:
        raise InputError(f"{setting('k')} must be whole numbers, as in 5,10,20; got {shown(text)}.")
    return tuple(counts)


# --------------------------------------------------------------------------------- the table
@dataclass(frozen=True, kw_only=True)
class ReadingSettings(Settings):
    """How the cells of a file are read."""

    na_values: str | None = option(
        "Cells that are missing values, as in '<LOD,ND' or '<*', besides NA and the like."
    )
    sheet: str | None = option("Sheet of an Excel file, by its name or number; the first if none.")
    header_row: int | None = option(
        "Row with the names of the columns, counted from 1; those above are skipped.",
        allowed=_COUNT,
    )
    transpose: bool = option("The table has a row for each feature, its name first.", False)
    labels: str | None = option("Another file with the column to predict; see --by.", is_path=True)
    by: str | None = option("Column with the names of the samples, in the table and in --labels.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.labels is None) != (self.by is None):
            raise InputError(
                f"{setting('labels')} and {setting('by')} need each other: the file with the "
                "labels, and the column with the names of the samples."
            )


@dataclass(frozen=True, kw_only=True)
class TableSettings(ReadingSettings):
    """How a table is read; ``keep_all`` keeps constant columns and identifiers too."""

    target: str | None = option("Column to predict; several as 'a,b,c' or 'label_*'.", short="-t")
    task: str = option("What the target holds.", "auto", allowed=_TASKS)
    time: str | None = option(
        "In the place of a target, the column of survival times; see --event."
    )
    event: str | None = option(
        "Column that says whether a time ends in the event, or is censored; as in 'status=dead' "
        "with the value that is the event."
    )
    drop: str | None = option("Columns to leave out.")
    drop_missing_target: bool = option("Leave rows out that have no value of the target.", False)
    impute: str | None = option(
        "Fill missing values; otherwise they are refused.",
        allowed=OneOf(("median", "mean", "most_frequent")),
    )
    groups_column: str | None = option(
        "Column such as the patient: rows of one value stay together in folds, and are no "
        "independent samples in tests."
    )
    log: str | None = option(
        "Columns to take log2(1 + x) of, as in '*': for counts and raw intensities."
    )
    positive: str | None = option(
        "Of two classes the one that effects, curves and decision values are of."
    )
    class_weight: str | None = option(
        "Weights of the classes: 'balanced', or as in 'case=5,control=1'."
    )
    levels: str | None = option(
        "Order of the values of a column, as in 'grade=low<middle<high'; several with ';' between."
    )
    keep_all: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.time is None) != (self.event is None):
            raise InputError(
                f"{setting('time')} and {setting('event')} need each other: the column of survival "
                "times, and the one that says whether they end in the event."
            )
        if self.time is not None and self.target is not None:
            raise InputError(
                f"{setting('time')} and {setting('event')} stand in the place of "
                f"{setting('target')}: leave it out."
            )
        if (self.time is None) == (self.task == "survival"):
            if self.time is None:
                raise InputError(
                    f"For survival, name the columns with {setting('time')} and "
                    f"{setting('event')} in the place of {setting('target')}."
                )
            if self.task != "auto":
                raise InputError(
                    f"{setting('time')} is for survival: leave {setting('task', self.task)} out."
                )

    def for_loss(self, loss: str | None) -> TableSettings:
        """These, with the task that a loss is for if nothing else is said."""
        from rowsparse.selectors.topk.loss_defaults import OWN_TASKS

        own = OWN_TASKS.get(str(loss))
        is_said = self.task != "auto" or self.time is not None
        return self if own is None or is_said else replace(self, task=own)


# ---------------------------------------------------------------------------------- the model
@dataclass(frozen=True, kw_only=True)
class _Adjusted(Settings):
    adjust: str | None = option(
        "Columns in every model that do not count, as in age,sex.", panel="Model"
    )


@dataclass(frozen=True, kw_only=True)
class _Loss(Settings):
    loss: str | None = option(
        "What TopK minimises; auto: logistic for classes and labels, squared for numbers. "
        "With poisson, the target holds counts; cox is for --time and --event.",
        panel="Experts",
        allowed=_losses,
    )


@dataclass(frozen=True, kw_only=True)
class _Choice(_Adjusted, _Loss):
    include: str | None = option("Columns that must be selected.", panel="Model")
    exclude: str | None = option("Columns that must not be selected.", panel="Model")
    alpha: float | None = option(
        "Weight of the ridge, per sample.", panel="Experts", allowed=Number(low=0)
    )
    clip: float | None = option(
        "Limit for standardised columns, so that extreme values weigh less; try 2 for word counts.",
        panel="Experts",
        allowed=Number(low=0, low_open=True),
    )


@dataclass(frozen=True, kw_only=True)
class _UpTo(Settings):
    k_max: int = option("The largest number of features to try.", 30, panel="Model", allowed=_COUNT)


@dataclass(frozen=True, kw_only=True)
class MethodSettings(_Choice):
    """Which selector is fitted, and with which parameters."""

    method: str = option("See 'rowsparse methods'.", "topk", panel="Model")
    certify: bool = option("Prove how close to the best choice it is.", False, panel="Model")
    time_limit: float | None = option(
        "Seconds for search and proof; 10 with --certify.",
        panel="Model",
        allowed=Number(low=0, low_open=True),
    )


# --------------------------------------------------------------------------------- the scores
@dataclass(frozen=True, kw_only=True)
class EvaluationSettings(Settings):
    """How the result is evaluated."""

    cv: int = option("Number of folds of the cross-validation.", 5, panel="Scores")
    repeats: int = option("How often the folds are drawn.", 1, panel="Scores", allowed=_COUNT)
    metric: str | None = option(
        "Score: accuracy, balanced_accuracy, macro_f1, auc or log_loss for classes, r2, "
        "rmse or mae for numbers; d2, rmse or mae for counts; concordance for survival; macro_f1, "
        "accuracy or auc for labels. By default the first of them; auc where the classes differ "
        "very much in size.",
        panel="Scores",
    )
    seed: int = option(
        "Seed of everything that is drawn.",
        0,
        panel="Experts",
        allowed=Number(low=0, high=2**32, high_open=True, integer=True),
    )
    n_jobs: int | None = option(
        "Number of threads; the answer is the same.", panel="Experts", allowed=_COUNT
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.repeats > 1 and not self.cv:
            raise InputError(
                f"{setting('repeats')} draws the folds again, and {setting('cv', 0)} leaves them "
                "out: leave one of them out."
            )


# ------------------------------------------------------------------------------- the commands
@dataclass(frozen=True, kw_only=True)
class SelectSettings(_UpTo, MethodSettings, EvaluationSettings):
    """Settings of :func:`rowsparse.workflow.select.select`; without ``cv``, nothing is scored."""

    k: int | Literal["auto"] = option(
        "Number of features, or 'auto': by cross-validation.",
        MISSING,
        panel="Model",
        short="-k",
        parse=_count,
        allowed=Either(_COUNT, _AUTO),
    )
    alternatives: float | None = option(
        "With --certify: list every choice whose loss is above the least one by less than this "
        "share, as in 1%.",
        panel="Model",
        parse=_share,
        allowed=Number(low=0, high=1, high_open=True),
    )
    test: str = option(
        "Test of each feature by itself: t (F with several classes, correlation with numbers), "
        "welch (unequal variances), or rank (of the ranks).",
        "t",
        panel="Scores",
        allowed=OneOf(("t", "welch", "rank")),
    )
    stability: int | None = option(
        "Subsamples for the selection frequencies; 0 for none. By default 20, or 5 of a large "
        "table.",
        panel="Scores",
        allowed=Number(low=0, integer=True),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k == "auto" and not self.cv:
            raise InputError(
                f"{setting('k', 'auto')} needs cross-validation: {setting('cv')} must be at least "
                "2."
            )
        if self.alternatives is not None:
            if not self.certify:
                raise InputError(
                    f"{setting('alternatives')} needs {setting('certify')}: a list is complete "
                    "where that is proven."
                )
            if self.loss == "l21":
                raise InputError(
                    f"{setting('alternatives')} lists nothing for {setting('loss', self.loss)}, "
                    "as nothing is proven with it: take another loss."
                )
        if self.stability == 1:
            raise InputError(f"{setting('stability')} needs at least 2 subsamples, or 0 for none.")


@dataclass(frozen=True, kw_only=True)
class CompareSettings(_Adjusted, _Loss, EvaluationSettings):
    """Settings of :func:`rowsparse.workflow.compare.compare`.

    ``methods`` is None for a few quick ones. Methods that cannot include columns select among those
    that ``adjust`` does not name, and the models that score get both. ``n_jobs`` is 1 by default,
    as with more threads the seconds of a method include the time that it waits.
    """

    k: tuple[int, ...] = option(
        "Numbers of features, as in 5,10,20.", MISSING, panel="Model", short="-k", parse=_counts
    )
    methods: tuple[str, ...] | None = option(
        "Methods, as in topk,rfs,relieff, or 'all'; see 'rowsparse methods'.",
        panel="Model",
        parse=_parts,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for k in self.k:
            check_setting("k", k, _COUNT)
        if self.methods is not None and not self.methods:
            raise InputError(
                f"{setting('methods')} must name at least one method: see 'rowsparse methods'."
            )


@dataclass(frozen=True, kw_only=True)
class PathSettings(_UpTo, _Choice, EvaluationSettings):
    """Settings of :func:`rowsparse.workflow.select.find_path`."""

    def __post_init__(self) -> None:
        from rowsparse.selectors.topk.loss_defaults import PATH_LOSSES

        super().__post_init__()
        check_setting("loss", self.loss, OneOf(PATH_LOSSES, optional=True))
