"""The tables of docs/field.md, from the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import Any

from benchmarks.field.cases import (
    ASSUMED,
    FILTERS,
    GROWTH,
    GROWTH_STEPS,
    L21,
    PROVERS,
    RFS,
    SUBSETS,
    TOPK,
)
from benchmarks.field.results import FAILED, Results, Setting
from benchmarks.tables import Table


def brief(value: float | None) -> str:
    """A positive number with two digits, or more before the point; nothing for None."""
    if value is None:
        return ""
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def times(values: Sequence[float]) -> str:
    """A median of ratios with their range."""
    if len(values) < 2:
        return "".join(map(brief, values))
    return f"{brief(median(values))} ({brief(min(values))} to {brief(max(values))})"


def _table(title: str, columns: Sequence[str], rows: list[dict[str, Any]], *notes: str) -> Table:
    return Table(title, dict.fromkeys(columns, ""), rows, notes=list(notes))


# ------------------------------------------------------------------------------- objectives
def objective_summary(results: Results) -> Table:
    settings = results.settings("objective")
    excess = {s: results.excess("objective", s, SUBSETS) for s in settings}
    rows = []
    for method in SUBSETS:
        done = [100 * e[method] for e in excess.values() if method in e]
        if not done:
            continue
        row = {"method": method, "done": f"{len(done)} of {len(settings)}"}
        row |= {"lowest in": str(sum(value == 0 for value in done))}
        row |= {"median above the lowest, %": f"{median(done):.2f}", "most, %": f"{max(done):.2f}"}
        row["seconds / TopK's"] = times(results.ratios("objective", TOPK, method))
        rows.append(row)
    return _table(
        "Lowest ||Y - XW||² with k features, no ridge, over all sets and k.",
        list(rows[0]) if rows else [],
        rows,
        "Lowest in: settings whose objective no other method undercuts. Above the lowest: in per "
        "cent of the objective without features. Seconds: median and range.",
    )


def _outcome(results: Results, part: str, setting: Setting, method: str) -> str:
    row = results.row(part, setting, method)
    return row["outcome"] if row else "not run"


def penalty_table(results: Results, part: str) -> Table:
    """l2,1 problems: seconds and duality gaps or objectives."""
    methods, label = (L21, "share") if part == "l21" else (RFS, "gamma")
    rows = []
    for setting in results.settings(part):
        name, _, parameter = setting
        row = {"data": name, label: f"{parameter:g}"}
        for method in methods:
            value = results.done(part, setting, method, "objective")
            took = results.done(part, setting, method)
            cell = _outcome(results, part, setting, method)
            if value is not None:
                cell = f"{value:.8g}; {brief(took)} s"
                bound = results.done(part, setting, method, "bound")
                cell += "" if bound is None else f"; gap {1 - bound / value:.0e}"
            row[method] = cell
        rows.append(row)
    title = "Least squares with an l2,1 penalty." if part == "l21" else "RFS."
    return _table(title, ["data", label, *methods], rows)


# ----------------------------------------------------------------------------------- proofs
def proof_summary(results: Results) -> Table:
    ours = results.proven(TOPK)
    rows = []
    for method in PROVERS:
        run = [s for s in results.settings("proofs") if results.row("proofs", s, method)]
        ended = [results.proof(setting, method)[0] for setting in run]
        proven = results.proven(method)
        both = [proven[s] / ours[s] for s in proven if s in ours]
        row = {"method": method, "run": str(len(run)), "proven": str(len(proven))}
        row["also by TopK"] = str(len(both))
        row["seconds / TopK's"] = times(both)
        row["out of time"] = str(ended.count("out of time"))
        row["failed"] = str(sum(how in FAILED for how in ended))
        row["another k"] = str(sum(how.endswith("features") for how in ended))
        row["wrong"] = str(ended.count("wrong"))
        rows.append(row)
    return _table(
        "Who proves what: single target, a gap of 1e-4 of the objective.",
        list(rows[0]),
        rows,
        f"{ASSUMED}: its proof holds only if no coefficient exceeds 1.2 times the largest one of "
        "the start, which it does not check. Seconds: median and range where both prove. Another "
        "k: at the price of a feature that it was given, another number of features is best. "
        "Wrong: called optimal, but another method has a lower objective.",
    )


def proof_table(results: Results) -> Table:
    rows = []
    for setting in results.settings("proofs"):
        name, k, ridge = setting
        row = {
            "problem": name,
            "n x d": _size(results, setting),
            "k": str(k),
            "ridge": f"{ridge:g}",
        }
        for method in PROVERS:
            how, figure = results.proof(setting, method)
            if how == "proven":
                row[method] = f"**{brief(figure)} s**"
            elif figure is not None:
                row[method] = f"gap {brief(100 * figure)} %"
            else:
                row[method] = how
        rows.append(row)
    return _table(
        "Seconds of a proof, or the gap that is left.",
        ["problem", "n x d", "k", "ridge", *PROVERS],
        rows,
    )


def _size(results: Results, setting: Setting) -> str:
    rows = (results.row("proofs", setting, method) for method in PROVERS)
    known = next((row for row in rows if row and row["n"]), None)
    return f"{known['n']} x {known['d']}" if known else ""


# ---------------------------------------------------------------------------------- filters
def filter_table(results: Results) -> Table:
    rows = []
    for setting in results.settings("filters"):
        name, k, which = setting
        kind = list(FILTERS)[int(which)]
        ours = results.done("filters", setting, FILTERS[kind][0])
        for peer in FILTERS[kind][1:]:
            took = results.done("filters", setting, peer)
            row = {"filter": kind, "data": name, "ours s": brief(ours), "peer": peer}
            row["peer s"] = brief(took) or _outcome(results, "filters", setting, peer)
            row["peer / ours"] = brief(took / ours) if took and ours else ""
            same = results.done("filters", setting, peer, "same")
            row[f"same {k}"] = {None: "", 1.0: "yes", 0.0: "no"}[same]
            difference = results.done("filters", setting, peer, "difference")
            row["largest difference"] = "" if difference is None else f"{difference:.1e}"
            rows.append(row)
    return _table(
        "The same filter.",
        list(rows[0]) if rows else [],
        rows,
        "Same: the same features chosen. Largest difference: of scores, relative to the largest. "
        "Information gain cuts columns by description length, mutual information of scikit-learn "
        "searches neighbours: two estimators of one quantity. skrebate weighs all classes of "
        "misses alike, and skfeature divides by class weights where ReliefF multiplies and does "
        "not scale columns by their range: other weights by design.",
    )


# ----------------------------------------------------------------------------------- growth
def growth_table(results: Results) -> Table:
    rows = []
    for grows, steps in GROWTH_STEPS.items():
        place = "ndk".index(grows)
        row = {"grows": grows, "from": str(steps[0][place]), "to": str(steps[-1][place])}
        others = {n: steps[0][i] for i, n in enumerate("ndk") if n != grows}
        row["at"] = ", ".join(f"{name} = {value}" for name, value in others.items())
        for method in GROWTH:
            slope = results.exponent(steps, method)
            row[method] = "" if slope is None else f"{slope:.2f}"
        rows.append(row)
    columns = ["grows", "from", "to", "at", *GROWTH]
    return _table("Exponents: seconds grow as size to the power of ...", columns, rows)


TABLES: dict[str, tuple[Callable[[Results], Table], ...]] = {
    "objective": (objective_summary,),
    "l21": (partial(penalty_table, part="l21"),),
    "rfs": (partial(penalty_table, part="rfs"),),
    "proofs": (proof_summary,),
    "filters": (filter_table,),
    "growth": (growth_table,),
}
