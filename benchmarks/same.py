"""Whether two revisions give the same answers: ``python -m benchmarks.same --since REVISION``.

The settings of ``benchmarks/same_tasks.py`` run with the library of HEAD and of the revision, or of
two folders as they are (``--trees BEFORE AFTER``), a process each. A line for each setting says
"same" or what differs, floats with the largest difference relative to the largest of their array.
What only the later library has is no difference. Ends with 1 if anything differs.

``--save FILE`` keeps the answers of the first tree, and ``--against FILE`` reads them in its place;
the other is then the one folder of ``--trees``, or the folder of this file as it is.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from base64 import b64decode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.watch import ROOT, checked_out, run_in

TASKS_FILE = Path(__file__).with_name("same_tasks.py")
Answers = dict[str, Any]


# ----------------------------------------------------------------------------- the comparison
def differences(before: Any, after: Any, tolerance: float, name: str = "") -> Iterator[str]:
    """What differs between two values of JSON, with its name; floats by more than a tolerance."""
    if before == after:
        return
    if is_array(before) and is_array(after):
        yield from array_differences(before, after, tolerance, name)
    elif isinstance(before, dict) and isinstance(after, dict) and not is_array(before | after):
        if "error" in after and "error" not in before:
            yield f"error: {after['error']}"
            return
        for key, value in before.items():
            inner = f"{name}.{key}".removeprefix(".")
            if key in after:
                yield from differences(value, after[key], tolerance, inner)
            else:
                yield f"{inner} is gone: {shown(value)}"
        if "warnings" in after and "warnings" not in before:
            yield f"warnings: {after['warnings']}"
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for i, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from differences(old, new, tolerance, f"{name}[{i}]")
    else:
        yield f"{name}: {shown(before)} became {shown(after)}"


def array_differences(
    before: Answers, after: Answers, tolerance: float, name: str
) -> Iterator[str]:
    old, new = decoded(before), decoded(after)
    if old.dtype != new.dtype or old.shape != new.shape:
        yield f"{name}: {old.dtype} {old.shape} became {new.dtype} {new.shape}"
    elif old.dtype.kind == "f":
        largest = relative_difference(old, new)
        if tolerance == 0 or largest > tolerance:
            yield f"{name} by {largest:.1e}"
    elif old.size <= 10:
        yield f"{name}: {old.tolist()} became {new.tolist()}"
    else:
        yield f"{name}: {np.count_nonzero(old != new)} of {old.size}"


def relative_difference(old: np.ndarray, new: np.ndarray) -> float:
    """The largest difference as a share of the largest number; infinite where one is no number."""
    both = np.isfinite(old) & np.isfinite(new)
    if not np.array_equal(old[~both], new[~both], equal_nan=True):
        return np.inf
    if not both.any():
        return 0.0
    old, new = old[both].astype(np.float64), new[both].astype(np.float64)
    scale = max(np.abs(old).max(), np.abs(new).max())
    return float(np.abs(old - new).max() / scale) if scale else 0.0


def is_array(value: Any) -> bool:
    return isinstance(value, dict) and "dtype" in value and "data" in value


def decoded(array: Answers) -> np.ndarray:
    return np.frombuffer(b64decode(array["data"]), array["dtype"]).reshape(array["shape"])


def shown(value: Any) -> str:
    return str(decoded(value).tolist() if is_array(value) else value)[:200]


def report(before: Answers, after: Answers, tolerance: float) -> Iterator[tuple[bool, str]]:
    """For each setting, whether it is the same, and its line."""
    for name in before:
        if name not in after:
            yield False, f"{name}: was not run"
            continue
        found = list(differences(before[name], after[name], tolerance))
        yield not found, f"{name}: {'; '.join(found) or 'same'}"


# -------------------------------------------------------------------------------- the two trees
def answers(tree: Path, parts: list[str]) -> Answers:
    """The answers of the library of a work tree to the settings of this file's folder."""
    print(f"running {tree}", file=sys.stderr, flush=True)
    known: Answers = run_in(tree.resolve(), TASKS_FILE, *parts)
    return known


def settings_digest() -> str:
    return sha256(TASKS_FILE.read_bytes()).hexdigest()


def save(file: Path, known: Answers) -> None:
    content = {"settings": settings_digest(), "answers": known}
    file.write_text(json.dumps(content), encoding="utf-8")


def saved(file: Path) -> Answers:
    content = json.loads(file.read_text(encoding="utf-8"))
    if content["settings"] != settings_digest():
        raise ValueError(f"{file} has answers to other settings: save them again.")
    known: Answers = content["answers"]
    return known


def both_answers(options: argparse.Namespace) -> tuple[Answers, Answers | None]:
    """The answers before and after; None after where they are only to be saved."""
    only = options.only or []
    if options.since:
        with (
            tempfile.TemporaryDirectory(prefix="rowsparse-same-") as folder,
            checked_out(options.since, Path(folder) / "before") as old,
            checked_out("HEAD", Path(folder) / "after") as new,
        ):
            return answers(old, only), answers(new, only)
    trees = options.trees or [ROOT]
    if options.against:
        after = answers(trees[-1], only)
        known = saved(options.against)
        return {name: known[name] for name in known if name in after or not only}, after
    return answers(trees[0], only), answers(trees[1], only) if len(trees) == 2 else None


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.same",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--since", help="revision to compare HEAD with")
    parser.add_argument("--trees", type=Path, nargs="+", help="folders to compare as they are")
    parser.add_argument("--only", action="append", help="part of the names of settings to run")
    parser.add_argument("--tolerance", type=float, default=0.0, help="of floats; 0 is bit by bit")
    parser.add_argument("--save", type=Path, help="file for the answers of the first tree")
    parser.add_argument("--against", type=Path, help="file with the answers of the first tree")
    options = parser.parse_args(arguments)
    n_trees = len(options.trees or [])
    if n_trees > 2 or (options.since and (n_trees or options.against)):
        parser.error("give --since REVISION, or --trees with two folders at most")
    if options.against and (n_trees == 2 or options.save):
        parser.error("--against takes the place of the first folder: give one, and no --save")
    if not (options.since or options.against or options.save or n_trees == 2):
        parser.error("give --since REVISION, --trees BEFORE AFTER, --save FILE or --against FILE")
    return options


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    try:
        before, after = both_answers(options)
    except (ValueError, OSError, subprocess.CalledProcessError) as error:
        print(error, file=sys.stderr)
        return 2
    if options.save:
        save(options.save, before)
        print(f"{len(before)} answers are in {options.save}.")
    if after is None:
        return 0
    n_same = 0
    for is_same, line in report(before, after, options.tolerance):
        n_same += is_same
        print(line)
    print(f"{n_same} of {len(before)} settings are the same.")
    return 0 if n_same == len(before) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
