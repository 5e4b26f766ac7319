"""Starts the runs one after another and keeps a row of each in a CSV file."""

from __future__ import annotations

import csv
import json
import os
import select
import signal
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import environment, peers
from benchmarks.field.cases import Case
from benchmarks.field.child import OUT_OF_TIME, run_in_child
from benchmarks.field.clocks import wall_clock
from benchmarks.field.provers import PREPARED, prepare
from benchmarks.field.rows import ENVIRONMENT, FIELDS, key_of, read_rows

# Wall seconds of a run, in processor seconds of its limit: a busy machine is slower.
_PATIENCE = 12


def run_cases(cases: Sequence[Case], path: Path, limit: float, memory: int) -> None:
    """Run what has no row yet; each row is written as soon as it is known."""
    rows = read_rows(path)
    begun = [float(row["parameter"]) for row in rows if row["part"] == ENVIRONMENT]
    if begun and begun[0] != limit:
        raise ValueError(
            f"{path} was begun with a limit of {begun[0]:g} s, not {limit:g}: give that one, or "
            "another folder."
        )
    done = {key_of(row) for row in rows if row["part"] != ENVIRONMENT}
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if not rows:
            writer.writeheader()
            writer.writerow(_environment_row(limit, memory))
        for case in cases:
            if case.key in done:
                continue
            row = run_case(case, limit, memory)
            writer.writerow(row)
            file.flush()
            print(*case.key, row["outcome"], row.get("seconds", ""), flush=True)


def run_case(case: Case, limit: float, memory: int) -> dict[str, Any]:
    """The row of a case, run in a process of its own."""
    if case.method in PREPARED:
        prepare(case.method)
    receive, send = os.pipe()
    child = os.fork()
    if not child:
        os.close(receive)
        run_in_child(case, limit, memory, send)
        os._exit(0)
    os.close(send)
    output = _read_all(receive, child, wall_clock() + _PATIENCE * limit)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    figures: dict[str, Any] = {}
    for line in output.splitlines():
        figures |= json.loads(line)
    return asdict(case) | _rounded(figures) | how_it_ended(code, figures)


def _read_all(receive: int, child: int, end: float) -> str:
    """What the child writes until it ends; past the end of patience it is killed."""
    parts: list[bytes] = []
    with os.fdopen(receive, "rb", buffering=0) as pipe:
        while True:
            if not select.select([pipe], [], [], max(end - wall_clock(), 0.0))[0]:
                os.kill(child, signal.SIGKILL)
            part = pipe.read(65536)
            if not part:
                return b"".join(parts).decode()
            parts.append(part)


def how_it_ended(code: int, figures: dict[str, Any]) -> dict[str, str]:
    """The outcome, from the exit status where the process could not say it."""
    if code == 0:
        return {"outcome": figures["outcome"]}
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        return {"outcome": OUT_OF_TIME}
    name = signal.Signals(-code).name if code < 0 else f"exit status {code}"
    return {"outcome": "crashed", "note": name}


def _rounded(figures: dict[str, Any]) -> dict[str, Any]:
    digits = {"seconds": 4, "objective": 10, "bound": 10, "difference": 2}
    return {
        name: float(f"{value:.{digits[name]}g}") if name in digits and value is not None else value
        for name, value in figures.items()
    }


def _environment_row(limit: float, memory: int) -> dict[str, Any]:
    described = environment.describe(peers.DISTRIBUTIONS | peers.FIELD_DISTRIBUTIONS)
    note = environment.summary(described)
    empty = Case(ENVIRONMENT, "", 0, limit, "")
    return asdict(empty) | {"outcome": "done", "memory": memory // 2**20, "note": note}
