"""The ``apply`` command."""

from __future__ import annotations

from pathlib import Path

from rowsparse.cli.options import default_folder
from rowsparse.cli.outcome import DONE

__all__ = ["run_apply"]


def run_apply(
    result: Path, data: Path, *, predict: bool, out: Path | None, force: bool, quiet: bool
) -> int:
    """Reduce or predict a table with the model of a selection, and print what was done."""
    from rowsparse.workflow.model import SavedModel
    from rowsparse.workflow.new_table import open_table
    from rowsparse.workflow.reduced_table import write_columns
    from rowsparse.workflow.result_folder import check_folder, result_folder
    from rowsparse.workflow.writing import write_predictions

    folder = out or default_folder(data, "apply")
    check_folder(folder, data, force=force)
    model = SavedModel.load(result)
    table = open_table(data)
    model.check_columns(table)
    score = None
    with result_folder(folder) as stage:
        if predict:
            written = write_predictions(stage, model, table)
            if set(model.targets) <= set(table.target_names):
                from rowsparse.workflow.holdout import score_holdout

                score = score_holdout(model, table)
        else:
            columns = {column.name for column in model.columns}
            written = write_columns(stage, data, {*columns, *model.targets, *model.identifiers})
    if not quiet:
        from rowsparse.cli.printing import print_applied

        print_applied(model, table, folder, written, score)
    return DONE
