"""Taking: a stint acquires what it is assigned, and asks again for what it cannot have."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Iterable, Mapping
from math import inf

from balancer.plan import TopicPartition
from replicator.carrier.lane import Lane
from replicator.carrier.lanes import Lanes
from replicator.carrier.receipt_book import ReceiptBook
from replicator.carrier.releases import Releases
from replicator.carrier.scribe import Scribe
from replicator.kafka.cluster import Cluster
from replicator.ledger.entry import Entry
from replicator.ledger.takeover import Takeover

log = logging.getLogger(__name__)

ASK_AGAIN_SECONDS = 1.0
PROMISED_ASK_SECONDS = (0.02, 0.08)
"""At random between these: takers of what one carrier released shall not all come at once."""
REFRESH_SECONDS = 0.5
WAITED_LONG_SECONDS = 5.0


class Taking:
    """What of an assignment is not carried: wanted, waited for, or parked.

    Args:
        takeover: acquires.
        releases: what is not to be acquired yet.
        ends: both clusters, asked for fresh metadata while something waits.
        lanes: get what is taken.
        taken: called when they got some.
    """

    def __init__(
        self,
        takeover: Takeover,
        *,
        releases: Releases,
        ends: tuple[Cluster, Cluster],
        lanes: Lanes,
        scribe: Scribe,
        book: ReceiptBook,
        taken: Callable[[], None],
    ):
        self._takeover = takeover
        self._releases = releases
        self._ends = ends
        self._lanes = lanes
        self._scribe = scribe
        self._book = book
        self._taken = taken
        self.waiting: dict[TopicPartition, str] = {}
        self.stopped: dict[TopicPartition, str] = {}
        self._waiting_since: dict[str, float] = {}
        self.is_taking = False
        """Something may have been committed that is not known to be held yet."""
        self._refreshed_at = 0.0
        self._wanting = asyncio.Event()

    def want(self, partitions: Iterable[TopicPartition]) -> None:
        """To be acquired."""
        self.waiting |= dict.fromkeys(partitions, "")
        self._wanting.set()

    def await_release(self, partitions: Iterable[TopicPartition]) -> None:
        """To be acquired once the carriers that were told to leave them have; or, should one of
        them not do so in time, from it."""
        wanted = list(partitions)
        self._releases.promise(wanted, time.monotonic())
        self.want(wanted)

    def reclaim(self, partitions: Iterable[TopicPartition]) -> None:
        """To be acquired as long as they are held under our own id, by a writer before this one:
        another carrier waits for them, and only we can release them."""
        wanted = list(partitions)
        self._releases.reclaim(wanted)
        self.want(wanted)

    def heard(self, asked_at: float) -> None:
        """What the driver's word was at that time or later has been followed."""
        self._releases.heard(asked_at)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Not wanted any more."""
        unwanted = list(partitions)
        self._releases.forget(unwanted)
        for partition in unwanted:
            self.waiting.pop(partition, None)
            self.stopped.pop(partition, None)
            self._scribe.parked.pop(partition, None)
        self._book.left(unwanted)

    def stop(self, partition: TopicPartition, reason: str) -> None:
        """It was carried, and has been parked."""
        self.stopped[partition] = reason
        self._wanting.set()
        self.say_parked(partition, reason)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            # What is parked is asked for again too: an operator's word shall not wait for the
            # epoch's end.
            await self._wanting.wait()
            self.is_taking = True
            await self._take()
            self.is_taking = False
            if self._releases.is_awaiting:
                if any(self.waiting.values()):
                    await self._refresh()
                await asyncio.sleep(random.uniform(*PROMISED_ASK_SECONDS))
                continue
            # Others may have been parked meanwhile.
            if not (self.waiting or self.stopped):
                self._wanting.clear()
                continue
            await asyncio.sleep(ASK_AGAIN_SECONDS)
            if self.waiting:
                await asyncio.gather(*(end.try_refresh() for end in self._ends))

    async def _take(self) -> None:
        asked = self.waiting.keys() | self.stopped.keys()
        acquired = await self._takeover.acquire(asked, self._spared)
        self._book.tally.lost(acquired.lost)
        self.forget(self._releases.lost(acquired.spared))
        self._releases.forget(acquired.taken)
        for partition, one in acquired.taken.items():
            lane = Lane(partition, one.entry)
            lane.source_leader, lane.target_leader = one.source_leader, one.target_leader
            self._lanes[partition] = lane
            self._scribe.parked.pop(partition, None)
            self._book.resumed(partition)
        if acquired.taken:
            self._taken()
        for partition, reason in acquired.parked.items():
            is_told = partition in self._scribe.parked or self.stopped.get(partition) == reason
            if not is_told:
                self.say_parked(partition, reason)
        # What was wanted or forgotten meanwhile was not asked for.
        new = {each: "" for each in self.waiting if each not in asked}
        gone = asked - self.waiting.keys() - self.stopped.keys()
        left = {**dict.fromkeys(acquired.spared, ""), **acquired.waiting, **new}
        self.waiting = {each: reason for each, reason in left.items() if each not in gone}
        parked = acquired.parked | self._scribe.shown_parked()
        self.stopped = {each: reason for each, reason in parked.items() if each not in gone}
        self._say_waiting(time.monotonic())

    def _spared(self, entries: Mapping[TopicPartition, Entry | None]) -> set[TopicPartition]:
        """What others have still to leave, and what is not wanted any more: it is theirs now."""
        unwanted = entries.keys() - self.waiting.keys() - self.stopped.keys()
        return unwanted | self._releases.spared(entries, time.monotonic())

    async def _refresh(self) -> None:
        """Metadata: what waits may be of topics that were not known here."""
        if time.monotonic() - self._refreshed_at > REFRESH_SECONDS:
            self._refreshed_at = time.monotonic()
            await asyncio.gather(*(end.try_refresh() for end in self._ends))

    def _say_waiting(self, now: float) -> None:
        """Each reason once, when it has lasted."""
        examples = {reason: partition for partition, reason in self.waiting.items() if reason}
        before = self._waiting_since
        self._waiting_since = {reason: before.get(reason, now) for reason in examples}
        for reason, since in self._waiting_since.items():
            if now - since > WAITED_LONG_SECONDS:
                log.warning(
                    "event=waiting route=%s carrier=%d such as %s-%d: %s",
                    *self._book.who,
                    *examples[reason],
                    reason,
                )
                self._waiting_since[reason] = inf

    def say_parked(self, partition: TopicPartition, reason: str) -> None:
        """In the log, and in its receipt."""
        log.error("event=parked route=%s carrier=%d %s-%d: %s", *self._book.who, *partition, reason)
        self._book.parked(partition, reason)
