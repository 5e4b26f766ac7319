"""Results as tables on the terminal; names in the data are printed as text, on one line, cut."""

from __future__ import annotations

import math
import os
import shlex
import stat
import sys
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rowsparse._names import display_width, pieces, shown
from rowsparse._text import counted
from rowsparse.report.comparison import method_rows, top_scores
from rowsparse.report.numbers import (
    best_word,
    decimal,
    fixed_format,
    metric_name,
    p_value,
    percent_up,
)
from rowsparse.report.words import (
    EFFECT_WORDS,
    alone_heading,
    alternatives_sentence,
    certificate_sentence,
    curve_sentence,
    effect_words,
    holdout_sentence,
    increase_words,
    picked_of,
    proven_sentence,
    score_sentence,
    stability_sentence,
    verdict_sentence,
    verdict_words,
)
from rowsparse.selectors.registry import SelectorInfo
from rowsparse.workflow.loading import Loaded
from rowsparse.workflow.messages import quoted
from rowsparse.workflow.model import SavedModel
from rowsparse.workflow.plan import find_method, list_methods
from rowsparse.workflow.results import (
    Alternatives,
    ComparisonResult,
    HoldoutScore,
    PathResult,
    SelectionResult,
)
from rowsparse.workflow.writing import CheckedProof

# Further rows are in the files only.
_MOST_ROWS = 50
# Columns of a line of a name.
_LINE = 16
# How columns are set, by what they hold.
_KINDS: dict[str, Any] = {
    "number": {"justify": "right"},
    "name": {"no_wrap": True, "overflow": "fold"},
    "text": {"overflow": "fold"},
}
_ISOLATES = str.maketrans("", "", "\u2068\u2069")


def _lines(name: str) -> str:
    """A name in lines of at most `_LINE` columns, broken after separators where it has any."""
    lines = [""]
    for piece in pieces(shown(name)):
        if lines[-1] and display_width(lines[-1] + piece) > _LINE:
            lines.append("")
        lines[-1] += piece
    return "\n".join(lines)


# ------------------------------------------------------------------------------------- the parts
class _Printer:
    """What is printed of a result: tables, sentences, notes, and the files that were written."""

    def __init__(self) -> None:
        self.console: Console = Console(highlight=False)

    def table(
        self, title: str, columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[Any]]
    ) -> None:
        """Print a table of columns, each a heading and a kind of `_KINDS`.

        A row without cells is a line; rows that are too many are counted.
        """
        table, n_rows = Table(title=_text(title), title_justify="left"), 0
        for heading, kind in columns:
            table.add_column(_text(heading), **_KINDS[kind])
        for row in rows:
            n_rows += bool(row)
            if not row:
                table.add_section()
            elif n_rows <= _MOST_ROWS:
                table.add_row(*(_text(cell) if isinstance(cell, str) else cell for cell in row))
        self.console.print(table)
        if n_rows > _MOST_ROWS:
            self.sentence(f"… and {n_rows - _MOST_ROWS:,} more in the files.")

    def sentence(self, text: str, style: str = "") -> None:
        """Print text as it is, on one line that the terminal may wrap."""
        self.console.print(_text(text, style), soft_wrap=True)

    def end(self, notes: Sequence[str], out: Path, written: list[Path]) -> None:
        """Print notes, and which files were written."""
        for note in notes:
            self.sentence(f"· {shown(note, 400)}", "dim")
        names = ", ".join(path.name for path in written)
        self.sentence(f"Written to {shown(out, 200)}: {names}")


def _text(text: str, style: str = "") -> Any:
    """Text that is not read as markup."""
    return Text(text.translate(_ISOLATES), style=style)


def _share(share: float) -> str:
    return f"{100 * share:.0f} %"


def _number(value: float, form: str = ".4g") -> str:
    return "" if math.isnan(value) else format(value, form)


# ---------------------------------------------------------------------------------- the results
def print_selection(result: SelectionResult, out: Path, written: list[Path]) -> None:
    """The ranked features, and in three sentences what they are worth."""
    printer, tests = _Printer(), result.tests
    columns = [("Rank", "number"), ("Feature", "name"), ("Score", "number")]
    columns += [("Selected in", "number")]
    if tests is not None:
        columns += [(EFFECT_WORDS[tests.effect_name], "number"), ("FDR", "number")]
        columns += [(alone_heading(tests), "text")]
    as_score = fixed_format((feature.score for feature in result.features), 4)
    rows = []
    for feature in result.features:
        often = "" if feature.frequency is None else _share(feature.frequency)
        often = "forced" if feature.is_forced else often
        row = [str(feature.rank), _lines(feature.name), as_score(feature.score), often]
        if tests is not None:
            row += [decimal(_or_nan(feature.effect)), p_value(_or_nan(feature.fdr))]
            words = effect_words(feature, tests)
            row.append(shown(words, 30) if words else "")
        rows.append(row)
    printer.table(f"{' '.join(picked_of(result))}, by {result.method}", columns, rows)
    if result.covariates:
        classes = result.data.classes
        # Of two classes the coefficients are opposite.
        names = classes[1:] if len(classes) == 2 else result.data.outputs
        printer.table(
            "In every model, and not counted",
            [("Covariate", "name"), *((shown(f"Coefficient of {it}"), "number") for it in names)],
            [
                [_lines(one.name), *map(_number, one.coefficients[-len(names) :])]
                for one in result.covariates
            ],
        )
    if result.alternatives is not None:
        _print_alternatives(printer, result.alternatives)
    for sentence in _sentences(result):
        printer.sentence(sentence)
    printer.end(result.data.notes, out, written)


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def _print_alternatives(printer: _Printer, near: Alternatives) -> None:
    """The features of the choices that are nearly as good, and what they are worth."""
    rows = []
    for one in near.features:
        copies = f" (or {len(one.copies)} like it)" if one.copies else ""
        often = "forced" if one.is_forced else "all" if one.verdict == "all" else _share(one.share)
        without = increase_words(one.cost_without, one.cost_without_exact)
        with_it = increase_words(one.cost_with, one.cost_with_exact)
        rows.append([_lines(one.name + copies), often, without, with_it])
    headings = ("In choices", "Loss without it", "Loss with it")
    printer.table(
        f"Features of {len(near.choices):,} choices within {100 * near.tolerance:.3g} % of the "
        "best",
        [("Feature", "name"), *((heading, "number") for heading in headings)],
        rows,
    )


def _sentences(result: SelectionResult) -> list[str]:
    sentences = [score_sentence(result)]
    if result.holdout is not None:
        sentences.append(holdout_sentence(result.holdout))
    if result.curve is not None:
        sentences.append(curve_sentence(result.curve))
    if result.stability is not None:
        sentences.append(stability_sentence(result))
    sentences.append(certificate_sentence(result.certificate, result.k, result.method))
    if result.alternatives is not None:
        sentences.append(alternatives_sentence(result.alternatives, result.data.n_features))
    return [*sentences, *filter(None, [proven_sentence(result)])]


def print_comparison(result: ComparisonResult, out: Path, written: list[Path]) -> None:
    """Score, stability, redundancy and time of every method and number of features."""
    curve, printer = result.curve, _Printer()
    metric, found = curve.metrics[0], method_rows(curve)
    top = top_scores(found)
    rows: list[list[Any]] = []
    for at, one in enumerate(found, start=1):
        row = [_text(one.method, "bold"), str(one.n_selected)]
        if math.isfinite(one.mean):
            score = f"{one.mean:.3f} ± {one.sd:.3f}"
            row.append(_text(score, "bold" if one.mean == top[one.k] else ""))
            row += [_number(it, ".3f") for it in (one.stability, one.redundancy, one.seconds)]
        else:
            row.append("failed")
        rows += [row, []] if at % len(curve.ks) == 0 else [row]
    headings = ("k", "Score", "Stability", "Redundancy", "Seconds")
    columns = [("Method", "text"), *((heading, "number") for heading in headings)]
    title = f"{metric_name(metric)} of {curve.estimators[0]} on held-out folds"
    printer.table(title, columns, rows)
    if result.verdict is not None:
        printer.sentence(f"The {best_word(metric)} score is {verdict_words(result.verdict)}.")
    printer.end(result.data.notes, out, written)


def print_path(result: PathResult, out: Path, written: list[Path]) -> None:
    """Objective, score, and the features that enter and leave at each k."""
    printer, curve = _Printer(), result.curve
    scores, rows = curve.by_k(), []
    supports = [set[int](), *(set(support.tolist()) for support in result.supports)]
    steps = zip(result.ks, result.objectives, pairwise(supports), strict=True)
    for k, objective, (before, now) in steps:
        score = "{:.3f} ± {:.3f}".format(*scores[k]) if k in scores else ""
        changed = [
            ", ".join(shown(result.names[j], 24) for j in sorted(some))
            for some in (now - before, before - now)
        ]
        bold = "bold" if k == curve.chosen_k else ""
        rows.append([str(k), _number(objective), _text(score, bold), *changed])
    headings = ("k", "Objective", metric_name(curve.metric))
    columns = [*((it, "number") for it in headings), ("In", "text"), ("Out", "text")]
    printer.table(f"The best features for every k up to {result.ks[-1]}", columns, rows)
    printer.sentence(curve_sentence(curve) + verdict_sentence(result.verdict))
    printer.end(result.data.notes, out, written)


def print_checked(result: CheckedProof) -> None:
    """What the check of a proof found, in a few sentences."""
    printer = _Printer()
    proof, checked = result.proof, result.checked
    if checked is None:
        printer.sentence(
            "This is another table than the one that the proof is about: "
            f"{shown(result.difference, 400)}.",
        )
        return
    printer.sentence(checked.statement)
    printer.sentence(
        f"Chosen: {shown(', '.join(result.features), 400)}. Their objective is "
        f"{checked.objective:.10g}: that of others can be lower by {percent_up(checked.gap)} at "
        "most.",
    )
    how = "in exact arithmetic" if checked.exact else "with rounding errors counted against it"
    steps = f"All {checked.n_steps:,} steps of the proof were checked against the table, {how}"
    if result.holds:
        printer.sentence(f"{steps}.")
    else:
        claim = f"{proof.lower_bound:.10g} as a bound and {proof.objective:.10g} as the objective"
        printer.sentence(f"{steps}; they do not give what it claims: {claim}.")


def print_applied(
    model: SavedModel, table: Loaded, out: Path, written: Path, holdout: HoldoutScore | None
) -> None:
    """What a model made of another table."""
    printer = _Printer()
    n_columns = counted(len(model.columns), "column")
    if written.stem == "predictions":
        what = f"predicted from {n_columns} by the {model.judge.name} of the selection"
    else:
        what = f"reduced to {n_columns}, selected by {model.method}"
    printer.sentence(f"{counted(table.n_rows, 'row')} of {shown(table.source)}: {what}.")
    if holdout is not None:
        printer.sentence(holdout_sentence(holdout))
    unused = model.check_columns(table)
    notes = [f"Not used by the model: {quoted(unused)}."] if unused else []
    printer.end(notes, out, [written])


def print_proof(path: Path, data: Path) -> None:
    """Where a proof is, and how to check it."""
    command = shlex.join(["rowsparse", "verify", str(path), str(data)])
    _Printer().sentence(f"The proof is in {shown(str(path), 200)}; to check it: {command}")


# -------------------------------------------------------------------------- the list of the methods
# Least width of a terminal that shows all columns, and width of a file.
_WIDE, _FILE_WIDTH = 120, 150


def print_methods() -> None:
    """The registry as a table, of two columns on a narrow terminal."""
    table = Table(title="Methods for --method and --methods", title_justify="left")
    console, wide = _console()
    table.add_column("Name", style="bold", no_wrap=True)
    if wide:
        table.add_column("Kind", no_wrap=True)
        table.add_column("Targets", min_width=14)
        table.add_column("Reference", min_width=16)
        table.add_column("Needs")
    table.add_column("What it does", min_width=40)
    for name in list_methods():
        kind, targets, reference, need, summary = _facts(find_method(name))
        if wide:
            table.add_row(name, kind, targets, reference, need, summary)
            continue
        cited = "" if reference == "none" else reference
        facts = [kind, f"targets: {targets}", cited, need and f"needs {need}"]
        table.add_row(name, f"{summary}\n{'; '.join(filter(None, facts))}")
    console.print(table, markup=False)


def _facts(info: SelectorInfo) -> tuple[str, str, str, str, str]:
    """Kind, targets, reference, what has to be installed, and what a method does."""
    every = {"classification", "multilabel", "regression"}
    tasks = [task for task in info.tasks if task not in every]
    targets = ", ".join(["all", *tasks] if every.issubset(info.tasks) else info.tasks)
    if not info.supervised:
        targets = "none needed"
    return info.kind, targets, info.reference, _need(info), info.summary


def _need(info: SelectorInfo) -> str:
    """Which extra a method needs, and whether it is installed."""
    if info.extra is None:
        return ""
    return f"{info.extra} ({'installed' if info.is_installed else 'not installed'})"


def _console() -> tuple[Any, bool]:
    """A console, and whether it has room for all columns, as a file has.

    What is piped from a terminal is read there, as by ``less``.
    """
    console = Console(highlight=False)
    if not (console.is_terminal or _is_paged()):
        console = Console(highlight=False, width=max(console.width, _FILE_WIDTH))
    return console, console.width >= _WIDE


def _is_paged() -> bool:
    """Whether a program on the terminal reads what is printed, as far as one can tell."""
    try:
        is_pipe = stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)
    except (OSError, ValueError):  # a program has put another stream in its place
        return False
    return is_pipe and sys.stderr.isatty()
