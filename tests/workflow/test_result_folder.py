"""The files of a run appear together or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from rowsparse._files import UnwritableFileError, write_whole
from rowsparse.workflow.messages import InputError
from rowsparse.workflow.writing import check_folder, check_writable, result_folder

NAMES = ("features.csv", "result.json")


def write(folder: Path, text: str, names: tuple[str, ...] = NAMES) -> None:
    for name in names:
        (folder / name).write_text(text)


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def full(temporary: Path) -> None:
    """Fail as a write to a full disk does: without the name of a file."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_files_appear_at_the_end_with_the_usual_permissions(tmp_path: Path) -> None:
    out, usual = tmp_path / "new" / "folder", tmp_path / "usual"
    usual.mkdir()
    with result_folder(out) as stage:
        write(stage, "first")
        assert not out.exists()
    assert contents(out) == dict.fromkeys(NAMES, "first")
    assert out.stat().st_mode == usual.stat().st_mode
    assert [path.name for path in out.parent.iterdir()] == ["folder"]


@pytest.mark.parametrize("problem", [KeyboardInterrupt, SystemExit, ValueError])
def test_an_error_leaves_nothing(problem: type[BaseException], tmp_path: Path) -> None:
    def half(folder: Path) -> None:
        write(folder, "half")
        raise problem

    with pytest.raises(problem), result_folder(tmp_path / "new" / "folder") as stage:
        half(stage)
    assert list(tmp_path.iterdir()) == []


def test_earlier_results_are_replaced_and_other_files_are_kept(tmp_path: Path) -> None:
    write(tmp_path, "first", (*NAMES, "report.html", "reduced.tsv", "notes.txt"))
    with result_folder(tmp_path) as stage:
        write(stage, "second")
        assert (tmp_path / "result.json").read_text() == "first"
    assert contents(tmp_path) == {**dict.fromkeys(NAMES, "second"), "notes.txt": "first"}


def test_files_that_cannot_be_moved_leave_the_earlier_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "first", (*NAMES, "report.html"))
    before = contents(tmp_path)
    rename = Path.rename

    def stop(path: Path, target: Path) -> Path:
        if target == tmp_path / "result.json" and path.read_text() == "second":
            raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", stop)
    with pytest.raises(KeyboardInterrupt), result_folder(tmp_path) as stage:
        write(stage, "second")
    assert contents(tmp_path) == before


@pytest.mark.parametrize("exists", [True, False])
def test_a_full_disk_names_the_file_and_leaves_nothing(exists: bool, tmp_path: Path) -> None:
    out = tmp_path / "out"
    if exists:
        out.mkdir()

    def half(folder: Path) -> None:
        write(folder, "half", NAMES[:1])
        write_whole(folder / "result.json", full)

    with pytest.raises(UnwritableFileError) as caught, result_folder(out) as stage:
        half(stage)
    assert caught.value.filename == str(out / "result.json")
    assert caught.value.strerror == "No space left on device"
    assert list(tmp_path.rglob("*")) == ([out] if exists else [])


def test_a_full_disk_without_the_name_of_a_file_names_the_folder(tmp_path: Path) -> None:
    with pytest.raises(UnwritableFileError) as caught, result_folder(tmp_path / "out") as stage:
        full(stage)
    assert caught.value.filename == str(tmp_path / "out")


def test_an_error_about_another_file_stays_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, result_folder(tmp_path / "out"):
        (tmp_path / "absent.csv").read_text()
    assert caught.value.filename == str(tmp_path / "absent.csv")


def test_a_folder_that_cannot_be_written_to_is_named_and_nothing_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_writable(tmp_path / "new" / "folder")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UnwritableFileError) as caught:
        check_writable(tmp_path / "file" / "folder")
    assert caught.value.filename == str(tmp_path / "file" / "folder")

    def refuse(dir: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(dir / "tmp8x2"))

    monkeypatch.setattr("rowsparse.workflow.writing.TemporaryFile", refuse)
    with pytest.raises(UnwritableFileError) as caught:
        check_writable(tmp_path)
    assert caught.value.filename == str(tmp_path)


def test_a_second_run_into_a_folder_needs_force(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    write(tmp_path, "a,b", ("table.csv", "notes.txt"))
    check_folder(tmp_path, table, force=False)
    write(tmp_path, "first", ("result.json",))
    with pytest.raises(InputError, match="results of an earlier run: choose another") as caught:
        check_folder(tmp_path, table, force=False)
    assert str(caught.value).endswith("another with --out, or overwrite them with --force.")
    check_folder(tmp_path, table, force=True)


@pytest.mark.parametrize("name", ["features.csv", "reduced.csv"])
def test_the_table_is_never_overwritten(name: str, tmp_path: Path) -> None:
    write(tmp_path, "a,b", (name,))
    with pytest.raises(InputError, match="would overwrite the table"):
        check_folder(tmp_path, tmp_path / name, force=True)
