"""How a command ends."""

from __future__ import annotations

import os
import signal
import time

import pytest

from rowsparse.cli.outcome import ended, interrupts
from rowsparse.workflow.messages import InputError, setting


def test_errors_nobody_thought_of_are_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> int:
        raise RuntimeError("the roof\nis on fire")

    assert ended(fail) == 2
    assert capsys.readouterr().err == "RuntimeError: the roof; --debug shows where.\n"
    with pytest.raises(RuntimeError):
        ended(fail, debug=True)


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
