"""NumPy's NPZ files, with every promise of a header checked against the bytes that are there."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

from numpy.lib import format as npy
from numpy.typing import NDArray

from rowsparse._files import UnreadableFileError, check_memory, damaged

__all__ = ["read_npz"]

_ENDING = ".npy"
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
# The compressions that NumPy writes.
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def read_npz(path: Path, wanted: Collection[str]) -> tuple[dict[str, NDArray[Any]], list[str]]:
    """Read some arrays of an NPZ file; Python objects in it are never made.

    Parameters
    ----------
    path : Path
        The file.
    wanted : collection of str
        The arrays to read.

    Returns
    -------
    arrays : dict
        Those of them that the file has.
    names : list of str
        All arrays of the file.

    Raises
    ------
    UnreadableFileError
        If the file is damaged, of another kind, larger than memory, or has a wanted array of
        Python objects.
    """
    if not zipfile.is_zipfile(path):
        raise UnreadableFileError("is not an NPZ file.")
    try:
        with zipfile.ZipFile(path) as file:
            members = {_name(member): member for member in file.infolist()}
            chosen = {name: member for name, member in members.items() if name in wanted}
            check_memory(sum(member.file_size for member in chosen.values()))
            return {name: _array(file, member) for name, member in chosen.items()}, list(members)
    except (PermissionError, UnreadableFileError):
        raise
    except MemoryError:
        raise UnreadableFileError("needs more memory than there is.") from None
    except Exception:  # damaged bytes make zipfile and NumPy raise almost anything
        raise damaged("NPZ", "its contents do not fit together") from None


def _name(member: zipfile.ZipInfo) -> str:
    return member.filename.removesuffix(_ENDING)


def _array(file: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    if member.compress_type not in _PACKINGS:
        raise damaged("NPZ", "NumPy packs in another way")
    with file.open(member) as stream:
        version = npy.read_magic(stream)
        if version not in _HEADERS:
            raise damaged("NPZ", "there is no such version of the format")
        shape, _, dtype = _HEADERS[version](stream)
        if dtype.hasobject:
            raise UnreadableFileError(
                "holds Python objects, which are not read: save names as text, as in "
                "np.array(names, dtype=str)."
            )
        n_values, n_bytes = math.prod(shape), member.file_size - stream.tell()
        # A header may claim any number of values of zero bytes.
        if n_values * dtype.itemsize != n_bytes or (n_values and not n_bytes):
            raise damaged("NPZ", "an array has more or fewer values than its header says")
    with file.open(member) as stream:
        array: NDArray[Any] = npy.read_array(stream, allow_pickle=False)
        # Reading to the end makes zipfile compare the checksum.
        stream.read(1)
    return array
