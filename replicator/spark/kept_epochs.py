"""Kept epochs: a driver's epochs, begun anew when Spark has given up on one."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from replicator.runtime.backoff import Backoff
from replicator.runtime.run_in_thread import run_in_thread
from replicator.spark.epoch_runner import EpochRunner
from replicator.spark.epoch_source import RunningEpoch
from replicator.spark.session import Session, SparkGone

log = logging.getLogger(__name__)

PAUSE_SECONDS = (1.0, 30.0)
LOOK_SECONDS = 1.0


async def end_overdue(
    running: Callable[[], RunningEpoch | None],
    end: Callable[[], object],
    look_seconds: float = LOOK_SECONDS,
) -> None:
    """Ends each epoch that outlasts its time, until cancelled: all others wait for its last task.

    Only the driver's clock tells. Tasks count from their own start, and learn the end from Kafka.

    Args:
        running: returns the epoch that runs.
        end: ends it, by a plan with which another epoch begins.
        look_seconds: pause between two looks.
    """
    ended: RunningEpoch | None = None
    while True:
        await asyncio.sleep(look_seconds)
        epoch = running()
        if epoch is None or epoch is ended or not epoch.is_overdue(time.monotonic()):
            continue
        log.info("event=epoch-overdue seconds=%.0f: the plan is posted anew", epoch.seconds)
        end()
        ended = epoch


class KeptEpochs:
    """Epochs of a driver, which are begun anew.

    Args:
        start: starts the epochs. Blocking.
        pause_seconds: shortest and longest pause between two starts.
    """

    def __init__(
        self,
        session: Session,
        start: Callable[[], EpochRunner],
        pause_seconds: tuple[float, float] = PAUSE_SECONDS,
    ) -> None:
        self.warm = asyncio.Event()
        """Set once Spark's Python workers run, so that the next epoch begins at once."""
        self._session = session
        self._start = start
        self._pause_seconds = pause_seconds
        self._runner: EpochRunner | None = None

    async def keep(self) -> None:
        """Runs epochs until cancelled. Spark ends them when a task has failed too often.

        Raises SparkGone.
        """
        backoff = Backoff(*self._pause_seconds)
        while True:
            began = time.monotonic()
            try:
                self._runner = await run_in_thread(self._start)
                ended = run_in_thread(self._runner.wait)
                if await run_in_thread(self._runner.wait_warm):
                    self.warm.set()
                await ended
            except Exception as error:
                first = (str(error) or type(error).__name__).splitlines()[0]
                # Named for the streaming queries of former versions: alerts may look for it.
                log.error("event=query-failed again_in_seconds=%.0f: %s", backoff.seconds, first)
            if time.monotonic() - began > self._pause_seconds[1]:
                backoff.reset()
            await asyncio.sleep(backoff.seconds)
            if await run_in_thread(self._session.has_ended):
                raise SparkGone
            backoff.grow()

    @property
    def epoch(self) -> RunningEpoch | None:
        """Epoch that runs."""
        return self._runner.epoch if self._runner else None

    async def wait_idle(self, seconds: float) -> None:
        """Waits until no epoch runs and its receipts are handed over, or until time is up."""
        if self._runner:
            await run_in_thread(self._runner.wait_idle, seconds)

    async def stop(self) -> None:
        """Kills the tasks of a running epoch, and begins no other."""
        if self._runner:
            await run_in_thread(self._runner.stop)
