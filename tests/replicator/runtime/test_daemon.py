"""Claims about the daemon shell: what ends a daemon, in which order, and with which code."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from replicator.runtime.daemon import Work, failure, run_until_stopped
from replicator.runtime.exit_codes import Exit


class Recorded(Work):
    """Work that records its steps; ends with an error if one is given, else never.

    Args:
        error: ends the work at once.
        error_in_end: is raised as the work is cancelled.
        signals: sent to this process when the work begins, and during its end.
    """

    def __init__(self, error=None, error_in_end=None, signals=(0, 0)):
        self.steps = []
        self._error, self._error_in_end = error, error_in_end
        self._signals = signals

    async def run(self):
        self.steps.append("run")
        self._signal(self._signals[0])
        if self._error:
            raise self._error
        try:
            await asyncio.Event().wait()
        finally:
            self.steps.append("cancelled")
            if self._error_in_end:
                raise self._error_in_end

    async def verdict(self, error, stop):
        self.steps.append(f"verdict {error} {stop.is_set()}")
        return Exit.UNREACHABLE

    async def wind_down(self, exit_code):
        self.steps.append(f"wind down {exit_code.name}")
        self._signal(self._signals[1])
        await asyncio.sleep(0.01)

    def stop_at_once(self):
        self.steps.append("at once")

    def _signal(self, number):
        if number:
            os.kill(os.getpid(), number)


@pytest.fixture(autouse=True)
def info(caplog):
    caplog.set_level("INFO")


@pytest.fixture(autouse=True)
async def signals():
    """Takes the signal handlers of the shell away again."""
    yield
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().remove_signal_handler(number)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_cancels_the_work_and_then_winds_it_down(number, caplog):
    work = Recorded(signals=(number, 0))
    assert await run_until_stopped(work, "east") is Exit.STOPPED
    assert work.steps == ["run", "cancelled", "wind down STOPPED"]
    stopping, stopped = caplog.messages
    assert stopping == "event=stopping region=east"
    assert stopped.startswith("event=stopped exit=0 seconds=0.")


async def test_an_error_decides_the_exit_code_before_the_work_is_wound_down(caplog):
    work = Recorded(error=KeyError("x"))
    assert await run_until_stopped(work, "east", logs_seconds=False) is Exit.UNREACHABLE
    assert work.steps == ["run", "verdict 'x' False", "wind down UNREACHABLE"]
    assert caplog.messages == ["event=stopped exit=3"]


async def test_an_error_after_a_signal_is_judged_as_such():
    work = Recorded(error_in_end=KeyError("x"), signals=(signal.SIGTERM, 0))
    assert await run_until_stopped(work, "east") is Exit.UNREACHABLE
    assert work.steps == ["run", "cancelled", "verdict 'x' True", "wind down UNREACHABLE"]


async def test_a_second_signal_reaches_the_work_while_it_winds_down():
    work = Recorded(signals=(signal.SIGTERM, signal.SIGTERM))
    assert await run_until_stopped(work, "east") is Exit.STOPPED
    assert work.steps == ["run", "cancelled", "wind down STOPPED", "at once"]


def test_the_first_type_that_fits_an_error_decides_its_exit_code(caplog):
    foreseen = {FileNotFoundError: Exit.MISCONFIGURED, OSError: Exit.UNREACHABLE}
    assert failure(FileNotFoundError("a"), foreseen) is Exit.MISCONFIGURED
    assert failure(OSError("b"), foreseen) is Exit.UNREACHABLE
    assert caplog.messages == ["event=failed a", "event=failed b"]
    assert not any(record.exc_info for record in caplog.records)


def test_an_error_that_is_not_foreseen_is_logged_with_its_traceback(caplog):
    assert failure(KeyError("x"), {OSError: Exit.UNREACHABLE}) is Exit.FAILED
    (record,) = caplog.records
    assert record.getMessage() == "event=failed"
    assert record.exc_info


async def test_work_that_ends_by_itself_has_failed(caplog):
    class Ends(Recorded):
        async def run(self):
            self.steps.append("run")

    work = Ends()
    assert await run_until_stopped(work, "east") is Exit.FAILED
    assert work.steps == ["run", "wind down FAILED"]
    assert "event=failed the work ended by itself" in caplog.text
