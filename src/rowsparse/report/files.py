"""What every report needs: its packages or a clear refusal, and files that are whole or absent."""

from __future__ import annotations

from importlib.util import find_spec

from rowsparse._files import write_whole

__all__ = ["require_jinja2", "require_matplotlib", "write_whole"]


def require_matplotlib() -> None:
    """Refuse to go on without matplotlib.

    Raises
    ------
    ImportError
        If matplotlib is not installed; the message names the extra to install.
    """
    if find_spec("matplotlib") is None:
        raise ImportError('Figures need matplotlib: pip install "rowsparse[report]".')


def require_jinja2() -> None:
    """Refuse to go on without Jinja2.

    Raises
    ------
    ImportError
        If Jinja2 is not installed; the message names the extra to install.
    """
    if find_spec("jinja2") is None:
        raise ImportError('HTML reports need Jinja2: pip install "rowsparse[report]".')
