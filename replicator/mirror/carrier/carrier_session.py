r"""Carrier session: the work under one producer id and epoch, until it is released or fenced.

    acquisition -> pipelines -> reader -> pipelines -> sender (one per target broker)
                                                  \-> progress committer: runs, then entries

The parts know each other only through the pipelines.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any

from aiokafka.errors import KafkaError

from replicator.batches.packer import PackingRule
from replicator.config.topology import Appliance
from replicator.kafka.client import trouble_watch
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.mirror.carrier.acquisition import Acquisition
from replicator.mirror.carrier.assignment import Assignment
from replicator.mirror.carrier.pace import Pace
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.pipelines import Pipelines
from replicator.mirror.carrier.progress_committer import ProgressCommitter
from replicator.mirror.carrier.reader import Reader
from replicator.mirror.carrier.reassignment import Reassignment
from replicator.mirror.carrier.receipt_book import ReceiptBook
from replicator.mirror.carrier.releases import Releases
from replicator.mirror.carrier.reporting import Reporting
from replicator.mirror.carrier.sender import Sender
from replicator.mirror.carrier.senders import Senders
from replicator.mirror.carrier.target_watch import TargetWatch
from replicator.mirror.carrier.transaction_watch import TransactionWatch
from replicator.mirror.ledger.ledger import Ledger
from replicator.mirror.ledger.sightings import INTERVAL_MS
from replicator.mirror.ledger.takeover import Takeover
from replicator.mirror.offset_map.offset_feed import OffsetFeed
from replicator.mirror.offset_map.runs_publisher import RunsPublisher
from replicator.mirror.offset_map.runs_tail import RunsTail
from replicator.runtime.gather import gather_or_cancel
from replicator.spark.driver_command import TermSuperseded, read_word

log = logging.getLogger(__name__)

MAX_MESSAGE_BYTES = 1_048_588
"""Kafka's default of max.message.bytes."""
TICK_SECONDS = 0.002
LEDGER_TICK_SECONDS = 0.05
TARGET_WATCH_SECONDS = 1.0
REPORT_SECONDS = INTERVAL_MS / 1000
RELEASE_SECONDS = 3.0
CLOSE_SECONDS = 2.0
METADATA_SECONDS = 30.0
PROMISE_SPARE_SECONDS = 5.0
MOVE_UP_SECONDS = 60.0
MOVE_UP_PATIENCE_SECONDS = 5.0


class CarrierSession:
    """Work under one producer id and epoch, from InitProducerId to the release or a fence."""

    def __init__(self, appliance: Appliance, assignment: Assignment, book: ReceiptBook):
        settings = appliance.replicator
        self._assignment = assignment
        self._settings = settings
        self._book = book
        self._pipelines = Pipelines()
        self._over = asyncio.Event()
        self._uncovered = asyncio.Event()
        self._limits = dict(assignment.max_message_bytes)
        route, client_id = assignment.route, assignment.transactional_id
        self._source, self._target = (
            Cluster(
                name,
                cluster,
                client_id=client_id,
                request_timeout_ms=settings.request_timeout_ms,
                idle_seconds=settings.connections_idle_seconds,
            )
            for name, cluster in (
                (f"{route.source} regional", appliance.source_of(route)),
                (f"{route.target} aggregate", appliance.target_of(route)),
            )
        )
        self._writer = FencedCommitter(
            self._target, assignment.transactional_id, settings.transaction_timeout_ms
        )
        target = appliance.target_of(route)
        region = appliance.region(route.target)
        self._publisher = RunsPublisher(
            target.bootstrap,
            route.key,
            target.security.aiokafka_options(),
            request_timeout_ms=settings.request_timeout_ms,
        )
        self._feed = OffsetFeed(region.redis_url(), route.key, assignment.number)
        self._runs = RunsTail(self._target, route.key)
        ledger = Ledger(self._target, route, self._runs)
        self._committer = ProgressCommitter(
            ledger=ledger,
            writer=self._writer,
            target=self._target,
            pipelines=self._pipelines,
            publisher=self._publisher,
            feed=self._feed,
        )
        self._senders = Senders(self._target, self._pipelines, self._sender)
        self._reader = Reader(
            source=self._source,
            pipelines=self._pipelines,
            rule_of=self._rule_of,
            fetch_bytes=settings.fetch_mib << 20,
            filled=self._filled,
        )
        takeover = Takeover(
            ledger=ledger,
            fenced_committer=self._writer,
            source=self._source,
            target=self._target,
            start=appliance.topics.start,
            tell=self._committer.tell_found,
            timeout_ms=settings.transaction_timeout_ms,
            runs=self._runs,
        )
        releases = Releases(
            own_id=lambda: self._writer.transactional_id,
            promise_seconds=settings.request_timeout_ms / 1000 + PROMISE_SPARE_SECONDS,
        )
        self._acquisition = Acquisition(
            takeover,
            releases=releases,
            ends=(self._source, self._target),
            pipelines=self._pipelines,
            committer=self._committer,
            receipts=book,
            taken=self._taken,
        )
        self._following = Reassignment(
            assignment,
            fenced_committer=self._writer,
            ends=(self._source, self._target),
            pipelines=self._pipelines,
            acquisition=self._acquisition,
            committer=self._committer,
            receipts=book,
            limits=self._limits,
            nothing_left=self._over.set,
        )
        self._publishing: asyncio.Task[None] | None = None
        self._pace = Pace(route.name, assignment.number, book.tally)
        self._reporting = Reporting(
            pace=self._pace,
            pipelines=self._pipelines,
            committer=self._committer,
            book=book,
            feed=self._feed,
        )
        self._transaction_watch = TransactionWatch(
            self._source, self._pipelines, book.who, settings.open_transaction_seconds
        )

    async def run(self) -> None:
        """Runs until the epoch is over and everything that could be released is released.

        Raises:
            TermSuperseded: another driver is active, and no partition is held.
            Fenced, ProducerStateLost, Answered, Unreachable: the session cannot continue.
        """
        complaining = _started(
            trouble_watch.watch(self._source, self._source_trouble),
            trouble_watch.watch(self._target, self._target_trouble),
        )
        limit = asyncio.timeout(max(0.0, self._assignment.deadline - time.time()))
        try:
            async with limit:
                await self._open()
            await self._live()
        except TimeoutError:
            if not limit.expired():
                raise
            # The epoch ended before anything was acquired.
        finally:
            for task in complaining:
                task.cancel()
            await self._close()

    async def _open(self) -> None:
        await self._target.open(self._following.topics)
        while True:
            if await self._heed_word():
                break
            await asyncio.sleep(self._settings.word_poll_seconds)
        if self._over.is_set():
            return
        # Started in the background: it is slow, and nothing needs it before the first runs.
        self._publishing = asyncio.create_task(self._publisher.start())
        self._committer.publishing = self._publishing
        topics = self._following.topics
        await gather_or_cancel(self._source.open(topics), self._feed.start(), self._writer.open())
        while self._writer.epoch >= self._settings.producer_epoch_max:
            # Near the maximum producer epoch the broker would assign another producer id. Its
            # markers would not fence the old one, so the session changes the transactional id well
            # before.
            await self._writer.rotated().open()

    async def _live(self) -> None:
        self._following.begin()
        filling = _started(self._acquisition.run(), self._reader.run())
        emptying = _started(
            self._senders.run(),
            self._keep_ledger(),
            self._following.run(),
            self._every(
                TARGET_WATCH_SECONDS,
                TargetWatch(self._target, self._pipelines, self._following.park).look,
            ),
            self._every(self._settings.runs_seconds, self._committer.tell),
            self._every(self._settings.word_poll_seconds, self._heed_word),
            self._every(REPORT_SECONDS, self._reporting.report),
            self._every(REPORT_SECONDS, self._transaction_watch.look),
            self._every(METADATA_SECONDS, self._look_around),
        )
        tasks = filling + emptying
        ending = asyncio.create_task(self._over.wait())
        try:
            timeout = max(0.0, self._assignment.deadline - time.time())
            done, _ = await asyncio.wait(
                [ending, *tasks], timeout=timeout, return_when=asyncio.FIRST_COMPLETED
            )
            for task in done:
                task.result()
            await self._drain(filling, emptying)
        finally:
            for task in (ending, *tasks):
                task.cancel()
            await asyncio.gather(ending, *tasks, self._senders.end(), return_exceptions=True)

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
        self._following.stop()
        for pipeline in self._pipelines.values():
            pipeline.settle()
        deadline = time.monotonic() + self._settings.drain_seconds
        while time.monotonic() < deadline and any(
            not pipeline.is_empty for pipeline in self._pipelines.values()
        ):
            for task in emptying:
                if task.done():
                    task.result()
            await asyncio.sleep(TICK_SECONDS)
        self._book.note(self._pipelines.values(), self._committer.parked, self._acquisition.waiting)
        try:
            async with asyncio.timeout(self._settings.drain_seconds + RELEASE_SECONDS):
                self._book.released(await self._committer.release(self._following.free_id))
        except TimeoutError:
            log.error(
                "event=not-released route=%s carrier=%d: %s; the next carrier takes over",
                *self._book.who,
                self._target.trouble,
            )

    async def _close(self) -> None:
        self._book.note(self._pipelines.values(), self._committer.parked, self._acquisition.waiting)
        if self._publishing:
            # A start that is cancelled leaves connections that nobody closes.
            await asyncio.wait([self._publishing], timeout=CLOSE_SECONDS)
            self._publishing.cancel()
            await asyncio.gather(self._publishing, return_exceptions=True)
        self._reporting.count()
        for stop in (self._publisher.stop, self._feed.stop):
            try:
                async with asyncio.timeout(CLOSE_SECONDS):
                    await stop()
            except (TimeoutError, KafkaError, OSError) as error:
                log.warning("event=close-failed route=%s carrier=%d: %s", *self._book.who, error)
        await asyncio.gather(self._source.close(), self._target.close())

    # -- loops

    async def _every(self, seconds: float, act: Callable[[], Awaitable[object]]) -> None:
        while True:
            await asyncio.sleep(seconds)
            await act()

    async def _keep_ledger(self) -> None:
        """Commits entries: at once where a gap must be covered, else by time and bytes shipped."""
        bytes_max = self._settings.ledger_mib << 20
        last = moved_up = time.monotonic()
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(LEDGER_TICK_SECONDS):
                    await self._uncovered.wait()
            self._uncovered.clear()
            now = time.monotonic()
            pipelines = list(self._pipelines.values())
            for pipeline in pipelines:
                if pipeline.stopping and pipeline.is_empty:
                    await self._following.park(pipeline, pipeline.stopping)
            waiting = [pipeline for pipeline in self._pipelines.busy() if pipeline.waits_for_cover]
            is_due = now - last > self._settings.ledger_seconds
            if is_due or self._pace.bytes_since_commit > bytes_max:
                renew = now - moved_up > MOVE_UP_SECONDS
                if renew:
                    await self._move_up(pipelines)
                    moved_up = now
                self._pace.bytes_since_commit = 0
                last = now
                await self._committer.commit(pipelines, even_unchanged=renew)
                self._senders.wake()
            elif waiting:
                await self._committer.commit(waiting)
                self._senders.wake()

    async def _move_up(self, pipelines: list[PartitionPipeline]) -> None:
        """Raises the target offsets of idle pipelines to the ends of the target's logs.

        A takeover then need not read what other producers appended.
        """
        for pipeline in pipelines:
            pipeline.rest()
        idle = [
            pipeline
            for pipeline in pipelines
            if pipeline.is_empty and self._target.leader(*pipeline.partition)
        ]
        # A partition that is just losing its leader must not hold up the entries of all others.
        with suppress(TimeoutError):
            async with asyncio.timeout(MOVE_UP_PATIENCE_SECONDS):
                asked = (self._target.log_end(*pipeline.partition) for pipeline in idle)
                ends = await asyncio.gather(*asked)
                await self._runs.look()
            for pipeline, end in zip(idle, ends, strict=True):
                pipeline.moved_up(end)

    async def _heed_word(self) -> bool:
        """Applies the driver command.

        Returns False if no command of our driver or a later one can be read yet.

        Raises:
            TermSuperseded: another driver is active, and no partition is held.
        """
        asked_at = time.monotonic()
        word = await read_word(self._target, self._assignment.route.target)
        term = self._assignment.term
        if word is None or word.term.is_before(term):
            # Our driver published a command before it started this carrier. A coordinator that has
            # just moved may not know it yet.
            return False
        if word.term != term:
            if not self._pipelines:
                raise TermSuperseded(f"the driver in office is {word.term}")
            log.warning("event=other-term route=%s carrier=%d: draining", *self._book.who)
            self._over.set()
        elif word.stop or word.course.since > self._assignment.plan_version:
            self._over.set()
        else:
            self._following.heed(word)
        self._acquisition.heard(asked_at)
        return True

    def _source_trouble(self, text: str) -> None:
        log.warning("event=source-trouble route=%s carrier=%d: %s", *self._book.who, text)

    def _target_trouble(self, text: str) -> None:
        log.warning("event=target-trouble route=%s carrier=%d: %s", *self._book.who, text)

    # -- callbacks of the parts

    def _taken(self) -> None:
        self._reader.changed.set()
        self._senders.took.set()

    def _sender(self, node: int) -> Sender:
        return Sender(
            node,
            target=self._target,
            pipelines=self._pipelines,
            producer_id=self._writer.producer_id,
            window=self._settings.window,
            timeout_ms=self._settings.request_timeout_ms // 2,
            prove=self._prove,
            uncovered=self._uncovered.set,
            park=self._following.park,
            shipped=lambda unit: self._pace.shipped(unit, time.time()),
        )

    def _rule_of(self, topic: str) -> PackingRule:
        return PackingRule(
            max_bytes=self._limits.get(topic, MAX_MESSAGE_BYTES),
            merge_below_records=self._settings.merge_below_records,
        )

    def _filled(self, pipelines: list[PartitionPipeline]) -> None:
        self._pipelines.stir(pipelines)
        self._senders.wake()

    async def _prove(self, pipelines: list[PartitionPipeline]) -> bool:
        return await self._committer.commit(pipelines, even_unchanged=True)

    async def _look_around(self) -> None:
        """Refreshes metadata for changes that cause no errors; errors refresh it by themselves."""
        await asyncio.gather(self._source.try_refresh(), self._target.try_refresh())


def _started(*loops: Coroutine[Any, Any, None]) -> list[asyncio.Task[None]]:
    return [asyncio.create_task(loop) for loop in loops]
