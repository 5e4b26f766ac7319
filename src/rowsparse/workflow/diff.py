"""Two results of ``rowsparse select`` compared: settings, features and scores."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rowsparse.workflow.messages import InputError, shown

__all__ = ["FeatureDiff", "ResultDiff", "ScoreDiff", "compare_results"]

_RESULT_FILE = "result.json"
# What a result of select has.
_KEYS = ("command", "settings", "versions", "data", "features", "method", "k", "metric", "score")
# What says where results are from, not how they were made.
_NOT_SETTINGS = ("command", "date", "out")


@dataclass(frozen=True)
class FeatureDiff:
    """One feature of either result: its rank and its coefficients in each, None if not selected."""

    name: str
    ranks: tuple[int | None, int | None]
    coefficients: tuple[tuple[float, ...], tuple[float, ...]]


@dataclass(frozen=True)
class ScoreDiff:
    """A score of both results, with its spread over the folds; NaN where it was not computed."""

    name: str
    metrics: tuple[str, str]
    values: tuple[float, float]
    spreads: tuple[float, float] = (math.nan, math.nan)


@dataclass(frozen=True)
class ResultDiff:
    """What two results have in common and what not.

    Attributes
    ----------
    names : tuple of str
        Of the two folders.
    settings : tuple of (str, str, str)
        Name and both values of what differs, the data and versions among them.
    features : tuple of FeatureDiff
        Those in both results first, then those of the first and those of the second only, each by
        rank.
    scores : tuple of ScoreDiff
    outputs : tuple of tuple of str
        For each result the classes or targets that its coefficients are of.
    """

    names: tuple[str, str]
    settings: tuple[tuple[str, str, str], ...]
    features: tuple[FeatureDiff, ...]
    scores: tuple[ScoreDiff, ...]
    outputs: tuple[tuple[str, ...], tuple[str, ...]]

    def only(self, side: int) -> list[FeatureDiff]:
        """The features of one result that the other has not."""
        return [one for one in self.features if one.ranks[1 - side] is None]

    @property
    def both(self) -> list[FeatureDiff]:
        """The features of both results."""
        return [one for one in self.features if None not in one.ranks]


def compare_results(first: Path, second: Path) -> ResultDiff:
    """Compare two results.

    Parameters
    ----------
    first, second : Path
        Folders that ``rowsparse select`` wrote, or their result.json.

    Returns
    -------
    ResultDiff

    Raises
    ------
    InputError
        If one of them is no result of ``rowsparse select``.
    """
    a, b = _read(first), _read(second)
    return ResultDiff(
        names=(_name(first), _name(second)),
        settings=tuple(_settings(a, b)),
        features=tuple(_features(a, b)),
        scores=tuple(_scores(a, b)),
        outputs=(_outputs(a), _outputs(b)),
    )


def _name(path: Path) -> str:
    return str(path.parent if path.name == _RESULT_FILE else path)


def _read(path: Path) -> dict[str, Any]:
    file = path / _RESULT_FILE if path.is_dir() else path
    if not file.is_file():
        why = f"it has no {_RESULT_FILE}" if path.is_dir() else "there is no such folder"
        raise InputError(f"{shown(str(path))} is no result of rowsparse select: {why}.")
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
        lacking = [key for key in _KEYS if key not in record]
        if not lacking:
            _features(record, record)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        lacking = list(_KEYS)
    if lacking:
        raise InputError(
            f"{shown(str(path))} is no result of rowsparse select: its {_RESULT_FILE} is that of "
            "another command, or of another program."
        )
    found: dict[str, Any] = record
    return found


def _settings(a: dict[str, Any], b: dict[str, Any]) -> list[tuple[str, str, str]]:
    """What differs, as text."""
    found = []
    for part in ("settings", "data", "versions"):
        for key in dict.fromkeys([*a[part], *b[part]]):
            one, other = a[part].get(key), b[part].get(key)
            if one != other and key not in _NOT_SETTINGS:
                name = f"version of {key}" if part == "versions" else key.replace("_", " ")
                found.append((name, _text(one), _text(other)))
    return found


def _text(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(_text, value)) or "–"
    return str(value)


def _features(a: dict[str, Any], b: dict[str, Any]) -> list[FeatureDiff]:
    sides = [
        {item["name"]: (int(item["rank"]), _coefficients(item)) for item in side["features"]}
        for side in (a, b)
    ]
    found = []
    for name in dict.fromkeys([*sides[0], *sides[1]]):
        (rank, of), (other_rank, other_of) = (side.get(name, (None, ())) for side in sides)
        found.append(FeatureDiff(name, (rank, other_rank), (of, other_of)))

    def place(one: FeatureDiff) -> tuple[int, int]:
        rank, other = one.ranks
        if rank is not None and other is not None:
            return 0, rank
        return (1, rank) if rank is not None else (2, other or 0)

    return sorted(found, key=place)


def _coefficients(item: dict[str, Any]) -> tuple[float, ...]:
    return tuple(math.nan if value is None else float(value) for value in item["coefficients"])


def _outputs(record: dict[str, Any]) -> tuple[str, ...]:
    data = record["data"]
    return tuple(data["classes"] or data["targets"])


def _scores(a: dict[str, Any], b: dict[str, Any]) -> list[ScoreDiff]:
    metrics = (a["metric"], b["metric"])

    def pair(key: str) -> tuple[float, float]:
        first, second = a.get(key), b.get(key)
        return (
            math.nan if first is None else float(first),
            math.nan if second is None else float(second),
        )

    found = [
        ScoreDiff("selected features", metrics, pair("score"), pair("score_sd")),
        ScoreDiff("all features", metrics, pair("baseline_score")),
        ScoreDiff("guessing", metrics, pair("chance_score")),
    ]
    stability = [(side.get("stability") or [None])[0] for side in (a, b)]
    values = tuple(math.nan if value is None else float(value) for value in stability)
    found.append(ScoreDiff("stability", ("stability", "stability"), (values[0], values[1])))
    return [one for one in found if any(map(math.isfinite, one.values))]
