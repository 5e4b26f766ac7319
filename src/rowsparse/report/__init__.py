"""Figures of results. Needs matplotlib: ``pip install "rowsparse[report]"``."""

from rowsparse.report.digits import save_digits_figure
from rowsparse.report.files import require_matplotlib, write_whole

__all__ = ["require_matplotlib", "save_digits_figure", "write_whole"]
