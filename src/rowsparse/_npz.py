"""NumPy's NPZ files: arrays without Python objects, no larger than memory."""

from __future__ import annotations

import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

from numpy.lib import format as npy
from numpy.typing import NDArray

from rowsparse._files import UnreadableFileError, check_memory, damaged

__all__ = ["read_npz"]


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
            members = {member.filename.removesuffix(".npy"): member for member in file.infolist()}
            chosen = {name: member for name, member in members.items() if name in wanted}
            check_memory(sum(member.file_size for member in chosen.values()))
            return {name: _array(file, member) for name, member in chosen.items()}, list(members)
    except (PermissionError, UnreadableFileError):
        raise
    except MemoryError:
        raise UnreadableFileError("needs more memory than there is.") from None
    except Exception as error:  # damaged bytes make zipfile and NumPy raise almost anything
        if "allow_pickle" in str(error):
            raise UnreadableFileError(
                "holds Python objects, which are not read: save names as text, as in "
                "np.array(names, dtype=str)."
            ) from None
        raise damaged("NPZ", "its contents do not fit together") from None


def _array(file: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    with file.open(member) as stream:
        array: NDArray[Any] = npy.read_array(stream, allow_pickle=False)
        # A header may claim any number of values of zero bytes. Reading to the end makes zipfile
        # compare the checksum.
        if stream.read(1) or array.nbytes < array.size:
            raise damaged("NPZ", "an array has more or fewer values than its header says")
    return array
