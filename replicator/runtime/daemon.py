"""Daemon shell: runs a daemon's work until a signal or an error ends it, then winds it down."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping

from replicator.runtime.exit_codes import Exit

log = logging.getLogger(__name__)


class Work(ABC):
    """A daemon's own part: its work, and the end of it."""

    @abstractmethod
    async def run(self) -> None:
        """Works until cancelled. An error that it raises ends the daemon."""

    @abstractmethod
    async def verdict(self, error: BaseException, stop: asyncio.Event) -> Exit:
        """Returns the exit code for the error that ended the work, and logs it for the operator.

        Args:
            stop: set once a signal has asked the daemon to stop, also before the error.
        """

    @abstractmethod
    async def wind_down(self, exit_code: Exit) -> None:
        """Ends everything that `run` began. Never raises and never takes long."""

    def stop_at_once(self) -> None:  # noqa: B027
        """Handles every further signal, while the daemon winds down. Does nothing by default."""


async def run_until_stopped(work: Work, region: str, *, logs_seconds: bool = True) -> Exit:
    """Runs the work until SIGTERM, SIGINT or an error; returns the exit code.

    Args:
        region: named in the log line of a signal.
        logs_seconds: the last log line tells how long the end has taken.
    """
    stop = asyncio.Event()

    def signalled() -> None:
        if stop.is_set():
            work.stop_at_once()
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, signalled)
    working = asyncio.ensure_future(work.run())
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    began = time.monotonic()
    if not working.done():
        log.info("event=stopping region=%s", region)
        working.cancel()
        await asyncio.wait({working})
    exit_code = Exit.STOPPED
    error = None if working.cancelled() else working.exception()
    if error:
        exit_code = await work.verdict(error, stop)
    elif not stop.is_set():
        log.error("event=failed the work ended by itself")
        exit_code = Exit.FAILED
    await work.wind_down(exit_code)
    seconds = f" seconds={time.monotonic() - began:.1f}" if logs_seconds else ""
    log.info("event=stopped exit=%d%s", exit_code, seconds)
    return exit_code


def failure(error: BaseException, foreseen: Mapping[type[BaseException], Exit]) -> Exit:
    """Logs the error that ended a daemon, and returns its exit code.

    An error that is not foreseen is logged with its traceback.

    Args:
        foreseen: exit codes by error type; the first type that fits decides.
    """
    for kind, exit_code in foreseen.items():
        if isinstance(error, kind):
            log.error("event=failed %s", error)
            return exit_code
    log.error("event=failed", exc_info=error)
    return Exit.FAILED
