"""The ``diff`` command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rowsparse.cli.outcome import DONE
from rowsparse.cli.printing import make_console, make_table, make_text, plain, print_sentence

if TYPE_CHECKING:
    from rowsparse.workflow.diff import ResultDiff

__all__ = ["run_diff"]

# Further rows are on the page only.
_MOST_ROWS = 60


def run_diff(first: Path, second: Path, *, out: Path | None, force: bool) -> int:
    """Compare two results of ``rowsparse select``, print what differs, and write a page."""
    from rowsparse.workflow.diff import compare_results
    from rowsparse.workflow.messages import InputError, setting, shown
    from rowsparse.workflow.result_folder import check_writable
    from rowsparse.workflow.writing import write_text

    diff = compare_results(first, second)
    if out is not None:
        from rowsparse.report import diff_page, require_extra

        if out.is_dir() or (out.exists() and not force):
            what = "is a folder" if out.is_dir() else "exists"
            raise InputError(
                f"{shown(str(out))} {what}: name another file with {setting('out')}"
                + ("." if out.is_dir() else f", or overwrite it with {setting('force')}.")
            )
        require_extra()
        check_writable(out.absolute().parent)
        out.absolute().parent.mkdir(parents=True, exist_ok=True)
        write_text(out, diff_page(diff))
    _print(diff)
    if out is not None:
        print_sentence(make_console(), f"Written to {plain(out, 200)}")
    return DONE


def _print(diff: ResultDiff) -> None:
    from rowsparse.report.diff import coefficient_words, diff_sentences, score_words

    console = make_console()
    a, b = (plain(name, 24) for name in diff.names)
    scores = make_table("Scores")
    for heading in ("", a, b):
        scores.add_column(make_text(heading), justify="right" if heading else "left")
    for score in diff.scores:
        scores.add_row(score.name, *(make_text(score_words(score, side)) for side in (0, 1)))
    features = make_table("Features")
    features.add_column("Feature", overflow="fold")
    for heading in (f"Rank in {a}", "Coefficient", f"Rank in {b}", "Coefficient"):
        features.add_column(make_text(heading), justify="right")
    for one in diff.features[:_MOST_ROWS]:
        cells = [plain(one.name)]
        for side in (0, 1):
            rank = one.ranks[side]
            cells += ["" if rank is None else str(rank)]
            cells += [coefficient_words(one, side, diff.outputs[side])]
        features.add_row(*map(make_text, cells))
    settings = make_table("What differs in settings, data and versions")
    for heading in ("", a, b):
        settings.add_column(make_text(heading), overflow="fold")
    for name, *values in diff.settings:
        settings.add_row(*(make_text(plain(text, 60)) for text in (name, *values)))
    for table in (settings, scores, features):
        if table.rows:
            console.print(table)
    if len(diff.features) > _MOST_ROWS:
        print_sentence(console, f"… and {len(diff.features) - _MOST_ROWS:,} more.")
    for sentence in diff_sentences(diff):
        print_sentence(console, sentence)
