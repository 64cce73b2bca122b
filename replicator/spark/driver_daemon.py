"""Driver daemon: starts Spark's epochs, and ends the tasks before it ends Spark.

Common to the drivers of carriers and of loaders, which differ in their leadership and their source.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from typing_extensions import override

from replicator.config.topology import Appliance
from replicator.kafka.client.cluster import Fenced
from replicator.notices.conditions import Conditions
from replicator.runtime.daemon import Work, failure
from replicator.runtime.error_text import error_text
from replicator.runtime.exit_codes import Exit, decisive
from replicator.runtime.metrics_server import MetricsServer
from replicator.runtime.run_in_thread import run_in_thread
from replicator.spark.driver_command import TermSuperseded
from replicator.spark.epoch_runner import EpochRunner
from replicator.spark.epoch_source import EpochTasks
from replicator.spark.jvm import Jvm
from replicator.spark.kept_epochs import KeptEpochs, end_overdue
from replicator.spark.posting import ApplianceFile
from replicator.spark.receipts_folder import EpochReceipts, ReceiptsFolder
from replicator.spark.session import Session

if TYPE_CHECKING:
    import pyarrow as pa


log = logging.getLogger(__name__)

POSTING_FILE = "posting.json"
EPOCH_BEGIN_SECONDS = 0.3
PART_STOP_SECONDS = 3.0


class Leadership(Protocol):
    """The driver's command over its tasks."""

    def post_stop(self) -> None:
        """Posts to this host that no epoch shall begin any more. Raises OSError."""

    def end_epoch(self) -> None:
        """Has the plan posted anew, with which another epoch begins."""

    async def stop(self) -> None:
        """Publishes the stop command in Kafka."""

    async def has_successor(self) -> bool:
        """Returns True if a newer driver has published a command."""

    async def close(self) -> None:
        """Closes all connections."""


Led = TypeVar("Led", bound=Leadership)


@dataclass(frozen=True, slots=True)
class EpochKind:
    """Tasks of a driver's epochs, and what becomes of their receipts.

    Args:
        tasks: makes the tasks, given the files of the appliance and of the posting.
        receipts: folder of the receipts.
        schema: of the receipts.
        report: logs the receipts of an epoch, which has a number.
    """

    tasks: Callable[[Path, Path], EpochTasks]
    receipts: Path
    schema: pa.Schema
    report: Callable[[pa.Table, int], None]


@dataclass(frozen=True, slots=True)
class Run:
    """A single run of a driver.

    Args:
        folder: of this run, private.
        jvm: of Spark, which may still be starting.
        conditions: of the driver.
    """

    appliance: Appliance
    region: str
    folder: Path
    jvm: Jvm
    conditions: Conditions = field(default_factory=lambda: Conditions("driver"))

    @property
    def posting(self) -> Path:
        return self.folder / POSTING_FILE


class DriverDaemon(Work, Generic[Led]):
    """A driver's work, up to the source and the leadership of its own.

    Args:
        publish_seconds: longest time for publishing the stop command.
        drain_seconds: longest time in which tasks end after it.
        foreseen: exit codes by type of error.
    """

    def __init__(
        self,
        run: Run,
        leadership: Led,
        kind: EpochKind,
        *,
        publish_seconds: float,
        drain_seconds: float,
        foreseen: Mapping[type[BaseException], Exit],
    ) -> None:
        self._run = run
        self._leadership = leadership
        self._kind = kind
        self._publish_seconds, self._drain_seconds = publish_seconds, drain_seconds
        self._foreseen = foreseen
        self._appliance_file = ApplianceFile(run.folder / "appliance.pickle")
        self._appliance_file.write(run.appliance)
        self._metrics: MetricsServer | None = None
        self._session: Session | None = None
        self._epochs: KeptEpochs | None = None

    async def start_spark(self) -> tuple[Session, KeptEpochs]:
        """Returns a new session, and its epochs, none of which runs yet."""
        session = self._session = await run_in_thread(Session, self._run.jvm)
        epochs = self._epochs = KeptEpochs(session, lambda: self._start_epochs(session))
        return session, epochs

    async def end_overdue(self, epochs: KeptEpochs) -> None:
        """Ends each epoch that outlasts its time, until cancelled."""
        await end_overdue(lambda: epochs.epoch, self._leadership.end_epoch)

    def _start_epochs(self, session: Session) -> EpochRunner:
        kind = self._kind
        receipts = EpochReceipts(
            ReceiptsFolder(kind.receipts, self._run.region), kind.schema, kind.report
        )
        return EpochRunner(
            session.context,
            kind.tasks(self._appliance_file.path, self._run.posting),
            slots=session.count_slots(),
            receipts=receipts,
        )

    # -- the end

    @override
    async def verdict(self, error: BaseException, stop: asyncio.Event) -> Exit:
        if stop.is_set():
            return Exit.STOPPED
        decided = decisive(error, (Fenced, TermSuperseded))
        has_successor = await self._has_successor(decided, stop)
        return exit_code_of(decided, self._foreseen, has_successor=has_successor)

    async def _has_successor(self, error: BaseException, stop: asyncio.Event) -> bool:
        """Returns True when another driver caused a fence.

        Also returns True when the daemon is told to stop meanwhile, as the answer then does not
        matter.
        """
        if not isinstance(error, Fenced):
            return isinstance(error, TermSuperseded)
        asking = asyncio.ensure_future(self._leadership.has_successor())
        stopping = asyncio.ensure_future(stop.wait())
        await asyncio.wait({asking, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if asking.done():
            return asking.result()
        asking.cancel()
        return True

    @override
    async def wind_down(self, exit_code: Exit) -> None:
        """Ends tasks and Spark. The next driver goes on from Kafka whatever remains."""
        if self._session and self._run.jvm.is_alive:
            await self._end_tasks(publishes=exit_code is not Exit.FENCED)
        if self._epochs:
            with suppress(Exception):
                async with asyncio.timeout(PART_STOP_SECONDS):
                    await self._epochs.stop()
        if self._session:
            try:
                async with asyncio.timeout(PART_STOP_SECONDS):
                    await run_in_thread(self._session.stop)
            except Exception:
                self._run.jvm.kill()
        with suppress(Exception):
            async with asyncio.timeout(PART_STOP_SECONDS):
                await self._leadership.close()
                if self._metrics:
                    await run_in_thread(self._metrics.stop)

    async def _end_tasks(self, *, publishes: bool) -> None:
        """Ends the tasks, then waits for their receipts.

        Args:
            publishes: publishes the stop command. Not needed after a newer driver's term, which
                ends them.
        """
        try:
            self._leadership.post_stop()
            if publishes:
                async with asyncio.timeout(self._publish_seconds):
                    await self._leadership.stop()
        except Exception as error:
            log.warning("event=stop-unheard %s: tasks are cut off", error_text(error))
            return
        # An epoch may be about to begin: its tasks read the stop command at once.
        await asyncio.sleep(EPOCH_BEGIN_SECONDS)
        if self._epochs:
            await self._epochs.wait_idle(self._drain_seconds)

    @override
    def stop_at_once(self) -> None:
        log.warning("event=stopped-at-once: a second signal")
        logging.shutdown()
        # At once after the kill: Spark's processes would log the JVM's death at length.
        self._run.jvm.kill()
        os._exit(Exit.FAILED)


def exit_code_of(
    error: BaseException, foreseen: Mapping[type[BaseException], Exit], *, has_successor: bool
) -> Exit:
    """Returns the exit code for the error that ended the work, and logs it for the operator.

    Args:
        foreseen: exit codes of other errors, by type.
        has_successor: another driver of this region has published a command.
    """
    match error:
        case Fenced() | TermSuperseded() if has_successor:
            log.error("event=fenced a newer driver of this region runs, this one ends: %s", error)
            return Exit.FENCED
        case Fenced():
            log.error(
                "event=failed our transaction timed out, no other driver publishes: %s", error
            )
            return Exit.FAILED
    return failure(error, foreseen)
