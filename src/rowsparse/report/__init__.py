"""Reports and figures of results. Needs ``pip install "rowsparse[report]"``."""

from rowsparse.report.comparison import comparison_charts, comparison_page
from rowsparse.report.page import require_extra
from rowsparse.report.path_page import path_charts, path_page
from rowsparse.report.selection import selection_charts, selection_page

__all__ = [
    "comparison_charts",
    "comparison_page",
    "path_charts",
    "path_page",
    "require_extra",
    "selection_charts",
    "selection_page",
]
