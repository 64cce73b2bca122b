r"""Loader session: the work of a loader under one producer id and epoch.

    acquisition -> partitions -> reader -> partitions -> block forming -> shard
                                                             \-> intent committer

The parts know each other only through the partitions; `loader_assembly` makes them.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from aggregator.loader.acquisition import Acquisition
from aggregator.loader.counters import TAKEOVER_SECONDS, TAKEOVERS
from aggregator.loader.held_partition import HeldPartition
from aggregator.loader.intent_committer import IntentCommitter, IntentRefused
from aggregator.loader.loader_assignment import LoaderAssignment
from aggregator.loader.loader_counts import LoaderCounts
from aggregator.loader.partition_error import PartitionError
from aggregator.loader.reporting import Reporting
from aggregator.loader.sink import Sink
from balancer.topic_partition import TopicPartition
from replicator.config.names import aggregator_id
from replicator.config.settings import PRODUCER_EPOCH_MAX
from replicator.kafka.client import trouble_watch
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.fenced_committer import FencedCommitter, base_id
from replicator.kafka.client.progress_expiry import watch_renewal
from replicator.kafka.client.reader import Reader
from replicator.notices.condition import Kind, Subject
from replicator.notices.conditions import Conditions
from replicator.runtime.clock import monotonic
from replicator.runtime.gather import gather_or_cancel
from replicator.runtime.report_once import ReportOnce
from replicator.spark.driver_command import TermSuperseded, read_command

log = logging.getLogger(__name__)

COMMAND_SECONDS = 0.2
ASK_AGAIN_SECONDS = 1.0
UPKEEP_SECONDS = 0.05
REPORT_SECONDS = 1.0
METADATA_SECONDS = 30.0
RELEASE_SECONDS = 10.0


def released_id(transactional_id: str) -> str:
    """Returns the id that released intents of a loader name."""
    return f"{base_id(transactional_id)}.free"


@dataclass(eq=False, kw_only=True)
class LoaderSession:
    """Work under one producer id and epoch, from InitProducerId to the release or a fence.

    Args:
        partitions: held by this session.
        renew_seconds: interval at which the intents of idle partitions are committed again. Brokers
            forget commits that are not renewed within offsets.retention.minutes.
        conditions: where partitions that are not loaded are noted.
    """

    region: str
    assignment: LoaderAssignment
    source: Cluster
    fenced_committer: FencedCommitter
    partitions: dict[TopicPartition, HeldPartition]
    acquisition: Acquisition
    reader: Reader[HeldPartition]
    sink: Sink
    intents: IntentCommitter
    reporting: Reporting
    loader_counts: LoaderCounts
    renew_seconds: float
    conditions: Conditions = field(default_factory=lambda: Conditions("loader"))
    ending: asyncio.Event = field(default_factory=asyncio.Event)
    _reports: ReportOnce = field(init=False, default_factory=ReportOnce)
    _parking: set[TopicPartition] = field(init=False, default_factory=set)
    _failed_at: dict[TopicPartition, int] = field(init=False, default_factory=dict)
    """Offsets of the intents from which failed partitions began anew."""
    _made_at: float = field(init=False, default_factory=monotonic)

    async def run(self) -> None:
        """Runs until the epoch is over and everything that could be loaded is released.

        Raises:
            TermSuperseded: another driver leads, and no partition is held.
            Fenced, ProducerStateLost, Answered, Unreachable: the session cannot continue.
        """
        watch = asyncio.create_task(trouble_watch.watch(self.source, self._log_trouble))
        limit = asyncio.timeout(self._seconds_left)
        try:
            async with limit:
                await self._open()
            for kind in (Kind.LOADER_WAITS, Kind.LOADER_FAILED):
                self.conditions.replace(kind, {})
            await self._work()
        except TimeoutError:
            if not limit.expired():
                raise
        finally:
            watch.cancel()
            await self.intents.close()
            await self.sink.close()
            await self.source.close()

    @property
    def _seconds_left(self) -> float:
        return max(0.0, self.assignment.deadline - time.monotonic())

    async def _open(self) -> None:
        await self.source.open({partition.topic for partition in self.assignment.partitions})
        while True:
            if await self._follow():
                break
            await asyncio.sleep(COMMAND_SECONDS)
        await self.fenced_committer.open()
        while self.fenced_committer.epoch >= PRODUCER_EPOCH_MAX:
            await self.fenced_committer.rotated().open()

    async def _work(self) -> None:
        filling = _started(self._acquire(), self.reader.run())
        emptying = _started(
            self.sink.forming.run(),
            watch_renewal(self.source, self._renew_within),
            _every(UPKEEP_SECONDS, self.upkeep),
            _every(COMMAND_SECONDS, self._follow),
            _every(REPORT_SECONDS, self._report),
            _every(METADATA_SECONDS, self.source.try_refresh),
        )
        ending = asyncio.create_task(self.ending.wait())
        tasks = filling + emptying
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
            await asyncio.gather(ending, *tasks, return_exceptions=True)

    # -- holding

    async def _acquire(self) -> None:
        """Acquires the assigned partitions; asks again for those that wait or are parked."""
        while True:
            wanted = [p for p in self.assignment.partitions if p not in self.partitions]
            if not wanted:
                self._note({}, {})
                await asyncio.sleep(ASK_AGAIN_SECONDS)
                continue
            acquired = await self.acquisition.acquire(wanted)
            taken = {partition: intent for partition, (intent, _) in acquired.taken.items()}
            for partition, intent in (await self.sink.recall(taken)).items():
                self._reports.settle(partition)
                _, leader_epoch = acquired.taken[partition]
                self.partitions[partition] = self.sink.hold(partition, intent, leader_epoch)
                self._freeze(self.partitions[partition])
                self.loader_counts.show_partition(partition)
                self.loader_counts.add(TAKEOVERS)
                self.loader_counts.add(TAKEOVER_SECONDS, amount=time.monotonic() - self._made_at)
            self.reader.changed.set()
            for partition, parked in acquired.parked.items():
                self._tell("parked", partition, parked.reason)
            for partition, reason in acquired.waiting.items():
                self._tell("waiting", partition, reason)
            self._note(
                {place: each.reason for place, each in acquired.parked.items()}, acquired.waiting
            )
            self.reporting.parked = acquired.parked
            if acquired.parked or acquired.waiting:
                await self.source.try_refresh()
                await asyncio.sleep(ASK_AGAIN_SECONDS)

    def _note(
        self, parked: Mapping[TopicPartition, str], waiting: Mapping[TopicPartition, str]
    ) -> None:
        """Notes as conditions what is not held, with the reasons."""
        feed, cluster = self.assignment.feed.name, str(self.assignment.cluster)
        for kind, reasons in ((Kind.PARKED, parked), (Kind.WAITING, waiting)):
            subjects = {Subject("", feed, cluster, *it): why for it, why in reasons.items() if why}
            self.conditions.replace(kind, subjects)

    async def _report(self) -> None:
        """Notes tables that wait and columns that are not loaded, and reports on partitions."""
        feed, cluster = self.assignment.feed.name, str(self.assignment.cluster)
        texts: dict[Subject, str] = {}
        for (topic, _), why in self.sink.tables.waiting.items():
            about = Subject(feed=feed, cluster=cluster, topic=topic)
            texts[about] = f"{texts[about]}; {why}" if about in texts else why
        self.conditions.replace(Kind.TABLE_REFUSED, texts)
        unloaded = self.sink.unloaded().items()
        columns = {Subject("", feed, cluster, topic): why for topic, why in unloaded}
        self.conditions.replace(Kind.COLUMNS_NOT_LOADED, columns)
        await self.reporting.report()

    def _tell(self, event: str, partition: TopicPartition, reason: str) -> None:
        if event == "waiting" and not self.reporting.is_long(partition):
            return
        if self._reports.is_news(partition, reason):
            level = logging.ERROR if event == "parked" else logging.WARNING
            fields = self.assignment.log_fields
            log.log(level, "event=%s %s %s-%d: %s", event, fields, *partition, reason)

    async def upkeep(self) -> None:
        """Parks partitions that cannot go on, begins forced flushes, renews old intents."""
        now = time.monotonic()
        due = []
        for place, partition in list(self.partitions.items()):
            if partition.is_to_park:
                await self._park(place, partition)
                continue
            if partition.error is not None:
                await self._begin_anew(place, partition, partition.error)
                continue
            if partition.is_to_reread:
                if await self._drop(place, partition):
                    self._hold_anew(place, partition)
                continue
            self._freeze(partition)
            progress = partition.progress
            is_stopping = partition.is_settling or partition.is_frozen
            has_news = progress.position > partition.intent.offset or partition.intent.tables
            if partition.flush is not None and has_news:
                partition.flush.keep(
                    progress, now, self.sink.flush_seconds, is_stopping=is_stopping
                )
            if progress.is_flushed or now - partition.committed_at >= self.renew_seconds:
                due.append(partition)
        with suppress(IntentRefused):
            await gather_or_cancel(*map(self.intents.commit, due))

    def _renew_within(self, seconds: float) -> None:
        self.renew_seconds = min(self.renew_seconds, seconds)

    def _freeze(self, partition: HeldPartition) -> None:
        """Stops or resumes reading, by the orders of operators."""
        is_frozen, place = self.assignment.is_frozen, partition.partition
        stops_at = partition.frozen_table
        partition.is_frozen = is_frozen(place) or (
            stops_at is not None and is_frozen(place, stops_at)
        )

    async def _park(self, place: TopicPartition, partition: HeldPartition) -> None:
        """Commits the intent as parked: a block that is under way is named by it."""
        await self.sink.forming.drop(place)
        await self.intents.park(partition)
        if partition.intent.parked:
            self.loader_counts.lost(partition.intent.parked.kind)
        del self.partitions[place]
        self._tell("parked", place, str(partition.intent.parked))

    async def _begin_anew(
        self, place: TopicPartition, before: HeldPartition, error: PartitionError
    ) -> None:
        """Begins a failed partition anew from its intent; parks it if it has failed there before.

        The other partitions go on.
        """
        if not await self._drop(place, before):
            return
        if self._failed_at.get(place) == before.intent.offset:
            before.failure = error.loss
            await self._park(place, before)
            return
        self._failed_at[place] = before.intent.offset
        self._hold_anew(place, before).is_careful = True

    async def _drop(self, place: TopicPartition, before: HeldPartition) -> bool:
        """Drops what is under way of a partition; False if it is held no more, or to be parked."""
        await self.sink.forming.drop(place)
        # A commit of what was cancelled may be under way; the partition begins, or parks, behind
        # it: what is told and set aside with that is in no later intent.
        with suppress(IntentRefused):
            await self.intents.commit(before)
        return self.partitions.get(place) is before and not before.is_to_park

    def _hold_anew(self, place: TopicPartition, before: HeldPartition) -> HeldPartition:
        """Begins a partition anew from its intent."""
        anew = self.sink.hold(place, before.intent, -1)
        anew.is_settling, anew.is_frozen, anew.rows = (
            before.is_settling,
            before.is_frozen,
            before.rows,
        )
        anew.is_careful, anew.left_behind = before.is_careful, before.left_behind
        for table, offset in before.left_behind.items():
            anew.progress.leave(table, offset)
        self.partitions[place] = anew
        self.reader.changed.set()
        return anew

    async def _follow(self) -> bool:
        """Reads the driver's command; sets `ending` when the epoch is over.

        Returns False if no command of our driver or a later one can be read yet.

        Raises:
            TermSuperseded: another driver leads, and no partition is held.
        """
        command = await read_command(self.source, aggregator_id(self.region))
        term = self.assignment.term
        if command is None or command.is_before(term, self.assignment.plan_version):
            return False
        if command.term != term:
            if not self.partitions:
                raise TermSuperseded(f"the leading driver is {command.term}")
            log.warning("event=other-term %s: draining", self.assignment.log_fields)
            self.ending.set()
        elif command.stop or command.plan_version > self.assignment.plan_version:
            self.ending.set()
        return True

    # -- the end

    async def _drain(
        self, filling: Sequence[asyncio.Task[None]], emptying: Sequence[asyncio.Task[None]]
    ) -> None:
        """Loads what was read, then releases the partitions whose records are all loaded.

        Args:
            filling: tasks that add partitions or records; cancelled at once.
            emptying: tasks that load and commit; needed until the end.
        """
        for task in filling:
            task.cancel()
        await asyncio.gather(*filling, return_exceptions=True)
        for partition in self.partitions.values():
            partition.is_settling = True
        deadline = time.monotonic() + RELEASE_SECONDS
        while time.monotonic() < deadline and not all(map(_is_settled, self.partitions.values())):
            for task in emptying:
                if task.done():
                    task.result()
            await asyncio.sleep(UPKEEP_SECONDS)
        for task in emptying:
            task.cancel()
        await asyncio.gather(*emptying, return_exceptions=True)
        released = {p: each for p, each in self.partitions.items() if _is_settled(each)}
        held = sorted(self.partitions.keys() - released.keys())
        if held:
            log.warning(
                "event=not-released %s partitions=%d such as %s-%d: blocks are not loaded yet; the "
                "next loader repeats them",
                self.assignment.log_fields,
                len(held),
                *held[0],
            )
        async with asyncio.timeout(RELEASE_SECONDS):
            await self.intents.release(
                released, released_id(self.fenced_committer.transactional_id)
            )

    def _log_trouble(self, text: str) -> None:
        log.warning("event=source-trouble %s: %s", self.assignment.log_fields, text)


def _is_settled(partition: HeldPartition) -> bool:
    """Returns True when a release loses no work."""
    released: bool = partition.progress.can_release(partition.intent)
    return released


async def _every(seconds: float, act: Callable[[], Awaitable[object]]) -> None:
    while True:
        await asyncio.sleep(seconds)
        await act()


def _started(*loops: Coroutine[Any, Any, None]) -> list[asyncio.Task[None]]:
    return [asyncio.create_task(loop) for loop in loops]
