"""Taking: a stint acquires what it is assigned, and asks again for what it cannot have."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from math import inf

from balancer.plan import TopicPartition
from replicator.carrier.lane import Lane
from replicator.carrier.lanes import Lanes
from replicator.carrier.receipt_book import ReceiptBook
from replicator.carrier.scribe import Scribe
from replicator.kafka.cluster import Cluster
from replicator.ledger.takeover import Takeover

log = logging.getLogger(__name__)

ASK_AGAIN_SECONDS = 1.0
WAITED_LONG_SECONDS = 5.0


class Taking:
    """What of an assignment is not carried: wanted, waited for, or parked.

    Args:
        takeover: acquires.
        ends: both clusters, asked for fresh metadata while something waits.
        lanes: get what is taken.
        taken: called when they got some.
    """

    def __init__(
        self,
        takeover: Takeover,
        *,
        ends: tuple[Cluster, Cluster],
        lanes: Lanes,
        scribe: Scribe,
        book: ReceiptBook,
        taken: Callable[[], None],
    ):
        self._takeover = takeover
        self._ends = ends
        self._lanes = lanes
        self._scribe = scribe
        self._book = book
        self._taken = taken
        self.waiting: dict[TopicPartition, str] = {}
        self.stopped: dict[TopicPartition, str] = {}
        self._waiting_since: dict[str, float] = {}
        self._wanting = asyncio.Event()

    def want(self, partitions: Iterable[TopicPartition]) -> None:
        """To be acquired."""
        self.waiting |= dict.fromkeys(partitions, "")
        self._wanting.set()

    def stop(self, partition: TopicPartition, reason: str) -> None:
        """It was carried, and has been parked."""
        self.stopped[partition] = reason
        self._wanting.set()
        self._say_parked(partition, reason)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            # What is parked is asked for again too: an operator's word shall not wait for the
            # epoch's end.
            await self._wanting.wait()
            await self._take()
            # Others may have been parked meanwhile.
            if not (self.waiting or self.stopped):
                self._wanting.clear()
                continue
            await asyncio.sleep(ASK_AGAIN_SECONDS)
            if self.waiting:
                await asyncio.gather(*(end.try_refresh() for end in self._ends))

    async def _take(self) -> None:
        acquired = await self._takeover.acquire(self.waiting.keys() | self.stopped.keys())
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
                self._say_parked(partition, reason)
        self.waiting = acquired.waiting
        self.stopped = acquired.parked | self._scribe.shown_parked()
        self._say_waiting(time.monotonic())

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

    def _say_parked(self, partition: TopicPartition, reason: str) -> None:
        log.error("event=parked route=%s carrier=%d %s-%d: %s", *self._book.who, *partition, reason)
        self._book.parked(partition, reason)
