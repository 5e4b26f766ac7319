"""Moments in NPZ files, without pickle."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rowsparse._files import UnreadableFileError, write_whole
from rowsparse._npz import read_npz
from rowsparse.moments.growing_targets import GrowingTargets
from rowsparse.moments.statistics import Statistics

__all__ = ["Stored", "read_moments_file", "write_moments_file"]

# The version of the files that are written.
_FORMAT = 2
_NUMBERS = (
    "x_origin",
    "y_origin",
    "x_shift",
    "y_shift",
    "x_square",
    "x_error",
    "y_error",
    "xy",
    "yy",
    "x_low",
    "x_high",
    "y_low",
    "y_high",
    "group_scatter",
)
_NEEDED = (*_NUMBERS, "format", "counts", "task", "flags")
_OPTIONAL = ("xx", "classes", "names")
_PLAIN_KINDS = "biufUS"


class Stored(NamedTuple):
    """What a file holds: the task as it was asked for, and the rest of Moments."""

    task: str
    targets: GrowingTargets
    statistics: Statistics
    names: NDArray[Any] | None


def write_moments_file(path: Path, stored: Stored) -> None:
    """Write an NPZ file, whole or not at all."""
    found, targets = stored.statistics, stored.targets
    arrays: dict[str, Any] = {name: getattr(found, name) for name in _NUMBERS}
    arrays |= {
        "format": np.array(_FORMAT),
        "counts": np.array([found.n_rows, found.weight, targets.n_numbers], dtype=np.float64),
        "task": np.array([stored.task, targets.task]),
        "flags": np.array([targets.single_output, targets.guessed]),
    }
    if found.xx is not None:
        arrays["xx"] = found.xx
    if targets.classes is not None:
        arrays["classes"] = _plain(targets.classes)
    if stored.names is not None:
        arrays["names"] = stored.names.astype(str)

    def write(to: Path) -> None:
        with to.open("wb") as file:
            np.savez(file, **arrays)

    write_whole(path, write)


def read_moments_file(path: Path) -> Stored:
    """Read what was written; every promise of the file is checked."""
    try:
        return _read(read_npz(path, (*_NEEDED, *_OPTIONAL))[0])
    except UnreadableFileError as error:
        raise UnreadableFileError(f"{path} {error}") from None


def _read(arrays: dict[str, NDArray[Any]]) -> Stored:
    if not arrays.keys() >= set(_NEEDED):
        raise UnreadableFileError("holds no Moments: write it with Moments.save.")
    if int(arrays["format"]) != _FORMAT:
        raise UnreadableFileError("was written by another version: gather the Moments again.")
    asked, task = arrays["task"].tolist()
    counts, flags = arrays["counts"].tolist(), arrays["flags"].tolist()
    targets = GrowingTargets(task, arrays.get("classes"), int(counts[2]), *flags)
    d, c = arrays["x_origin"].size, targets.width
    statistics = Statistics.empty(d, c, products="xx" in arrays, grouped=targets.grouped)
    statistics.n_rows, statistics.weight = int(counts[0]), counts[1]
    for name in (*_NUMBERS, "xx"):
        if name not in arrays:
            continue
        if arrays[name].shape != getattr(statistics, name).shape:
            raise UnreadableFileError(f"is damaged: its {name!r} has the wrong shape.")
        setattr(statistics, name, np.array(arrays[name], order="F" if name == "xx" else "C"))
    names = arrays["names"].astype(object) if "names" in arrays else None
    return Stored(asked, targets, statistics, names)


def _plain(classes: NDArray[Any]) -> NDArray[Any]:
    """Labels as text or numbers, which need no pickle."""
    plain = classes if classes.dtype.kind in _PLAIN_KINDS else np.array(classes.tolist())
    if plain.ndim != 1 or plain.dtype.kind not in _PLAIN_KINDS:
        raise ValueError("Moments can be saved if the classes are text or numbers only.")
    return plain
