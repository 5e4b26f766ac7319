"""Writing files atomically, and errors for files that cannot be read or written."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

__all__ = [
    "UnreadableFileError",
    "UnwritableFileError",
    "check_memory",
    "damaged",
    "fits_memory",
    "write_whole",
]

_GIGABYTE = 1e9
# Where Linux keeps the limit of a container.
_CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")


class UnreadableFileError(ValueError):
    """Why a file cannot be read and what to do, as the end of a sentence that names it first."""


class UnwritableFileError(OSError):
    """Why a file or folder cannot be written; ``filename`` is the one that was asked for.

    Parameters
    ----------
    path : Path
        What was to be written.
    error : OSError
        What the system said; it may name a temporary file, or none.
    """

    def __init__(self, path: Path, error: OSError) -> None:
        super().__init__(error.errno, error.strerror or str(error), str(path))


def damaged(kind: str, reason: str) -> UnreadableFileError:
    """The error for a file whose bytes are not those of its kind, as MAT or NPZ."""
    return UnreadableFileError(
        f"cannot be read as {kind}: {reason}, so it is damaged and has to be copied or saved again."
    )


def fits_memory(n_bytes: int) -> bool:
    """Whether ``n_bytes`` is at most the memory of this machine."""
    return n_bytes <= _memory()


def check_memory(n_bytes: int) -> None:
    """Refuse a file that says it unpacks to more than the memory of this machine."""
    if not fits_memory(n_bytes):
        sizes = [f"{size / _GIGABYTE:,.1f} GB" for size in (n_bytes, _memory())]
        raise UnreadableFileError(
            f"unpacks to {sizes[0]}, and there are {sizes[1]} "
            "of memory: use a larger machine if the file is meant to be that large, otherwise it "
            "is damaged and has to be copied or saved again."
        )


def _memory() -> float:
    """Bytes of memory in all; infinite where the system does not tell."""
    try:
        limit = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return math.inf
    try:
        return min(limit, float(_CONTAINER_LIMIT.read_text(encoding="ascii")))
    except (OSError, ValueError):  # none is set, or the file says "max"
        return limit


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file under a temporary name beside `path`, then rename it.

    A reader sees the old file or the whole new one, never a part.

    Parameters
    ----------
    path : Path
        The file to make; its folder has to exist.
    write : callable
        Called with the temporary path, whose suffix is that of `path`.

    Raises
    ------
    UnwritableFileError
        If the file cannot be written; it names `path`.
    """
    try:
        handle, name = tempfile.mkstemp(
            prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent
        )
        os.close(handle)
        temporary = Path(name)
        try:
            write(temporary)
            temporary.chmod(0o644)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise UnwritableFileError(path, error) from error
