"""The ``demo`` command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rowsparse.cli.outcome import DONE

if TYPE_CHECKING:
    from rich.table import Table

    from rowsparse.demo import DigitsDemo

__all__ = ["run_demo"]


def run_demo(out: Path, k: int) -> int:
    """Check the input, run the demo, print the table and write the picture."""
    from rich.console import Console

    from rowsparse.demo import check_k, run_digits
    from rowsparse.report import require_extra, save_digits_figure
    from rowsparse.workflow.result_folder import check_writable

    check_k(k)
    require_extra()
    check_writable(out)
    with Console(stderr=True).status("Loading the digits") as status:
        result = run_digits(k, progress=lambda name: status.update(f"Picking pixels: {name}"))
    console = Console()
    console.print(_table(result))
    out.mkdir(parents=True, exist_ok=True)
    picture = out / "digits.png"
    save_digits_figure(result, picture)
    console.print(f"Picture: {picture}", soft_wrap=True, markup=False, highlight=False)
    return DONE


def _table(result: DigitsDemo) -> Table:
    """Lay the rows out as a table for the terminal."""
    from rich.table import Table

    table = Table(title=f"{result.k} of 64 pixels of the handwritten digits", title_justify="left")
    table.add_column("Method", style="bold", no_wrap=True)
    table.add_column("Paper", no_wrap=True)
    for heading in ("Selected", "Seconds", "Objective", "Accuracy, %"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in result.rows:
        if not row.paper:
            table.add_section()
        table.add_row(
            row.method,
            row.paper,
            str(row.n_selected),
            "" if row.seconds is None else f"{row.seconds:.3f}",
            f"{row.objective:.1f}",
            f"{100 * row.accuracy:.1f} ± {100 * row.accuracy_sd:.1f}",
        )
    table.caption = (
        "Objective: squared error of least squares refitted on the pixels, without a ridge; "
        "TopK minimises it with alpha = 0. "
        "Accuracy: linear SVM, 5 folds, pixels picked inside each fold."
    )
    table.caption_justify = "left"
    return table
