"""The ``apply`` command."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rowsparse.cli.outcome import DONE
from rowsparse.cli.standard_input import input_file
from rowsparse.cli.table_commands import check_output

if TYPE_CHECKING:
    from rowsparse.cli.options import ApplyOptions

__all__ = ["run_apply"]


def run_apply(options: ApplyOptions) -> int:
    """``rowsparse apply``: reduce or predict a table with the model of a selection."""
    from rowsparse.cli.settings import reading_settings
    from rowsparse.workflow.model import SavedModel
    from rowsparse.workflow.new_table import open_table
    from rowsparse.workflow.reduced_table import write_columns
    from rowsparse.workflow.result_folder import result_folder
    from rowsparse.workflow.writing import write_predictions

    reading = reading_settings(options)
    check_output(options)
    model = SavedModel.load(options.result)
    with input_file(options.data) as path:
        table = open_table(path, reading)
        model.check_columns(table)
        score = None
        with result_folder(options.folder) as stage:
            if options.predict:
                written = write_predictions(stage, model, table, options.table_format)
                if set(model.targets) <= set(table.target_names):
                    from rowsparse.workflow.holdout import score_holdout

                    known = table.with_targets(model.targets)
                    score = score_holdout(model, known) if known.n_rows else None
            else:
                columns = {column.name for column in model.columns}
                wanted = {*columns, *model.targets, *model.identifiers_in(table)}
                written = write_columns(stage, path, wanted, reading, options.format)
    if options.json:
        from rowsparse.workflow.writing import applied_text

        sys.stdout.write(applied_text(model, table, options.folder / written.name, score))
    elif not options.quiet:
        from rowsparse.cli.printing import print_applied

        print_applied(model, table, options.folder, written, score)
    return DONE
