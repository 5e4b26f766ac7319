"""The packages that reports and figures need."""

from __future__ import annotations

from importlib.util import find_spec

__all__ = ["require_extra"]

_PACKAGES = {"jinja2": "Jinja2", "matplotlib": "matplotlib", "PIL": "Pillow"}


def require_extra() -> None:
    """Refuse to go on without the packages of the extra ``report``.

    Raises
    ------
    ImportError
        If one is not installed; the message names the extra to install.
    """
    missing = [name for module, name in _PACKAGES.items() if find_spec(module) is None]
    if missing:
        raise ImportError(
            f'Reports and figures need {missing[0]}: pip install "rowsparse[report]".'
        )
