"""Files that are whole or absent."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file under a temporary name beside `path`, then rename it.

    A reader sees the old file or the whole new one, never a part.

    Parameters
    ----------
    path : Path
        The file to make; its folder has to exist.
    write : callable
        Called with the temporary path, whose suffix is that of `path`.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
