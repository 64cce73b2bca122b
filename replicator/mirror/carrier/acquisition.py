"""Acquisition: a carrier session acquires its partitions, and retries those it cannot have."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Iterable, Mapping
from math import inf

from balancer.plan import TopicPartition
from replicator.kafka.client.cluster import Cluster
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.pipelines import Pipelines
from replicator.mirror.carrier.progress_committer import ProgressCommitter
from replicator.mirror.carrier.receipt_book import ReceiptBook
from replicator.mirror.carrier.releases import Releases
from replicator.mirror.ledger.entry import Entry
from replicator.mirror.ledger.takeover import Takeover

log = logging.getLogger(__name__)

ASK_AGAIN_SECONDS = 1.0
PROMISED_ASK_SECONDS = (0.02, 0.08)
"""Range of the random pause between attempts while a release is awaited. Carriers that await the
same carrier thus do not all acquire at once."""
REFRESH_SECONDS = 0.5
WAITED_LONG_SECONDS = 5.0


class Acquisition:
    """Acquires the assigned partitions that are not carried: wanted, waiting or parked ones.

    Args:
        takeover: acquires partitions from the ledger.
        releases: decides which partitions may not be acquired yet.
        ends: source and target; their metadata is refreshed while a partition waits.
        pipelines: receives a pipeline for each acquired partition.
        taken: called after pipelines were added.
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
        taken: Callable[[], None],
    ):
        self._takeover = takeover
        self._releases = releases
        self._ends = ends
        self._pipelines = pipelines
        self._committer = committer
        self._receipts = receipts
        self._taken = taken
        self.waiting: dict[TopicPartition, str] = {}
        """Partitions still to be acquired, with the reason of the last failure (empty: none)."""
        self.stopped: dict[TopicPartition, str] = {}
        """Parked partitions, with the reason."""
        self._waiting_since: dict[str, float] = {}
        self.is_taking = False
        """True while an acquisition runs: it may have committed entries whose pipelines do not
        exist yet."""
        self._refreshed_at = 0.0
        self._wanting = asyncio.Event()

    def want(self, partitions: Iterable[TopicPartition]) -> None:
        """Adds partitions to be acquired."""
        self.waiting |= dict.fromkeys(partitions, "")
        self._wanting.set()

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
        for partition in unwanted:
            self.waiting.pop(partition, None)
            self.stopped.pop(partition, None)
            self._committer.parked.pop(partition, None)
        self._receipts.left(unwanted)

    def stop(self, partition: TopicPartition, reason: str) -> None:
        """Notes that a carried partition has been parked, and retries it."""
        self.stopped[partition] = reason
        self._wanting.set()
        self.say_parked(partition, reason)

    async def run(self) -> None:
        """Acquires until cancelled."""
        while True:
            # Parked partitions are retried too, so that an operator's decision takes effect within
            # the epoch.
            await self._wanting.wait()
            self.is_taking = True
            await self._take()
            self.is_taking = False
            if self._releases.is_awaiting:
                if any(self.waiting.values()):
                    await self._refresh()
                await asyncio.sleep(random.uniform(*PROMISED_ASK_SECONDS))
                continue
            # `stop` may have added a partition during the attempt.
            if not (self.waiting or self.stopped):
                self._wanting.clear()
                continue
            await asyncio.sleep(ASK_AGAIN_SECONDS)
            if self.waiting:
                await asyncio.gather(*(end.try_refresh() for end in self._ends))

    async def _take(self) -> None:
        asked = self.waiting.keys() | self.stopped.keys()
        acquired = await self._takeover.acquire(asked, self._spared)
        self._receipts.tally.lost(acquired.lost)
        self.forget(self._releases.lost(acquired.spared))
        self._releases.forget(acquired.taken)
        for partition, one in acquired.taken.items():
            pipeline = PartitionPipeline(partition, one.entry)
            pipeline.source_leader, pipeline.target_leader = one.source_leader, one.target_leader
            self._pipelines[partition] = pipeline
            self._committer.parked.pop(partition, None)
            self._receipts.resumed(partition)
        if acquired.taken:
            self._taken()
        for partition, reason in acquired.parked.items():
            is_told = partition in self._committer.parked or self.stopped.get(partition) == reason
            if not is_told:
                self.say_parked(partition, reason)
        # Partitions that were added or dropped during the attempt were not part of it.
        new = {each: "" for each in self.waiting if each not in asked}
        gone = asked - self.waiting.keys() - self.stopped.keys()
        left = {**dict.fromkeys(acquired.spared, ""), **acquired.waiting, **new}
        self.waiting = {each: reason for each, reason in left.items() if each not in gone}
        parked = acquired.parked | self._committer.shown_parked()
        self.stopped = {each: reason for each, reason in parked.items() if each not in gone}
        self._say_waiting(time.monotonic())

    def _spared(self, entries: Mapping[TopicPartition, Entry | None]) -> set[TopicPartition]:
        """Returns the partitions to leave alone: not released yet, or no longer wanted."""
        unwanted = entries.keys() - self.waiting.keys() - self.stopped.keys()
        return unwanted | self._releases.spared(entries, time.monotonic())

    async def _refresh(self) -> None:
        """Refreshes metadata every REFRESH_SECONDS at most: a waiting partition's topic may be
        new."""
        if time.monotonic() - self._refreshed_at > REFRESH_SECONDS:
            self._refreshed_at = time.monotonic()
            await asyncio.gather(*(end.try_refresh() for end in self._ends))

    def _say_waiting(self, now: float) -> None:
        """Logs each reason once, after it has lasted, with one partition as example."""
        examples = {reason: partition for partition, reason in self.waiting.items() if reason}
        before = self._waiting_since
        self._waiting_since = {reason: before.get(reason, now) for reason in examples}
        for reason, since in self._waiting_since.items():
            if now - since > WAITED_LONG_SECONDS:
                log.warning(
                    "event=waiting route=%s carrier=%d such as %s-%d: %s",
                    *self._receipts.log_fields,
                    *examples[reason],
                    reason,
                )
                self._waiting_since[reason] = inf

    def say_parked(self, partition: TopicPartition, reason: str) -> None:
        """Logs that a partition is parked, and notes it in the receipt."""
        log.error(
            "event=parked route=%s carrier=%d %s-%d: %s",
            *self._receipts.log_fields,
            *partition,
            reason,
        )
        self._receipts.parked(partition, reason)
