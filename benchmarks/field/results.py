"""What the rows say: figures by case, ratios, and which proofs hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from benchmarks.field.cases import ASSUMED, PROVERS, TOPK, all_cases
from benchmarks.field.rows import ENVIRONMENT, Row, key_of
from rowsparse.datasets import dataset_info

# Outcomes of a run that a package cannot do.
FAILED = ("failed", "crashed", "out of memory")
# Objectives closer than this share are equal.
SAME = 1e-6
# Of the objective: what a proof may leave open, with some room for rounding.
OPEN = 1.1e-4

Setting = tuple[str, int, float]


def number(row: Row | None, name: str) -> float | None:
    """A figure of a row; None where there is none."""
    return float(row[name]) if row and row[name] else None


@dataclass(frozen=True)
class Results:
    """The rows, by part, setting (problem, k, parameter) and method."""

    rows: Sequence[Row]

    @cached_property
    def by_key(self) -> dict[tuple[str, str, int, float, str], Row]:
        return {key_of(row): row for row in self.rows if row["part"] != ENVIRONMENT}

    @property
    def environment(self) -> Row:
        return next(row for row in self.rows if row["part"] == ENVIRONMENT)

    def settings(self, part: str) -> list[Setting]:
        """The settings of a part that have rows, in the order of the cases."""
        known = {key[:4] for key in self.by_key}
        cases = dict.fromkeys(case.key[:4] for case in all_cases() if case.part == part)
        return [key[1:] for key in cases if key in known]

    def row(self, part: str, setting: Setting, method: str) -> Row | None:
        return self.by_key.get((part, *setting, method))

    def done(self, part: str, setting: Setting, method: str, name: str = "seconds") -> float | None:
        """A figure of a run that was done."""
        row = self.row(part, setting, method)
        return number(row, name) if row and row["outcome"] == "done" else None

    def missing(self) -> list[tuple[str, str, int, float, str]]:
        """The keys of the cases that have not been run."""
        return [case.key for case in all_cases() if case.key not in self.by_key]

    # ------------------------------------------------------------------ objectives and times
    def excess(self, part: str, setting: Setting, methods: Sequence[str]) -> dict[str, float]:
        """By method: how far it is above the lowest, as a share of the objective of no feature."""
        found = {m: self.done(part, setting, m, "objective") for m in methods}
        known = {m: value for m, value in found.items() if value is not None}
        lowest = min(known.values(), default=0.0)
        above = {m: value - lowest for m, value in known.items()}
        total = _to_explain(setting[0])
        return {m: more / total if more > SAME * lowest else 0.0 for m, more in above.items()}

    def ratios(self, part: str, ours: str, theirs: str) -> list[float]:
        """Their seconds over ours, in every setting that both have done."""
        pairs = [
            (self.done(part, s, ours), self.done(part, s, theirs)) for s in self.settings(part)
        ]
        return [b / a for a, b in pairs if a and b]

    # --------------------------------------------------------------------------------- proofs
    def best_known(self, setting: Setting) -> float:
        """The lowest objective of k features that anyone found."""
        rows = [self.row("proofs", setting, method) for method in PROVERS]
        values = [number(r, "objective") for r in rows if r and r["features"] == str(setting[1])]
        return min((value for value in values if value is not None), default=np.inf)

    def proof(self, setting: Setting, method: str) -> tuple[str, float | None]:
        """How a proof ended, and its seconds if it holds or its gap (a share) if time was up."""
        row = self.row("proofs", setting, method)
        if row is None:
            return "not run", None
        objective, bound = number(row, "objective"), number(row, "bound")
        if row["outcome"] == "done":
            if row["features"] != str(setting[1]):
                return f"{row['features']} features", None
            if objective is None or objective > self.best_known(setting) * (1 + OPEN):
                return "wrong", None
            return "proven", number(row, "seconds")
        if row["outcome"] == "out of time" and objective and bound is not None:
            # Below 0, f(S) >= 0 is the better bound.
            return "out of time", 1 - max(bound, 0.0) / objective
        return row["outcome"], None

    def proven(self, method: str) -> dict[Setting, float]:
        """The seconds of every proof of a method that holds."""
        ended = {setting: self.proof(setting, method) for setting in self.settings("proofs")}
        return {s: t for s, (how, t) in ended.items() if how == "proven" and t is not None}

    def rivals(self) -> Iterator[str]:
        """Those whose proofs depend on no assumption."""
        return (method for method in PROVERS if method not in (TOPK, ASSUMED))

    # --------------------------------------------------------------------------------- growth
    def exponent(self, steps: Sequence[tuple[int, int, int]], method: str) -> float | None:
        """Slope of log seconds against log size, over the steps that were done."""
        sizes, seconds = [], []
        # One of n, d and k differs from step to step.
        grows = next(i for i in range(3) if steps[0][i] != steps[1][i])
        for n, d, k in steps:
            took = self.done("growth", (f"growing n={n} d={d}", k, 0.0), method)
            if took:
                sizes.append((n, d, k)[grows])
                seconds.append(took)
        if len(sizes) < 3:
            return None
        return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def _to_explain(dataset: str) -> float:
    """||Y - mean||_F^2 of the classes of a data set, a column for each.

    >>> round(_to_explain("srbct"), 2)
    59.98
    """
    sizes = dataset_info(dataset).class_sizes
    return sum(sizes) - sum(size**2 for size in sizes) / sum(sizes)
