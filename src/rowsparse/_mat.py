"""MATLAB's files, up to version 7: matrices, sparse matrices, text and cells of text.

SciPy's reader of version 5 and later trusts the sizes in the file, and a damaged one can end the
process. Here every size is checked against the bytes that are there before they are touched.
"""

from __future__ import annotations

import io
import math
import struct
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rowsparse._files import UnreadableFileError, check_memory, damaged

__all__ = ["read_mat"]

# Types of elements, by the numbers in their tags.
_NUMBERS = {
    1: "i1",
    2: "u1",
    3: "i2",
    4: "u2",
    5: "i4",
    6: "u4",
    7: "f4",
    9: "f8",
    12: "i8",
    13: "u8",
}
_TEXTS = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
_UINT32, _MATRIX, _COMPRESSED = 6, 14, 15
# Classes of arrays, by the numbers in their flags.
_CELL, _CHAR, _SPARSE, _OPAQUE = 1, 4, 5, 17
_NUMERIC = range(6, 16)
_COMPLEX, _LOGICAL = 1 << 11, 1 << 9

_START = 128
# Enough for flags, sizes and name of a variable, and for what they take when compressed.
_HEAD, _HEAD_COMPRESSED = 1024, 4096
_MOST_DIMENSIONS = 32
# Beyond which NumPy refuses even an array without values.
_MOST_VALUES = 1 << 48


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
            if 0 in start[:4]:
                return _version_4(path, wanted)
            order = _byte_order(start)
            return _version_5(file, order, path.stat().st_size, wanted)
    except zlib.error:
        raise damaged("MAT", "its contents do not fit together") from None
    except MemoryError:
        raise UnreadableFileError("needs more memory than there is.") from None


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


def _version_4(path: Path, wanted: Collection[str]) -> tuple[dict[str, Any], list[str]]:
    """Version 4: SciPy's reader, which is plain Python and safe on damaged files in memory."""
    from scipy.io import loadmat

    try:
        stored = loadmat(io.BytesIO(path.read_bytes()))
    except Exception:  # wrong sizes raise errors of many kinds
        raise damaged("MAT", "its contents do not fit together") from None
    names = [name for name in stored if not name.startswith("__")]
    return {
        name: sp.csc_array(stored[name]) if sp.issparse(stored[name]) else stored[name]
        for name in names
        if name in wanted
    }, names


def _version_5(
    file: IO[bytes], order: str, end: int, wanted: Collection[str]
) -> tuple[dict[str, Any], list[str]]:
    arrays, names = {}, []
    for kind, size in _top_elements(file, order, end):
        begin = file.tell()
        header = _header(_Elements(_content(file, kind, size, order, _HEAD), order))
        if header.name:  # the workspace of functions has none
            names.append(header.name)
        if header.name in wanted:
            file.seek(begin)
            elements = _Elements(_content(file, kind, size, order), order)
            arrays[header.name] = _value(elements, _header(elements))
    return arrays, names


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
    if len(tag) < 8:
        raise damaged("MAT", "it ends within an element")
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


class _Elements:
    """Elements one after the other; none may reach beyond the bytes that are there."""

    def __init__(self, data: memoryview, order: str) -> None:
        self.data, self.order, self.at = data, order, 0
        self._tag = struct.Struct(order + "II")

    def next(self) -> tuple[int, memoryview]:
        """Type and content of the next element."""
        end = len(self.data)
        if self.at + 8 > end:
            raise damaged("MAT", "an element is missing")
        kind, size = self._tag.unpack_from(self.data, self.at)
        begin = self.at + 8
        if kind >> 16:  # up to four bytes are kept in the tag
            kind, size = kind & 0xFFFF, kind >> 16
            begin, end = self.at + 4, self.at + 8
            self.at = end
        else:
            self.at = min(begin + size + -size % 8, end)
        if begin + size > end:
            raise damaged("MAT", "an element is longer than what it is a part of")
        return kind, self.data[begin : begin + size]

    def numbers(self, logical: int | None = None) -> NDArray[Any]:
        """The next element as a copy in native byte order; ``logical`` values may be bytes."""
        kind, content = self.next()
        if kind not in _NUMBERS:
            raise damaged("MAT", "it has text where numbers belong")
        # MATLAB writes true and false of a sparse matrix as bytes in an element of doubles.
        as_bytes = logical is not None and len(content) == logical
        dtype = np.dtype("u1") if as_bytes else np.dtype(self.order + _NUMBERS[kind])
        if len(content) % dtype.itemsize:
            raise damaged("MAT", "a matrix has a part of a number")
        return np.frombuffer(content, dtype).astype(dtype.newbyteorder("="))


@dataclass(frozen=True)
class _Header:
    """What stands before the values of an array."""

    name: str
    kind: int
    shape: tuple[int, ...]
    is_complex: bool
    is_logical: bool


def _header(elements: _Elements) -> _Header:
    kind, content = elements.next()
    if kind != _UINT32 or len(content) != 8:
        raise damaged("MAT", "a variable does not begin as one does")
    flags = struct.unpack(elements.order + "I", content[:4])[0]
    shape = () if flags & 0xFF == _OPAQUE else _shape(elements.numbers())
    name = str(elements.next()[1], "latin-1")
    return _Header(name, flags & 0xFF, shape, bool(flags & _COMPLEX), bool(flags & _LOGICAL))


def _shape(sizes: NDArray[Any]) -> tuple[int, ...]:
    shape = tuple(sizes.tolist())
    fits = 2 <= len(shape) <= _MOST_DIMENSIONS and sizes.dtype.kind in "iu"
    if not fits or min(shape) < 0 or math.prod(max(size, 1) for size in shape) > _MOST_VALUES:
        raise damaged("MAT", "the sizes of a matrix make no sense")
    return shape


def _value(elements: _Elements, header: _Header) -> Any:
    if header.kind == _CHAR:
        return _text(elements, header.shape)
    if header.kind == _CELL:
        return _cell(elements, header)
    if header.kind == _SPARSE and not header.is_complex:
        return _sparse(elements, header.shape, header.is_logical)
    if header.kind in _NUMERIC and not header.is_complex:
        values = elements.numbers()
        _check_count(values.size, header.shape)
        return values.reshape(header.shape, order="F")
    raise _not_read(header)


def _not_read(header: _Header) -> UnreadableFileError:
    return UnreadableFileError(
        f"has {header.name} as something else than real numbers or text: save it as a matrix, or "
        f"as a cell array of text, as in cellstr({header.name})."
    )


def _check_count(n_values: int, shape: tuple[int, ...]) -> None:
    if n_values != math.prod(shape):
        raise damaged("MAT", "a matrix has more or fewer values than its size says")


def _text(elements: _Elements, shape: tuple[int, ...]) -> NDArray[Any]:
    """An array of str: one for each row of characters."""
    kind, content = elements.next()
    if kind not in _TEXTS:
        raise damaged("MAT", "it has numbers where text belongs")
    ends = {"<": "-le", ">": "-be"}[elements.order] if _TEXTS[kind] in ("utf-16", "utf-32") else ""
    text = str(content, _TEXTS[kind] + ends, errors="replace")
    if shape[:-1] == (1,) or not text:  # in one row the number may differ: some take two places
        return np.array([text])
    _check_count(len(text), shape)
    rows = np.array(list(text)).reshape(shape, order="F")
    return np.ascontiguousarray(rows).view(f"<U{shape[-1]}")[..., 0]


def _cell(elements: _Elements, header: _Header) -> NDArray[Any]:
    """An array of str objects; a text each, or a number as text."""
    count = math.prod(header.shape)
    if 8 * count > len(elements.data):
        raise damaged("MAT", "a cell array has fewer cells than its size says")
    texts = np.empty(count, dtype=object)
    for i in range(count):
        kind, content = elements.next()
        if kind != _MATRIX:
            raise damaged("MAT", "it has an element of an unknown type")
        texts[i] = _cell_text(_Elements(content, elements.order), header) if len(content) else ""
    return texts.reshape(header.shape, order="F")


def _cell_text(elements: _Elements, parent: _Header) -> str:
    header = _header(elements)
    if header.kind != _CHAR and header.kind not in _NUMERIC:
        raise _not_read(parent)
    value = np.ravel(_value(elements, header))
    if value.size > 1:
        raise _not_read(parent)
    return str(value[0]) if value.size else ""


def _sparse(elements: _Elements, shape: tuple[int, ...], is_logical: bool) -> sp.csc_array:
    """By columns, with every index checked: SciPy's products trust them."""
    rows, starts = elements.numbers(), elements.numbers()
    whole = rows.dtype.kind in "iu" and starts.dtype.kind in "iu"
    if not whole or len(shape) != 2 or starts.size != shape[1] + 1:
        raise damaged("MAT", "the columns of a sparse matrix make no sense")
    n_stored = int(starts[-1])
    values = elements.numbers(n_stored if is_logical else None)
    if starts[0] != 0 or np.any(starts[1:] < starts[:-1]) or n_stored > min(rows.size, values.size):
        raise damaged("MAT", "the columns of a sparse matrix make no sense")
    rows = rows[:n_stored]
    if n_stored and not 0 <= rows.min() <= rows.max() < shape[0]:
        raise damaged("MAT", "a sparse matrix has values outside of it")
    return sp.csc_array((values[:n_stored], rows, starts), shape=shape)
