"""docs/field.md: what stands between its marks is written from the rows."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import median

from benchmarks.field.accuracy import Compared, compare
from benchmarks.field.cases import ASSUMED, FILTERS, L21, PARTS, RFS, SUBSETS, TOPK
from benchmarks.field.results import FAILED, Results
from benchmarks.field.rows import read_rows
from benchmarks.field.sections import TABLES, brief, proof_table, times
from benchmarks.suite import write_rows
from benchmarks.tables import Table

DOCS = Path(__file__).parents[2] / "docs"
# What each package did with each problem.
PROOFS = "field-proofs.csv"


def write_page(folder: Path) -> None:
    """Write field.md and its figures into the folder of field.csv; prose and league from docs/."""
    from benchmarks.field.figures import draw_all

    results = Results(read_rows(folder / "field.csv"))
    compared = compare(DOCS / "league.csv")
    page = (DOCS / "field.md").read_text(encoding="utf-8")
    (folder / "field.md").write_text(render(page, results, compared), encoding="utf-8")
    write_rows(folder / PROOFS, rows_of(proof_table(results)))
    draw_all(results, compared, folder)


def render(page: str, results: Results, compared: list[Compared]) -> str:
    """The page with every marked place filled."""
    parts = {part: [make(results) for make in TABLES[part]] for part in PARTS}
    parts["headline"] = [headline(results, compared)]
    for name, tables in parts.items():
        page = fill(page, name, "\n\n".join(table.markdown() for table in tables))
    page = fill(page, "better", "\n".join(f"- {line}" for line in where_a_peer_is_better(results)))
    return fill(page, "run", how_it_was_run(results))


def rows_of(table: Table) -> list[list[str]]:
    """Header and cells as they are written to a file."""
    return [[*table.formats], *([c.strip("*") for c in line] for line in table.cells(""))]


def fill(page: str, name: str, figures: str) -> str:
    """Replace what stands between the two marks of ``name``."""
    begin, end = f"<!-- figures: {name} -->", f"<!-- end: {name} -->"
    if begin not in page or end not in page:
        raise ValueError(f"the page has no marks '{begin}' and '{end}'")
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    return pattern.sub(lambda _: f"{begin}\n\n{figures}\n\n{end}", page)


def headline(results: Results, compared: list[Compared]) -> Table:
    """One line a question."""
    rows = [
        _lowest(results),
        _proofs(results),
        {
            "question": "proofs for several targets",
            "rowsparse": "TopK",
            "others": "none of these packages",
        },
        _race(results, "l21", "l2,1 least squares", L21),
        _race(results, "rfs", "RFS", RFS),
        *(_filter(results, kind) for kind in FILTERS),
        _accuracy(compared),
    ]
    formats = dict.fromkeys(("question", "rowsparse", "others"), "")
    return Table("In short.", formats, [row for row in rows if row])


def _lowest(results: Results) -> dict[str, str]:
    settings = results.settings("objective")
    shares = [results.excess("objective", setting, SUBSETS) for setting in settings]
    count = {m: sum(e.get(m) == 0 for e in shares) for m in SUBSETS}
    peers = ", ".join(f"{m} {count[m]}" for m in SUBSETS if not m.startswith(TOPK))
    ours = f"TopK {count[TOPK]} (no restarts: {count[SUBSETS[1]]})"
    return {"question": f"lowest objective, of {len(settings)}", "rowsparse": ours, "others": peers}


def _proofs(results: Results) -> dict[str, str]:
    def count(method: str) -> str:
        run = [s for s in results.settings("proofs") if results.row("proofs", s, method)]
        failed = sum(results.proof(s, method)[0] in FAILED for s in run)
        of = f"{len(run) - failed} that it can run" if failed else str(len(run))
        return f"{method} {len(results.proven(method))} of {of}"

    peers = ", ".join(map(count, results.rivals()))
    return {
        "question": f"proofs within {float(results.environment['parameter']):g} s",
        "rowsparse": count(TOPK),
        "others": f"{peers}; conditional: {count(ASSUMED)}",
    }


def _race(results: Results, part: str, question: str, methods: tuple[str, ...]) -> dict[str, str]:
    ours, *peers = methods
    ratios = {peer: results.ratios(part, ours, peer) for peer in peers}
    cells = [f"{peer} {times(ratio)}" for peer, ratio in ratios.items() if ratio]
    late = [peer for peer, ratio in ratios.items() if not ratio]
    cells += [f"{peer} not done" for peer in late]
    return {
        "question": f"{question}: seconds / ours",
        "rowsparse": f"{ours} 1",
        "others": ", ".join(cells),
    }


def _filter(results: Results, kind: str) -> dict[str, str]:
    ours, *peers = FILTERS[kind]
    cells = []
    for peer in peers:
        ratios = _filter_ratios(results, kind, peer)
        cells.append(f"{peer} {times(ratios)}" if ratios else f"{peer} not done")
    question = f"{kind}: seconds / ours"
    return {"question": question, "rowsparse": f"{ours} 1", "others": ", ".join(cells)}


def _filter_ratios(results: Results, kind: str, peer: str) -> list[float]:
    settings = [s for s in results.settings("filters") if list(FILTERS)[int(s[2])] == kind]
    pairs = [
        (results.done("filters", s, FILTERS[kind][0]), results.done("filters", s, peer))
        for s in settings
    ]
    return [theirs / ours for ours, theirs in pairs if ours and theirs]


def _accuracy(compared: list[Compared]) -> dict[str, str]:
    best = next(one for one in compared if one.peer and one.sets >= 20)
    return {
        "question": "accuracy inside the folds, 20 features",
        "rowsparse": "TopK, one start 0 points",
        "others": f"best with 20 sets or more: {best.name} {best.points:+.1f} points",
    }


# -------------------------------------------------------------------- where a peer is better
def where_a_peer_is_better(results: Results) -> list[str]:
    """A sentence for every kind of case in which a peer beats ours."""
    lines = [*_better_objectives(results), *_better_proofs(results)]
    for part, (ours, *peers) in (("objective", SUBSETS), ("l21", L21), ("rfs", RFS)):
        for peer in peers:
            ratios = results.ratios(part, ours, peer)
            less = [ratio for ratio in ratios if ratio < 1]
            if less and not peer.startswith(TOPK):
                where = {"objective": "k features", "l21": "l2,1 least squares", "rfs": "RFS"}[part]
                lines.append(
                    f"Time, {where}: {peer} takes less than {ours} in {len(less)} of "
                    f"{len(ratios)} settings, there {brief(median(less))} times its seconds "
                    "(median)."
                )
    for kind, (ours, *peers) in FILTERS.items():
        for peer in peers:
            less = [ratio for ratio in _filter_ratios(results, kind, peer) if ratio < 1]
            if less:
                lines.append(
                    f"Time, {kind}: {peer} takes less than {ours} on {len(less)} sets, down to "
                    f"{brief(min(less))} times its seconds."
                )
    return lines or ["Nowhere in these runs."]


def _better_objectives(results: Results) -> list[str]:
    lines = []
    for setting in results.settings("objective"):
        shares = results.excess("objective", setting, SUBSETS)
        winners = [m for m, e in shares.items() if e == 0 and not m.startswith(TOPK)]
        if shares.get(TOPK, 0) > 0 and winners:
            lines.append(
                f"Objective: {', '.join(winners)} on {setting[0]} with k = {setting[1]}, where "
                f"TopK is {brief(100 * shares[TOPK])} % above."
            )
    return lines


def _better_proofs(results: Results) -> list[str]:
    lines = []
    ours = results.proven(TOPK)
    for method in (*results.rivals(), ASSUMED):
        kind = "Conditional proofs" if method == ASSUMED else "Proofs"
        theirs = results.proven(method)
        alone = [s for s in theirs if s not in ours]
        faster = [s for s in theirs if s in ours and theirs[s] < ours[s]]
        if alone:
            names = "; ".join(f"{name}, k = {k}" for name, k, _ in alone)
            lines.append(f"{kind}: {method} proves what TopK does not in the time: {names}.")
        if faster:
            both = sum(s in ours for s in theirs)
            share = median(theirs[s] / ours[s] for s in faster)
            lines.append(
                f"{kind}: {method} takes less than TopK on {len(faster)} of {both} problems that "
                f"both prove, there {brief(share)} times its seconds (median)."
            )
    return lines


def how_it_was_run(results: Results) -> str:
    """Versions, limits, and what is missing."""
    row = results.environment
    missing = results.missing()
    lines = [
        f"Limits: {float(row['parameter']):g} processor seconds and {row['memory']} MiB of address "
        f"space a run. {len(results.by_key)} runs. Measured with {row['note']}"
    ]
    if missing:
        count = ", ".join(
            f"{sum(key[0] == part for key in missing)} of {part}"
            for part in PARTS
            if any(key[0] == part for key in missing)
        )
        lines.append(f"Not run yet: {len(missing)} runs ({count}).")
    return "\n\n".join(lines)
