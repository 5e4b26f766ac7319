"""Files that are written whole, and memory that suffices for those that are read."""

import math
from pathlib import Path

import pytest

from rowsparse import _files
from rowsparse._files import UnreadableFileError, UnwritableFileError, check_memory, write_whole


def test_memory_is_what_the_system_and_the_container_allow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_files, "_CONTAINER_LIMIT", tmp_path / "absent")
    machine = _files._memory()
    assert machine > 1e8
    for text, limit in (("max\n", machine), ("50000000\n", 5e7)):
        (tmp_path / "limit").write_text(text)
        monkeypatch.setattr(_files, "_CONTAINER_LIMIT", tmp_path / "limit")
        assert _files._memory() == limit
    monkeypatch.delattr(_files.os, "sysconf", raising=False)
    assert _files._memory() == math.inf


def test_more_than_the_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_files, "_memory", lambda: 2e9)
    check_memory(2_000_000_000)
    with pytest.raises(UnreadableFileError, match=r"unpacks to 3\.0 GB, and there are 2\.0 GB"):
        check_memory(3_000_000_000)


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "result.txt"
    write_whole(path, lambda temporary: temporary.write_text("first"))
    assert path.read_text() == "first"

    def fail(temporary: Path) -> None:
        assert temporary.suffix == ".txt"
        temporary.write_text("half")
        raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError, match="the disk is full"):
        write_whole(path, fail)
    assert path.read_text() == "first"
    assert [p.name for p in tmp_path.iterdir()] == ["result.txt"]


def test_an_error_of_the_system_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    def fail(temporary: Path) -> None:
        raise OSError("4096 requested and 0 written")  # as NumPy says it: no number, no file

    with pytest.raises(UnwritableFileError) as caught:
        write_whole(tmp_path / "a.npz", fail)
    assert caught.value.filename == str(tmp_path / "a.npz")
    assert caught.value.strerror == "4096 requested and 0 written"
    with pytest.raises(UnwritableFileError) as caught:
        write_whole(tmp_path / "absent" / "a.npz", fail)
    assert caught.value.filename == str(tmp_path / "absent" / "a.npz")
