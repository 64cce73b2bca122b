"""Acquisition: a carrier session acquires its partitions, and retries those it cannot have."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from types import MappingProxyType

from balancer.topic_partition import TopicPartition
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.reader import Reader
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.pipelines import Pipelines
from replicator.mirror.carrier.progress_committer import ProgressCommitter
from replicator.mirror.carrier.receipt_book import ReceiptBook
from replicator.mirror.carrier.releases import Releases
from replicator.mirror.ledger.acquired import Acquired, Taken
from replicator.mirror.ledger.entry import Entry
from replicator.mirror.ledger.takeover import Takeover
from replicator.notices.condition import Kind

log = logging.getLogger(__name__)

ASK_AGAIN_SECONDS = 1.0
PROMISED_ASK_SECONDS = (0.02, 0.08)
"""Range of the random pause between attempts while a release is awaited. Carriers that await the
same carrier thus do not all acquire at once."""
REFRESH_SECONDS = 0.5
Reasons = Mapping[TopicPartition, str]
WAITED_LONG_SECONDS = 5.0


class Acquisition:
    """Acquires the assigned partitions that are not carried: wanted, waiting or parked ones.

    Args:
        takeover: acquires partitions from the ledger.
        releases: decides which partitions may not be acquired yet.
        ends: source and target; their metadata is refreshed while a partition waits.
        pipelines: receives a pipeline for each acquired partition.
        receipts: notes what becomes of each partition.
        reader: reads the added pipelines at once.
    """

    def __init__(
        self,
        takeover: Takeover,
        *,
        releases: Releases,
        ends: tuple[Cluster, Cluster],
        pipelines: Pipelines,
        committer: ProgressCommitter,
        receipts: ReceiptBook,
        reader: Reader[PartitionPipeline],
    ):
        self._takeover = takeover
        self._releases = releases
        self._ends = ends
        self._pipelines = pipelines
        self._committer = committer
        self._receipts = receipts
        self._reader = reader
        self.is_taking = False
        """True while an acquisition runs: it may have committed entries whose pipelines do not
        exist yet."""
        self._wanted = WantedPartitions()
        self._long_waits = LongWaits()
        self._refreshed_at = 0.0
        self._has_wanted = asyncio.Event()

    @property
    def waiting(self) -> Reasons:
        """Partitions still to be acquired, with the reason of the last failure (empty: none)."""
        return self._wanted.waiting

    @property
    def parked(self) -> Reasons:
        """Parked partitions, with the reason."""
        return self._wanted.parked

    def want(self, partitions: Iterable[TopicPartition]) -> None:
        """Adds partitions to be acquired."""
        self._wanted = self._wanted.with_waiting(partitions)
        self._has_wanted.set()

    def await_release(self, partitions: Iterable[TopicPartition]) -> None:
        """Adds partitions to be acquired once their carriers have released them.

        A carrier that does not release in time is fenced.
        """
        wanted = list(partitions)
        self._releases.promise(wanted, time.monotonic())
        self.want(wanted)

    def reclaim(self, partitions: Iterable[TopicPartition]) -> None:
        """Adds partitions to be acquired only while they are held under our own transactional id.

        An earlier session or an unanswered commit left them HELD. Another carrier may wait for
        them, and only this carrier can release them.
        """
        wanted = list(partitions)
        self._releases.reclaim(wanted)
        self.want(wanted)

    def heard(self, asked_at: float) -> None:
        """Notes that a driver command has been applied.

        Args:
            asked_at: monotonic seconds; the command was read at that time or later.
        """
        self._releases.heard(asked_at)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Drops partitions that are no longer to be acquired."""
        unwanted = list(partitions)
        self._releases.forget(unwanted)
        self._wanted = self._wanted.without(unwanted)
        for partition in unwanted:
            self._committer.parked.pop(partition, None)
        self._receipts.left(unwanted)
        if unwanted:
            self._note_conditions()

    def note_parked(self, partition: TopicPartition, reason: str) -> None:
        """Notes that a carried partition has been parked, and retries it."""
        self._wanted = self._wanted.with_parked(partition, reason)
        self._has_wanted.set()
        self._note_conditions()
        self.say_parked(partition, reason)

    async def run(self) -> None:
        """Acquires until cancelled."""
        while True:
            await self._has_wanted.wait()
            self.is_taking = True
            await self._take()
            self.is_taking = False
            if self._releases.is_awaiting:
                if any(self.waiting.values()):
                    await self._refresh()
                await asyncio.sleep(random.uniform(*PROMISED_ASK_SECONDS))
            elif self.waiting or self.parked:
                await asyncio.sleep(ASK_AGAIN_SECONDS)
                if self.waiting:
                    await asyncio.gather(*(end.try_refresh() for end in self._ends))
            else:
                self._has_wanted.clear()

    async def _take(self) -> None:
        asked = self._wanted.partitions
        acquired = await self._takeover.acquire(asked, self._spared)
        self._receipts.carrier_counts.lost(acquired.lost)
        self.forget(self._releases.lost(acquired.spared))
        self._releases.forget(acquired.taken)
        self._add_pipelines(acquired.taken)
        for partition, reason in acquired.parked.items():
            is_reported = (
                partition in self._committer.parked or self.parked.get(partition) == reason
            )
            if not is_reported:
                self.say_parked(partition, reason)
        self._wanted = self._wanted.after(asked, acquired, self._committer.shown_parked())
        self._receipts.note_works()
        self._note_conditions()
        self._log_long_waits(time.monotonic())

    def _add_pipelines(self, taken: Mapping[TopicPartition, Taken]) -> None:
        for partition, one in taken.items():
            pipeline = PartitionPipeline(partition, one.entry)
            pipeline.leader_epoch, pipeline.target_leader = one.source_leader, one.target_leader
            self._pipelines[partition] = pipeline
            self._committer.parked.pop(partition, None)
            self._receipts.acquired(partition)
        if taken:
            self._reader.changed.set()
            self._pipelines.added.set()

    def _spared(self, entries: Mapping[TopicPartition, Entry | None]) -> set[TopicPartition]:
        """Returns the partitions to leave alone: not released yet, or no longer wanted."""
        unwanted = entries.keys() - self._wanted.partitions
        return unwanted | self._releases.spared(entries, time.monotonic())

    async def _refresh(self) -> None:
        """Refreshes metadata every REFRESH_SECONDS at most: a waiting partition's topic may be
        new."""
        if time.monotonic() - self._refreshed_at > REFRESH_SECONDS:
            self._refreshed_at = time.monotonic()
            await asyncio.gather(*(end.try_refresh() for end in self._ends))

    def _note_conditions(self) -> None:
        """Notes as conditions which partitions are not carried."""
        self._receipts.note_conditions(
            Kind.WAITING, {it: why for it, why in self.waiting.items() if why}
        )
        self._receipts.note_conditions(Kind.PARKED, self.parked)

    def _log_long_waits(self, now: float) -> None:
        for reason, example in self._long_waits.overdue(self.waiting, now).items():
            log.warning(
                "event=waiting route=%s carrier=%d such as %s-%d: %s",
                *self._receipts.log_fields,
                *example,
                reason,
            )

    def say_parked(self, partition: TopicPartition, reason: str) -> None:
        """Logs that a partition is parked, and notes it in the receipt."""
        log.error(
            "event=parked route=%s carrier=%d %s-%d: %s",
            *self._receipts.log_fields,
            *partition,
            reason,
        )
        self._receipts.parked(partition, reason)


@dataclass(frozen=True, slots=True)
class WantedPartitions:
    """Partitions to be acquired.

    Args:
        waiting: not available yet, with the reason of the last failure (empty: none).
        parked: not carried until an operator decides, with the reason. They are retried, so that
            the decision takes effect within the epoch.
    """

    waiting: Reasons = field(default_factory=lambda: MappingProxyType({}))
    parked: Reasons = field(default_factory=lambda: MappingProxyType({}))

    @property
    def partitions(self) -> set[TopicPartition]:
        """Partitions that the next attempt asks for."""
        return self.waiting.keys() | self.parked.keys()

    def with_waiting(self, partitions: Iterable[TopicPartition]) -> WantedPartitions:
        """Returns these and further partitions, not tried yet."""
        return replace(self, waiting={**self.waiting, **dict.fromkeys(partitions, "")})

    def with_parked(self, partition: TopicPartition, reason: str) -> WantedPartitions:
        """Returns these and a partition that has just been parked."""
        return replace(self, parked={**self.parked, partition: reason})

    def without(self, partitions: Collection[TopicPartition]) -> WantedPartitions:
        """Returns the other partitions."""
        return WantedPartitions(
            _without(self.waiting, partitions), _without(self.parked, partitions)
        )

    def after(
        self, asked: Collection[TopicPartition], acquired: Acquired, parked: Reasons
    ) -> WantedPartitions:
        """Returns the partitions that are still wanted after an attempt.

        Partitions that were added or dropped during the attempt were not part of it.

        Args:
            asked: the partitions when the attempt began.
            acquired: result of the attempt.
            parked: partitions that were parked while carried, with the reasons.
        """
        dropped = set(asked) - self.partitions
        added = {each: "" for each in self.waiting if each not in asked}
        waiting = {**dict.fromkeys(acquired.spared, ""), **acquired.waiting, **added}
        all_parked = {**acquired.parked, **parked}
        return WantedPartitions(_without(waiting, dropped), _without(all_parked, dropped))


def _without(reasons: Reasons, partitions: Collection[TopicPartition]) -> Reasons:
    gone = set(partitions)
    return {partition: reason for partition, reason in reasons.items() if partition not in gone}


class LongWaits:
    """Reasons for which partitions have waited, each reported once."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}

    def overdue(self, waiting: Reasons, now: float) -> dict[str, TopicPartition]:
        """Returns the reasons that have lasted, with one partition as example.

        Args:
            now: monotonic seconds.
        """
        examples = {reason: partition for partition, reason in waiting.items() if reason}
        since = {reason: self._since.get(reason, now) for reason in examples}
        lasting = [reason for reason, at in since.items() if now - at > WAITED_LONG_SECONDS]
        self._since = since | dict.fromkeys(lasting, inf)
        return {reason: examples[reason] for reason in lasting}
