"""One run in a forked process, with limits of processor time and memory.

Lines of JSON go into a pipe, later figures before earlier ones; what packages print goes nowhere.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import resource
import warnings
from time import process_time
from typing import Any, TextIO

from threadpoolctl import threadpool_limits

from benchmarks.field.cases import Case
from benchmarks.field.contests import CONTESTS, Contest
from benchmarks.field.problems import load_problem
from benchmarks.field.provers import proof_contest
from benchmarks.timing import Timed

OUT_OF_TIME = "out of time"
# Brief calls are repeated for so many seconds, at most so often, and their mean counts: under a
# limit of processor time the system counts it in steps of some milliseconds.
_SPELL, _REPEATS = 0.4, 100
# Processor seconds beyond the limit until the system ends the process.
_GRACE = 5.0
# What is not timed may take so many times the limit: data, what rivals are told, models.
_UNTIMED = 4


def run_in_child(case: Case, limit: float, memory: int, pipe: int) -> None:
    """Run the case and say how it ended; to be called after a fork."""
    out = os.fdopen(pipe, "w")
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    faulthandler.disable()
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    warnings.simplefilter("ignore")
    try:
        with threadpool_limits(1):
            _run(case, limit, out)
    except MemoryError:
        _write(out, {"outcome": "out of memory"})
    except Exception as error:
        text = " ".join(f"{type(error).__name__}: {error}".split())
        _write(out, {"outcome": "failed", "note": text[:160]})


def _run(case: Case, limit: float, out: TextIO) -> None:
    _limit_processor(_UNTIMED * limit)
    problem = load_problem(case.problem)
    (n, d), c = problem.X.shape, problem.Y.shape[1]
    _write(out, {"n": n, "d": d, "c": c, "outcome": OUT_OF_TIME})
    if case.part == "proofs":
        contest = proof_contest(case, problem, limit, lambda found: _write(out, _plain(found)))
    else:
        contest = CONTESTS[case.part](case, problem)
    _limit_processor(limit + _GRACE)
    seconds, value = _timed(contest)
    figures = _plain({"claimed": 1} | contest.judge(value)) | {"seconds": seconds}
    figures["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    _write(out, figures)


def _timed(contest: Contest) -> tuple[float, Any]:
    timed = Timed()
    # Packages that collect garbage do not pay for what was imported for others.
    gc.freeze()
    timed.run(contest.call)
    while contest.again and sum(timed.seconds) < _SPELL and len(timed.seconds) < _REPEATS:
        timed.run(contest.call)
    return sum(timed.seconds) / len(timed.seconds), timed.value


def _plain(figures: dict[str, Any]) -> dict[str, Any]:
    """Figures as JSON takes them; a proof that is not claimed has run out of time."""
    if "support" in figures:
        support = [int(j) for j in figures["support"]]
        figures |= {"support": " ".join(map(str, support)), "features": len(support)}
    return {"outcome": "done" if figures.pop("claimed") else OUT_OF_TIME} | figures


def _limit_processor(seconds: float) -> None:
    until = int(process_time() + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (until, resource.RLIM_INFINITY))


def _write(out: TextIO, figures: dict[str, Any]) -> None:
    out.write(json.dumps(figures) + "\n")
    out.flush()
