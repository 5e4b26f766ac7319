"""How a command ends."""

from __future__ import annotations

import errno
import os
import signal
import time
from pathlib import Path

import pytest

from rowsparse._files import UnwritableFileError
from rowsparse.cli.outcome import end_on_termination, ended, interrupts
from rowsparse.workflow.messages import InputError, setting


def test_errors_nobody_thought_of_are_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> int:
        raise RuntimeError("the roof\nis on fire")

    assert ended(fail) == 2
    assert capsys.readouterr().err == "RuntimeError: the roof; --debug shows where.\n"
    with pytest.raises(RuntimeError):
        ended(fail, debug=True)


@pytest.mark.posix
def test_an_interrupt_that_a_search_took_for_itself_still_counts() -> None:
    with interrupts() as check:
        check()
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        except KeyboardInterrupt:
            pass  # as a search does that returns the best so far
        with pytest.raises(KeyboardInterrupt):
            check()


def test_settings_in_an_error_are_flags(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> int:
        raise InputError(f"{{x}} has gaps: {setting('impute', 'median')} or {setting('k', 3)}.")

    assert ended(fail) == 2
    assert capsys.readouterr().err == "{x} has gaps: --impute median or -k 3.\n"


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            UnwritableFileError(Path("out"), OSError(errno.ENOSPC, "No space left on device")),
            "Cannot write to 'out': No space left on device.",
        ),
        (
            PermissionError(errno.EACCES, "Permission denied", "table.csv"),
            "Cannot read 'table.csv': Permission denied.",
        ),
    ],
)
def test_errors_of_the_system_name_the_file(
    error: OSError, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> int:
        raise error

    assert ended(fail) == 2
    assert capsys.readouterr().err == f"{sentence}\n"


@pytest.mark.posix
def test_termination_is_an_exception_unless_the_signal_is_ignored() -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        end_on_termination()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        with pytest.raises(SystemExit) as caught:
            os.kill(os.getpid(), signal.SIGTERM)
        assert caught.value.code == 143
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
