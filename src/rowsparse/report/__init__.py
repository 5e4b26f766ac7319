"""Reports and figures of results. Needs ``pip install "rowsparse[report]"``."""

from rowsparse.report.comparison import comparison_page
from rowsparse.report.digits import save_digits_figure
from rowsparse.report.files import require_jinja2, require_matplotlib, write_whole
from rowsparse.report.path import path_page
from rowsparse.report.selection import selection_page

__all__ = [
    "comparison_page",
    "path_page",
    "require_jinja2",
    "require_matplotlib",
    "save_digits_figure",
    "selection_page",
    "write_whole",
]
