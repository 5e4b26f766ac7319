"""The folder of a run: all its files appear together, or none of them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryFile

from rowsparse._files import UnwritableFileError
from rowsparse.workflow.messages import InputError, setting, shown

# What the commands write; other files in a folder are never touched.
_RESULTS = (
    *(
        f"{name}.{kind}"
        for name in ("alternatives", "comparison", "features", "path", "predictions")
        for kind in ("csv", "xlsx")
    ),
    "figures",
    "model.json",
    "reduced.*",
    "report.html",
    "result.json",
    "settings.toml",
)


def check_writable(out: Path) -> None:
    """Refuse a folder in which no file can be made; nothing is left behind."""
    nearest = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    try:
        with TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        raise UnwritableFileError(out, error) from error


def check_folder(out: Path, table: Path, *, force: bool) -> None:
    """Refuse a folder, which need not exist, for the results of a run on a table.

    With ``force`` the results of an earlier run may be overwritten, but never the table.
    """
    earlier = _earlier_results(out)
    if any(path.resolve() == table.resolve() for path in earlier):
        raise InputError(
            f"The results would overwrite the table {shown(str(table))}: choose another folder "
            f"with {setting('out')}."
        )
    foreign = [path for path in (out / "figures").glob("*") if path.suffix != ".svg"]
    if foreign:
        raise InputError(
            f"The folder {shown(str(out / 'figures'))} holds {shown(foreign[0].name)}, which is no "
            f"figure of an earlier run: choose another folder with {setting('out')}."
        )
    if earlier and not force:
        raise InputError(
            f"The folder {shown(str(out))} has the results of an earlier run: choose another with "
            f"{setting('out')}, or overwrite them with {setting('force')}."
        )
    check_writable(out)


@contextmanager
def result_folder(out: Path) -> Iterator[Path]:
    """A hidden folder to write into; its files are moved to ``out`` at the end.

    ``out`` is made if it does not exist. The results of an earlier run in it are replaced, also
    those that this run does not write. On an error nothing is moved, and what was in ``out`` is as
    before; an UnwritableFileError names the file in ``out``.
    """
    made = [folder for folder in out.absolute().parents if not folder.exists()]
    stage = None
    try:
        # Inside of a folder that exists, whose parent may be another file system.
        parent = out if out.is_dir() else out.absolute().parent
        parent.mkdir(parents=True, exist_ok=True)
        hidden = parent / f".{out.absolute().name}-{token_hex(4)}"
        hidden.mkdir()  # unlike mkdtemp, with the permissions that new folders have
        stage = hidden
        yield stage
        _publish(stage, out)
    except BaseException as error:
        if stage is not None:
            shutil.rmtree(stage, ignore_errors=True)
        for folder in made:
            with suppress(OSError):  # something else may have been written there
                folder.rmdir()
        if isinstance(error, OSError):
            path = _concerned(error, stage, out)
            if path is not None:
                raise UnwritableFileError(path, error) from error
        raise


def _earlier_results(out: Path) -> list[Path]:
    return [path for pattern in _RESULTS for path in out.glob(pattern)]


def _concerned(error: OSError, stage: Path | None, out: Path) -> Path | None:
    """What could not be written: a file in ``out``, or ``out``; None if it is another file."""
    if stage is None or error.filename is None:
        return out
    path = Path(error.filename)
    return out / path.relative_to(stage) if path.is_relative_to(stage) else None


def _publish(stage: Path, out: Path) -> None:
    """Move all files of the hidden folder; put the earlier ones back if one cannot be moved."""
    if not out.exists():
        stage.rename(out)
        return
    earlier = stage / ".earlier"
    moves = [(path, earlier / path.name) for path in _earlier_results(out)]
    moves += [(path, out / path.name) for path in stage.iterdir()]
    earlier.mkdir()
    with ExitStack() as undo:
        for old, new in moves:
            old.rename(new)
            undo.callback(new.rename, old)
        undo.pop_all()
    shutil.rmtree(stage)
