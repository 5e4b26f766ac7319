"""MATLAB's files, up to version 7: matrices, sparse matrices, text and cells of text.

SciPy reads the values. Its reader takes types and sizes on trust, and a damaged file of version 5
or later can end the process: SciPy is given a copy of the variables that are wanted, in which
every type and size has been checked.
"""

from __future__ import annotations

import io
import math
import struct
import warnings
import zlib
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from rowsparse._files import UnreadableFileError, check_memory, damaged

__all__ = ["read_mat"]

# Types of elements, by the numbers in their tags.
_NUMBERS = frozenset((1, 2, 3, 4, 5, 6, 7, 9, 12, 13))
_TEXTS = frozenset((1, 2, 4, 16, 17, 18))
_MATRIX, _COMPRESSED = 14, 15
# Classes of arrays, by the numbers in their flags.
_CELL, _CHAR, _SPARSE, _OPAQUE = 1, 4, 5, 17
_NUMERIC = range(6, 16)
_COMPLEX = 1 << 11

_START = 128
# Enough for flags, sizes and name of a variable, and for what they take when compressed.
_HEAD, _HEAD_COMPRESSED = 1024, 4096
_MOST_DIMENSIONS = 32


def read_mat(path: Path, wanted: Collection[str]) -> tuple[dict[str, Any], list[str]]:
    """Read some variables of a MAT file.

    Parameters
    ----------
    path : Path
        The file.
    wanted : collection of str
        The variables to read.

    Returns
    -------
    arrays : dict
        Those of them that the file has: arrays of numbers in the type that they are stored in,
        sparse arrays, and text, a cell being an array of str objects.
    names : list of str
        All variables of the file.

    Raises
    ------
    UnreadableFileError
        If the file is damaged, of another kind, or holds a wanted variable of another kind.
    """
    try:
        with path.open("rb") as file:
            start = file.read(_START)
            if 0 in start[:4]:  # version 4, which SciPy reads in plain Python
                stored = _stored(io.BytesIO(path.read_bytes()))
                names = list(stored)
            else:
                order = _byte_order(start)
                checked, names = _checked_variables(file, order, path.stat().st_size, wanted)
                stored = _stored(checked, uint16_codec={"<": "utf-16-le", ">": "utf-16-be"}[order])
            return {name: _value(name, stored[name]) for name in names if name in wanted}, names
    except (OSError, UnreadableFileError):
        raise
    except MemoryError:
        raise UnreadableFileError("needs more memory than there is.") from None
    except Exception:  # damaged bytes make zlib and SciPy raise almost anything
        raise damaged("MAT", "its contents do not fit together") from None


def _stored(file: IO[bytes], **options: str) -> dict[str, Any]:
    """All variables as SciPy reads them."""
    from scipy.io import loadmat

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            stored = loadmat(file, **options)
    except OSError:  # the end of a file in memory
        raise damaged("MAT", "it ends too early") from None
    return {name: value for name, value in stored.items() if not name.startswith("__")}


def _value(name: str, stored: Any) -> Any:
    if sp.issparse(stored):
        matrix = sp.csc_array(stored)
        matrix.check_format(full_check=True)  # SciPy's products trust the indices
        return matrix
    if stored.dtype != object:
        return stored.astype(stored.dtype.newbyteorder("="), copy=False)
    texts = np.empty(stored.shape, dtype=object)
    for place, cell in np.ndenumerate(stored):
        if cell.size > 1:
            raise _other_kind(name)
        texts[place] = str(cell.item()) if cell.size else ""
    return texts


def _other_kind(name: str) -> UnreadableFileError:
    return UnreadableFileError(
        f"has {name} as something else than real numbers or text: save it as a matrix, or "
        f"as a cell array of text, as in cellstr({name})."
    )


# ------------------------------------------------------------------- version 5 and later, checked
def _byte_order(start: bytes) -> str:
    order = {b"IM": "<", b"MI": ">"}.get(start[126:128])
    if order is None:
        raise UnreadableFileError("cannot be read as MAT: it does not begin as such a file does.")
    version = struct.unpack(order + "H", start[124:126])[0] >> 8
    if version == 2:
        raise UnreadableFileError("is of MATLAB's version 7.3: save it with the option '-v7'.")
    if version != 1:
        raise damaged("MAT", "there is no such version of the format")
    return order


def _checked_variables(
    file: IO[bytes], order: str, end: int, wanted: Collection[str]
) -> tuple[io.BytesIO, list[str]]:
    """A file in memory with the wanted variables, not compressed, and the names of all."""
    copy, names = io.BytesIO(), []
    file.seek(0)
    copy.write(file.read(_START))
    for kind, size in _top_elements(file, order, end):
        begin = file.tell()
        _, name, _ = _header(_content(file, kind, size, order, _HEAD), order)
        if name:  # the workspace of functions has none
            names.append(name)
        if name in wanted:
            file.seek(begin)
            content = _content(file, kind, size, order)
            _check_array(content, order, name)
            copy.write(struct.pack(order + "II", _MATRIX, len(content)))
            copy.write(content)
    copy.seek(0)
    return copy, names


def _top_elements(file: IO[bytes], order: str, end: int) -> Iterator[tuple[int, int]]:
    """Type and size of every element of the file, with the file at its first byte."""
    at = _START
    while at < end:
        file.seek(at)
        tag = file.read(8)
        if len(tag) < 8:
            raise damaged("MAT", "it ends within an element")
        kind, size = struct.unpack(order + "II", tag)
        at += 8 + size
        if at > end:
            raise damaged("MAT", "it ends within an element")
        if kind not in (_MATRIX, _COMPRESSED):
            raise damaged("MAT", "it has an element of an unknown type")
        yield kind, size


def _content(
    file: IO[bytes], kind: int, size: int, order: str, most: int | None = None
) -> memoryview:
    """The content of a matrix, compressed or not; with ``most``, its beginning."""
    if kind == _MATRIX:
        return memoryview(file.read(size if most is None else min(size, most)))
    packed = file.read(size if most is None else min(size, _HEAD_COMPRESSED))
    tag = zlib.decompressobj().decompress(packed[:_HEAD_COMPRESSED], 8)
    inner, length = struct.unpack(order + "II", tag)
    if inner != _MATRIX:
        raise damaged("MAT", "it has an element of an unknown type")
    engine = zlib.decompressobj()
    if most is not None:
        return memoryview(engine.decompress(packed, 8 + min(length, most)))[8:]
    check_memory(length)
    content = memoryview(engine.decompress(packed, 8 + length))[8:]
    # Reading to the end of the stream makes zlib compare its checksum.
    beyond = engine.decompress(engine.unconsumed_tail, 1)
    if len(content) < length or beyond or not engine.eof:
        raise damaged("MAT", "an element is not as long as it says")
    return content


def _elements(data: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    """Type and content of one element after another, none beyond the bytes that are there."""
    tag, at = struct.Struct(order + "II"), 0
    while at + 8 <= len(data):
        kind, size = tag.unpack_from(data, at)
        begin, end = at + 8, len(data)
        at = begin + size + -size % 8
        if kind >> 16:  # up to four bytes are kept in the tag
            kind, size = kind & 0xFFFF, kind >> 16
            begin, end, at = begin - 4, begin, begin
        if begin + size > end:
            raise damaged("MAT", "an element is longer than the one around it")
        yield kind, data[begin : begin + size]


def _header(array: memoryview, order: str) -> tuple[int, str, tuple[int, ...]]:
    """Flags, name and shape of an array; an object that is not shown has no shape."""
    (_, flags), (kind, sizes), (_, name) = islice(_elements(array, order), 3)
    found = struct.unpack(order + "I", flags[:4])[0]
    if found & 0xFF == _OPAQUE:
        return found, str(sizes, "latin-1"), ()
    n_dimensions = len(sizes) // 4
    if kind not in (5, 6) or len(sizes) % 4 or not 2 <= n_dimensions <= _MOST_DIMENSIONS:
        raise damaged("MAT", "the sizes of a matrix make no sense")
    return found, str(name, "latin-1"), struct.unpack(f"{order}{n_dimensions}i", sizes)


def _check_array(array: memoryview, order: str, name: str, *, in_cell: bool = False) -> None:
    """Refuse an array of another kind than is read, and types and sizes that SciPy would trust."""
    flags, _, shape = _header(array, order)
    kind = flags & 0xFF
    readable = kind == _CHAR or kind in _NUMERIC or (kind in (_CELL, _SPARSE) and not in_cell)
    if not readable or flags & _COMPLEX:
        raise _other_kind(name)
    # Any value takes a byte, and a cell eight.
    least = 0 if kind == _SPARSE else math.prod(shape) * (8 if kind == _CELL else 1)
    if min(shape) < 0 or least > len(array):
        raise damaged("MAT", "the sizes of a matrix make no sense")
    values = list(islice(_elements(array, order), 3, None))
    allowed = {_CELL: {_MATRIX}, _CHAR: _TEXTS}.get(kind, _NUMBERS)
    if not all(element in allowed for element, _ in values):
        raise damaged("MAT", "it has an element of a type that does not belong there")
    if len(values) < (math.prod(shape) if kind == _CELL else 3 if kind == _SPARSE else 1):
        raise damaged("MAT", "an element is missing")
    for _, cell in values if kind == _CELL else ():
        if len(cell):
            _check_array(cell, order, name, in_cell=True)
