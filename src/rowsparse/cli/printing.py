"""Results as tables on the terminal; names in the data are printed as text, on one line, cut."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rowsparse._names import shown

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from rowsparse.workflow.model import SavedModel
    from rowsparse.workflow.new_table import NewTable
    from rowsparse.workflow.proof_files import CheckedProof
    from rowsparse.workflow.results import (
        ComparisonResult,
        HoldoutScore,
        PathResult,
        SelectionResult,
    )

__all__ = [
    "make_console",
    "make_table",
    "make_text",
    "plain",
    "print_applied",
    "print_checked",
    "print_comparison",
    "print_path",
    "print_proof",
    "print_selection",
    "print_sentence",
]

# Further rows are in the files only.
_MOST_ROWS = 50
_ISOLATES = str.maketrans("", "", "\u2068\u2069")


def plain(text: object, width: int = 40) -> str:
    """Any text on one line of at most so many columns, without control characters."""
    return shown(text, width)


def print_selection(result: SelectionResult, out: Path, written: list[Path]) -> None:
    """The ranked features, and in three sentences what they are worth."""
    from rowsparse.report.numbers import decimal, fixed_format, p_value
    from rowsparse.report.words import EFFECT_WORDS, effect_words, picked_of

    console = make_console()
    table = make_table(f"{' '.join(picked_of(result))}, by {result.method}")
    table.add_column("Rank", justify="right")
    table.add_column("Feature", overflow="fold")
    table.add_column("Score", justify="right")
    table.add_column("Selected in", justify="right")
    if result.tests is not None:
        table.add_column(EFFECT_WORDS[result.tests.effect_name], justify="right")
        table.add_column("FDR", justify="right")
        table.add_column("By itself")
    as_score = fixed_format((feature.score for feature in result.features), 4)
    for feature in result.features[:_MOST_ROWS]:
        often = "" if feature.frequency is None else f"{100 * feature.frequency:.0f} %"
        often = "forced" if feature.is_forced else often
        cells = [str(feature.rank), plain(feature.name), as_score(feature.score), often]
        if result.tests is not None:
            cells += [decimal(_or_nan(feature.effect)), p_value(_or_nan(feature.fdr))]
            alone = effect_words(feature, result.tests)
            cells.append(plain(alone, 30) if alone else "")
        table.add_row(*map(make_text, cells))
    console.print(table)
    _more(console, len(result.features))
    if result.covariates:
        console.print(_covariates(result))
    for sentence in _sentences(result):
        print_sentence(console, sentence)
    _notes(console, result.data.notes)
    _files(console, out, written)


def _covariates(result: SelectionResult) -> Table:
    """The columns that are in every model, with their coefficients."""
    classes = result.data.classes
    # Of two classes the coefficients are opposite.
    names = classes[1:] if len(classes) == 2 else classes or result.data.targets
    table = make_table("In every model, and not counted")
    table.add_column("Covariate", overflow="fold")
    for name in names:
        table.add_column(make_text(plain(f"Coefficient of {name}")), justify="right")
    for feature in result.covariates[:_MOST_ROWS]:
        values = feature.coefficients[-len(names) :]
        table.add_row(make_text(plain(feature.name)), *map(_number, values))
    return table


def print_checked(result: CheckedProof) -> None:
    """What the check of a proof found, in a few sentences."""
    from rowsparse.report.numbers import percent_up

    console = make_console()
    proof, checked = result.proof, result.checked
    if checked is None:
        print_sentence(
            console,
            "This is another table than the one that the proof is about: "
            f"{plain(result.difference, 400)}.",
        )
        return
    print_sentence(console, checked.statement)
    print_sentence(
        console,
        f"Chosen: {plain(', '.join(result.features), 400)}. Their objective is "
        f"{checked.objective:.10g}: that of others can be lower by {percent_up(checked.gap)} at "
        "most.",
    )
    how = "in exact arithmetic" if checked.exact else "with rounding errors counted against it"
    steps = f"All {checked.n_steps:,} steps of the proof were checked against the table, {how}"
    if result.holds:
        print_sentence(console, f"{steps}.")
    else:
        claim = f"{proof.lower_bound:.10g} as a bound and {proof.objective:.10g} as the objective"
        print_sentence(console, f"{steps}; they do not give what it claims: {claim}.")


def print_applied(
    model: SavedModel, table: NewTable, out: Path, written: Path, holdout: HoldoutScore | None
) -> None:
    """What a model made of another table."""
    from rowsparse._text import counted
    from rowsparse.report.score_words import holdout_sentence
    from rowsparse.workflow.messages import quoted

    console = make_console()
    n_columns = counted(len(model.columns), "column")
    if written.stem == "predictions":
        what = f"predicted from {n_columns} by the {model.judge.name} of the selection"
    else:
        what = f"reduced to {n_columns}, selected by {model.method}"
    print_sentence(console, f"{counted(table.n_rows, 'row')} of {plain(table.source)}: {what}.")
    if holdout is not None:
        print_sentence(console, holdout_sentence(holdout))
    unused = model.check_columns(table)
    if unused:
        _notes(console, (f"Not used by the model: {quoted(unused)}.",))
    _files(console, out, [written])


def print_proof(path: Path, data: Path) -> None:
    """Where a proof is, and how to check it."""
    command = shlex.join(["rowsparse", "verify", str(path), str(data)])
    print_sentence(
        make_console(), f"The proof is in {plain(str(path), 200)}; to check it: {command}"
    )


def _sentences(result: SelectionResult) -> list[str]:
    from rowsparse.report import score_words
    from rowsparse.report.numbers import metric_name, score
    from rowsparse.report.search_words import certificate_sentence
    from rowsparse.report.words import stability_sentence

    sentences = [score_words.score_sentence(result)]
    if result.covariates and not math.isnan(result.covariate_score):
        name, value = metric_name(result.metric), score(result.metric, result.covariate_score)
        sentences.append(f"With the covariates alone, the {name} is {value}.")
    if result.holdout is not None:
        sentences.append(score_words.holdout_sentence(result.holdout))
    if result.curve is not None:
        sentences.append(score_words.curve_sentence(result.curve))
    if result.stability is not None:
        sentences.append(stability_sentence(result))
    return [*sentences, certificate_sentence(result.certificate, result.k, result.method)]


def print_comparison(result: ComparisonResult, out: Path, written: list[Path]) -> None:
    """Score, stability, redundancy and time of every method and number of features."""
    from rowsparse.report.numbers import best_word, metric_name
    from rowsparse.report.score_words import verdict_words

    curve, console = result.curve, make_console()
    metric = curve.metrics[0]
    mean, sd = curve.mean(metric), curve.sd(metric)
    repeats, seconds = curve.mean("redundancy"), curve.mean("seconds")
    title = f"{metric_name(metric)} of {curve.estimators[0]} on held-out folds"
    table = make_table(title)
    table.add_column("Method", style="bold")
    for heading in ("k", "Score", "Stability", "Redundancy", "Seconds"):
        table.add_column(heading, justify="right")
    word = best_word(metric)
    top = np.nanmin if word == "lowest" else np.nanmax
    best = top(mean, axis=0) if np.isfinite(mean).any() else np.full(len(curve.ks), np.nan)
    for i, name in enumerate(curve.selectors):
        for j, k in enumerate(curve.ks):
            if not math.isfinite(mean[i, j]):
                table.add_row(make_text(name), str(k), "failed", "", "", "")
                continue
            text = f"{mean[i, j]:.3f} ± {sd[i, j]:.3f}"
            table.add_row(
                make_text(name),
                str(k),
                make_text(text, "bold" if mean[i, j] == best[j] else ""),
                _fixed(curve.stability(name, k)[0]),
                _fixed(repeats[i, j]),
                f"{seconds[i, j]:.3f}",
            )
        table.add_section()
    console.print(table)
    if result.verdict is not None:
        print_sentence(console, f"The {word} score is {verdict_words(result.verdict)}.")
    _notes(console, result.data.notes)
    _files(console, out, written)


def print_path(result: PathResult, out: Path, written: list[Path]) -> None:
    """Objective, score, and the features that enter and leave at each k."""
    from rowsparse.report.numbers import metric_name
    from rowsparse.report.score_words import curve_sentence, verdict_sentence

    console, curve = make_console(), result.curve
    table = make_table(f"The best features for every k up to {result.ks[-1]}")
    for heading in ("k", "Objective", metric_name(curve.metric)):
        table.add_column(heading, justify="right")
    table.add_column("In", overflow="fold")
    table.add_column("Out", overflow="fold")
    scores = curve.by_k()
    before: set[int] = set()
    for at, k in enumerate(result.ks[:_MOST_ROWS]):
        now = set(result.supports[at].tolist())
        score = "{:.3f} ± {:.3f}".format(*scores[k]) if k in scores else ""
        table.add_row(
            str(k),
            _number(result.objectives[at]),
            make_text(score, "bold" if k == curve.chosen_k else ""),
            make_text(_names(result, now - before)),
            make_text(_names(result, before - now)),
        )
        before = now
    console.print(table)
    _more(console, len(result.ks))
    print_sentence(console, curve_sentence(curve) + verdict_sentence(result.verdict))
    _notes(console, result.data.notes)
    _files(console, out, written)


def _names(result: PathResult, columns: set[int]) -> str:
    return ", ".join(plain(result.names[j], 24) for j in sorted(columns))


# ------------------------------------------------------------------------------------- the parts
def make_console() -> Console:
    """Where the tables are printed."""
    from rich.console import Console

    return Console(highlight=False)


def make_table(title: str) -> Table:
    """A table without columns yet."""
    from rich.table import Table

    return Table(title=make_text(title), title_justify="left")


def make_text(text: str, style: str = "") -> Any:
    """Text that is not read as markup."""
    from rich.text import Text

    return Text(text.translate(_ISOLATES), style=style)


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.4g}"


def _fixed(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.3f}"


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def print_sentence(console: Console, sentence: str) -> None:
    """Print text as it is, on one line that the terminal may wrap."""
    console.print(make_text(sentence), soft_wrap=True)


def _more(console: Console, count: int) -> None:
    if count > _MOST_ROWS:
        print_sentence(console, f"… and {count - _MOST_ROWS:,} more in the files.")


def _notes(console: Console, notes: tuple[str, ...]) -> None:
    for note in notes:
        console.print(make_text(f"· {plain(note, 400)}", "dim"), soft_wrap=True)


def _files(console: Console, out: Path, written: list[Path]) -> None:
    names = ", ".join(path.name for path in written)
    print_sentence(console, f"Written to {plain(out, 200)}: {names}")
