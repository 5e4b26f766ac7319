"""NPZ files: what NumPy writes is read, and no header is trusted."""

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rowsparse import _files
from rowsparse._files import UnreadableFileError
from rowsparse._npz import read_npz


def refusal(path: Path, *names: str) -> str:
    with pytest.raises(UnreadableFileError) as caught:
        read_npz(path, names)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    return sentence


def npz(path: Path, header: bytes | None = None) -> Path:
    """An NPZ file with an array X of two by three; its header may lie."""
    buffer = io.BytesIO()
    np.save(buffer, np.arange(6.0).reshape(2, 3))
    stored = buffer.getvalue()
    if header is not None:
        stored = stored.replace(b"(2, 3)", header)
        short = len(stored) - len(buffer.getvalue())
        stored = stored.replace(b" " * short + b"\n", b"\n", 1) if short > 0 else stored
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("X.npy", stored)
        file.writestr("notes.txt", "not an array")
    return path


def test_arrays_are_those_of_numpy(tmp_path: Path) -> None:
    path = npz(tmp_path / "a.npz")
    arrays, names = read_npz(path, {"X", "y"})
    np.testing.assert_array_equal(arrays["X"], np.load(path)["X"])
    assert (list(arrays), names) == (["X"], ["X", "notes.txt"])


@pytest.mark.parametrize("header", [b"(2, 3000)", b"(2, 2)", b"(0, 3)", b"(2, -3)"])
def test_a_header_that_promises_other_values_is_refused(header: bytes, tmp_path: Path) -> None:
    path = npz(tmp_path / "a.npz", header)
    assert "has to be copied or saved again" in refusal(path, "X")


def test_a_header_that_promises_more_than_memory_is_refused(tmp_path: Path) -> None:
    sentence = refusal(npz(tmp_path / "a.npz", b"(2, 3000000000000)"), "X")
    assert "more memory than there is" in sentence or "has to be copied or saved again" in sentence


def test_python_objects_are_never_made(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, tuple[str]]:
            return pytest.fail, ("an object was made",)

    path = tmp_path / "a.npz"
    np.savez(path, X=np.zeros((2, 2)), y=np.array([Trap()], dtype=object))
    assert "holds Python objects, which are not read" in refusal(path, "y")
    assert list(read_npz(path, {"X"})[0]) == ["X"]


def test_a_file_that_unpacks_to_more_than_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, X = tmp_path / "a.npz", np.zeros((1000, 250))
    np.savez_compressed(path, X=X)
    np.testing.assert_array_equal(read_npz(path, {"X"})[0]["X"], X)
    monkeypatch.setattr(_files, "_memory", lambda: 1_900_000.0)
    assert "unpacks to 0.0 GB, and there are 0.0 GB of memory" in refusal(path, "X")
