"""MAT files: what SciPy and MATLAB write is read, and no type or size is trusted."""

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from rowsparse import _files
from rowsparse._files import UnreadableFileError
from rowsparse._mat import read_mat

SCIPY_FILES = sorted((Path(scipy.io.__file__).parent / "matlab/tests/data").glob("test*.mat"))


def refusal(path: Path, *names: str) -> str:
    with pytest.raises(UnreadableFileError) as caught:
        read_mat(path, names)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    return sentence


NUMBERS = ("f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")
VALUES = {
    **{kind: np.arange(12).reshape(3, 4).astype(kind) for kind in NUMBERS},
    "three": np.arange(24.0).reshape(2, 3, 4),
    "none": np.zeros((0, 3)),
    "rows": np.array(["one", "two"]),
    "accents": np.array(["Größe"]),
}


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("kind", VALUES)
def test_arrays_are_those_of_scipy(kind: str, compress: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {"A": VALUES[kind], "other": {"a": 1}}, do_compression=compress)
    arrays, names = read_mat(path, {"A"})
    expected = scipy.io.loadmat(path)["A"]
    np.testing.assert_array_equal(arrays["A"], expected)
    assert arrays["A"].dtype == expected.dtype
    assert names == ["A", "other"]


@pytest.mark.parametrize("compress", [False, True])
def test_sparse_matrices_and_cells_are_those_that_were_saved(
    compress: bool, tmp_path: Path
) -> None:
    path, S = tmp_path / "a.mat", sp.random(7, 5, 0.4, format="csc", random_state=0)
    cells = np.array([["α", "", 3], ["two", "a b", "c"]], dtype=object)
    scipy.io.savemat(path, {"S": S, "C": cells}, do_compression=compress)
    arrays, _ = read_mat(path, {"S", "C"})
    np.testing.assert_array_equal(arrays["S"].toarray(), S.toarray())
    assert arrays["C"].tolist() == [["α", "", "3"], ["two", "a b", "c"]]


def test_the_oldest_version_is_read(tmp_path: Path) -> None:
    path, S = tmp_path / "a.mat", sp.random(7, 5, 0.4, format="csc", random_state=0)
    scipy.io.savemat(path, {"A": VALUES["f8"], "S": S}, format="4")
    arrays, names = read_mat(path, {"S"})
    np.testing.assert_array_equal(arrays["S"][:, [1, 2]].toarray(), S.toarray()[:, [1, 2]])
    assert sorted(names) == ["A", "S"]


@pytest.mark.skipif(not SCIPY_FILES, reason="SciPy came without its tests")
def test_files_that_matlab_wrote_are_read_as_scipy_reads_them() -> None:
    compared = 0
    for path in SCIPY_FILES:
        if "hdf5" in path.name:
            assert "save it with the option '-v7'" in refusal(path, "X")
            continue
        for name, value in scipy.io.loadmat(path).items():
            plain = sp.issparse(value) or (
                isinstance(value, np.ndarray) and value.dtype.kind in "iufU"
            )
            if plain and value.dtype.kind in "biufU":
                own = read_mat(path, {name})[0][name]
                own, value = (a.toarray() if sp.issparse(a) else a for a in (own, value))
                np.testing.assert_array_equal(own, value, err_msg=path.name)
                compared += 1
    assert compared > 30


@pytest.mark.parametrize("value", [{"a": 1}, np.array([[1j]]), np.array([[1, 2], "a"], object)])
def test_a_variable_of_another_kind_is_refused_by_name(value: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {"X": VALUES["f8"], "Y": value})
    assert "has Y as something else than real numbers or text" in refusal(path, "Y")
    assert list(read_mat(path, {"X"})[0]) == ["X"]


def element(kind: int, content: bytes, size: int | None = None) -> bytes:
    length = len(content) if size is None else size
    return struct.pack("<II", kind, length) + content + bytes(-len(content) % 8)


def variable(
    *parts: bytes, shape: tuple[int, ...] = (2, 2), kind: int = 6, name: bytes = b"X"
) -> bytes:
    header = element(6, struct.pack("<II", kind, 0)) + element(
        5, struct.pack(f"<{len(shape)}i", *shape)
    )
    return element(14, header + element(1, name) + b"".join(parts))


def packed(stream: bytes) -> bytes:
    return struct.pack("<II", 15, len(stream)) + stream


def mat(*elements: bytes) -> bytes:
    return b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + b"".join(elements)


FOUR = element(9, bytes(32))
INDICES = element(5, struct.pack("<2i", 0, 1))
BROKEN = {
    "cut": (mat(variable(FOUR))[:-5], "ends within an element"),
    "a tag": (mat(variable(FOUR)) + b"abc", "ends within an element"),
    "no version": (mat()[:124] + b"\x00\x07IM", "no such version"),
    "unknown": (mat(element(77, b"")), "unknown type"),
    "too long": (mat(variable(element(9, bytes(32), 1 << 31))), "longer than the one around it"),
    "too large": (mat(variable(FOUR, shape=(1 << 30, 1 << 30))), "sizes of a matrix make no sense"),
    "too many": (mat(variable(FOUR, shape=(9, 9))), "do not fit together"),
    "none": (mat(variable(element(9, b""), shape=(0, *[1 << 30] * 3))), "do not fit"),
    "negative": (mat(variable(FOUR, shape=(-2, -2))), "sizes of a matrix make no sense"),
    "flat": (mat(variable(FOUR, shape=(4,))), "sizes of a matrix make no sense"),
    "half a number": (mat(variable(element(9, bytes(31)))), "do not fit together"),
    "text": (mat(variable(element(16, bytes(32)))), "does not belong there"),
    "numbers": (mat(variable(FOUR, kind=4)), "does not belong there"),
    "cells": (mat(variable(kind=1, shape=(1 << 20, 1 << 20))), "sizes of a matrix"),
    "few cells": (mat(variable(FOUR, kind=1, shape=(2, 1))), "does not belong there"),
    "columns": (mat(variable(INDICES, INDICES, FOUR, kind=5)), "do not fit together"),
    "outside": (
        mat(
            variable(
                element(5, struct.pack("<2i", 0, 99)),
                element(5, struct.pack("<3i", 0, 1, 2)),
                FOUR,
                kind=5,
            )
        ),
        "do not fit together",
    ),
    "backwards": (
        mat(variable(INDICES, element(5, struct.pack("<3i", 0, 9, 1)), FOUR, kind=5)),
        "do not fit together",
    ),
    "zlib": (mat(packed(b"no zlib stream")), "do not fit together"),
    "checksum": (mat(packed(zlib.compress(variable(FOUR))[:-1] + b"?")), "do not fit together"),
    "promise": (
        mat(packed(zlib.compress(element(14, variable(FOUR)[8:], 1 << 30)))),
        "not as long",
    ),
}


def test_the_bytes_made_here_are_a_file_when_nothing_is_wrong_with_them(tmp_path: Path) -> None:
    for whole in (variable(FOUR), packed(zlib.compress(variable(FOUR)))):
        (tmp_path / "a.mat").write_bytes(mat(whole))
        assert read_mat(tmp_path / "a.mat", {"X"})[0]["X"].tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize(("kind", "encoding"), [(4, "utf-16-le"), (17, "utf-16-le"), (16, "utf-8")])
def test_text_is_read_in_every_encoding(kind: int, encoding: str, tmp_path: Path) -> None:
    text = element(kind, "Größe".encode(encoding))
    (tmp_path / "a.mat").write_bytes(mat(variable(text, shape=(1, 5), kind=4)))
    assert read_mat(tmp_path / "a.mat", {"X"})[0]["X"].tolist() == ["Größe"]


@pytest.mark.parametrize("what", BROKEN)
def test_a_damaged_mat_file_is_refused_in_one_sentence(what: str, tmp_path: Path) -> None:
    content, words = BROKEN[what]
    (tmp_path / "a.mat").write_bytes(content)
    assert words in refusal(tmp_path / "a.mat", "X")


def test_what_is_not_asked_for_is_not_unpacked(tmp_path: Path) -> None:
    other = zlib.compress(variable(element(9, bytes(8 << 20)), shape=(1 << 20, 1), name=b"bomb"))
    (tmp_path / "a.mat").write_bytes(mat(packed(other[:-1] + b"?"), variable(FOUR)))
    arrays, names = read_mat(tmp_path / "a.mat", {"X"})
    assert (list(arrays), names) == (["X"], ["bomb", "X"])
    assert "do not fit together" in refusal(tmp_path / "a.mat", "bomb")


def test_a_file_that_unpacks_to_more_than_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, X = tmp_path / "a.mat", np.zeros((1000, 250))
    scipy.io.savemat(path, {"X": X}, do_compression=True)
    np.testing.assert_array_equal(read_mat(path, {"X"})[0]["X"], X)
    monkeypatch.setattr(_files, "_memory", lambda: 1_900_000.0)
    assert "unpacks to 0.0 GB, and there are 0.0 GB of memory" in refusal(path, "X")
