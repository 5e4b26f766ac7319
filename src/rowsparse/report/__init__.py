"""Reports and figures of results. Needs ``pip install "rowsparse[report]"``."""

from rowsparse.report.comparison import comparison_page
from rowsparse.report.diff import diff_page
from rowsparse.report.digits import save_digits_figure
from rowsparse.report.extra import require_extra
from rowsparse.report.figures import comparison_figures, path_figures, selection_figures
from rowsparse.report.path import path_page
from rowsparse.report.selection import selection_page

__all__ = [
    "comparison_figures",
    "comparison_page",
    "diff_page",
    "path_figures",
    "path_page",
    "require_extra",
    "save_digits_figure",
    "selection_figures",
    "selection_page",
]
