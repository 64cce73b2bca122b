r"""Carrier session: the work under one producer id and epoch, until it is released or fenced.

    acquisition -> pipelines -> reader -> pipelines -> sender (one per target broker)
                                                  \-> progress committer: runs, then entries

The parts share the pipelines; `carrier_assembly` makes and connects them.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiokafka.errors import KafkaError

from replicator.config.settings import ReplicatorSettings
from replicator.kafka.client import trouble_watch
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.kafka.client.progress_expiry import watch_renewal
from replicator.kafka.client.reader import Reader
from replicator.mirror.carrier.acquisition import Acquisition
from replicator.mirror.carrier.carrier_assignment import CarrierAssignment
from replicator.mirror.carrier.command_follower import CommandFollower
from replicator.mirror.carrier.commit_schedule import CommitSchedule
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.pipelines import Pipelines
from replicator.mirror.carrier.progress_committer import ProgressCommitter
from replicator.mirror.carrier.reassignment import Reassignment
from replicator.mirror.carrier.receipt_book import ReceiptBook
from replicator.mirror.carrier.reporting import Reporting
from replicator.mirror.carrier.senders import Senders
from replicator.mirror.carrier.target_watch import TargetWatch
from replicator.mirror.carrier.transaction_watch import TransactionWatch
from replicator.mirror.ledger.sightings import INTERVAL_MS
from replicator.mirror.offset_map.redis_writer import RedisWriter
from replicator.mirror.offset_map.runs_publisher import RunsPublisher
from replicator.runtime.gather import gather_or_cancel

log = logging.getLogger(__name__)

TICK_SECONDS = 0.002
TARGET_WATCH_SECONDS = 1.0
REPORT_SECONDS = INTERVAL_MS / 1000
RELEASE_SECONDS = 3.0
CLOSE_SECONDS = 2.0
METADATA_SECONDS = 30.0


@dataclass(eq=False, kw_only=True)
class CarrierSession:
    """Work under one producer id and epoch, from InitProducerId to the release or a fence.

    Args:
        ending: set when the epoch is over.
    """

    assignment: CarrierAssignment
    settings: ReplicatorSettings
    receipts: ReceiptBook
    source: Cluster
    target: Cluster
    fenced_committer: FencedCommitter
    publisher: RunsPublisher
    redis_writer: RedisWriter
    pipelines: Pipelines
    reader: Reader[PartitionPipeline]
    senders: Senders
    committer: ProgressCommitter
    commit_schedule: CommitSchedule
    acquisition: Acquisition
    reassignment: Reassignment
    command_follower: CommandFollower
    reporting: Reporting
    target_watch: TargetWatch
    transaction_watch: TransactionWatch
    ending: asyncio.Event
    _publisher_start: asyncio.Task[None] | None = field(init=False, default=None)

    async def run(self) -> None:
        """Runs until the epoch is over and everything that could be released is released.

        Raises:
            TermSuperseded: another driver is active, and no partition is held.
            Fenced, ProducerStateLost, Answered, Unreachable: the session cannot continue.
        """
        watches = _started(
            trouble_watch.watch(self.source, self._log_source_trouble),
            trouble_watch.watch(self.target, self._log_target_trouble),
        )
        limit = asyncio.timeout(self._seconds_left)
        try:
            async with limit:
                await self._open()
            await self._carry()
        except TimeoutError:
            if not limit.expired():
                raise
            # The epoch ended before anything was acquired.
        finally:
            for task in watches:
                task.cancel()
            await self._close()

    @property
    def _seconds_left(self) -> float:
        return max(0.0, self.assignment.deadline - time.monotonic())

    async def _open(self) -> None:
        await self.target.open(self.reassignment.topics)
        while True:
            if await self.command_follower.follow():
                break
            await asyncio.sleep(self.settings.word_poll_seconds)
        if self.ending.is_set():
            return
        # Started in the background: it is slow, and nothing needs it before the first runs.
        self._publisher_start = asyncio.create_task(self.publisher.start())
        self.committer.publisher_start = self._publisher_start
        await gather_or_cancel(
            self.source.open(self.reassignment.topics),
            self.redis_writer.start(),
            self.fenced_committer.open(),
        )
        while self.fenced_committer.epoch >= self.settings.producer_epoch_max:
            # Near the maximum producer epoch the broker would assign another producer id. Its
            # markers would not fence the old one, so the session changes the transactional id well
            # before.
            await self.fenced_committer.rotated().open()

    async def _carry(self) -> None:
        settings = self.settings
        self.reassignment.begin()
        filling = _started(self.acquisition.run(), self.reader.run())
        emptying = _started(
            self.senders.run(),
            self.commit_schedule.run(),
            watch_renewal(self.target, self.commit_schedule.renew_within),
            self.reassignment.run(),
            _every(TARGET_WATCH_SECONDS, self.target_watch.check),
            _every(settings.runs_seconds, self.committer.publish_runs),
            _every(settings.word_poll_seconds, self.command_follower.follow),
            _every(REPORT_SECONDS, self.reporting.report),
            _every(REPORT_SECONDS, self.transaction_watch.check),
            _every(METADATA_SECONDS, self._refresh_metadata),
        )
        tasks = filling + emptying
        ending = asyncio.create_task(self.ending.wait())
        try:
            done, _ = await asyncio.wait(
                [ending, *tasks], timeout=self._seconds_left, return_when=asyncio.FIRST_COMPLETED
            )
            for task in done:
                task.result()
            await self._drain(filling, emptying)
        finally:
            for task in (ending, *tasks):
                task.cancel()
            await asyncio.gather(ending, *tasks, self.senders.end(), return_exceptions=True)

    async def _drain(
        self, filling: Sequence[asyncio.Task[None]], emptying: Sequence[asyncio.Task[None]]
    ) -> None:
        """Waits for the batches that may have landed, then releases the empty pipelines.

        Args:
            filling: tasks that add partitions or records; cancelled at once.
            emptying: tasks that send, commit and watch; needed until the end.
        """
        for task in filling:
            task.cancel()
        await asyncio.gather(*filling, return_exceptions=True)
        self.reassignment.end_hand_overs()
        for pipeline in self.pipelines.values():
            pipeline.settle()
        deadline = time.monotonic() + self.settings.drain_seconds
        while time.monotonic() < deadline and any(
            not pipeline.is_empty for pipeline in self.pipelines.values()
        ):
            for task in emptying:
                if task.done():
                    task.result()
            await asyncio.sleep(TICK_SECONDS)
        try:
            async with asyncio.timeout(self.settings.drain_seconds + RELEASE_SECONDS):
                self.receipts.released(await self.committer.release(self.reassignment.free_id))
        except TimeoutError:
            log.error(
                "event=not-released route=%s carrier=%d: %s; the next carrier takes over",
                *self.receipts.log_fields,
                self.target.trouble,
            )

    async def _close(self) -> None:
        self.receipts.note(self.pipelines.values(), self.committer.parked, self.acquisition.waiting)
        if self._publisher_start:
            # A start that is cancelled leaves connections that nobody closes.
            await asyncio.wait([self._publisher_start], timeout=CLOSE_SECONDS)
            self._publisher_start.cancel()
            await asyncio.gather(self._publisher_start, return_exceptions=True)
        self.reporting.count()
        for stop in (self.publisher.stop, self.redis_writer.stop):
            try:
                async with asyncio.timeout(CLOSE_SECONDS):
                    await stop()
            except (TimeoutError, KafkaError, OSError) as error:
                log.warning(
                    "event=close-failed route=%s carrier=%d: %s", *self.receipts.log_fields, error
                )
        await asyncio.gather(self.source.close(), self.target.close())

    async def _refresh_metadata(self) -> None:
        """Refreshes metadata for changes that cause no errors; errors refresh it by themselves."""
        await asyncio.gather(self.source.try_refresh(), self.target.try_refresh())

    def _log_source_trouble(self, text: str) -> None:
        log.warning("event=source-trouble route=%s carrier=%d: %s", *self.receipts.log_fields, text)

    def _log_target_trouble(self, text: str) -> None:
        log.warning("event=target-trouble route=%s carrier=%d: %s", *self.receipts.log_fields, text)


async def _every(seconds: float, act: Callable[[], Awaitable[object]]) -> None:
    while True:
        await asyncio.sleep(seconds)
        await act()


def _started(*loops: Coroutine[Any, Any, None]) -> list[asyncio.Task[None]]:
    return [asyncio.create_task(loop) for loop in loops]
