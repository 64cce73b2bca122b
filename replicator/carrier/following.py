"""Following: what a carrier has under the plan of now, which may change while its epoch runs."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, MutableMapping

from balancer.plan import TopicPartition
from replicator.carrier.assignment import Assignment
from replicator.carrier.lane import Lane
from replicator.carrier.lanes import Lanes
from replicator.carrier.receipt_book import ReceiptBook
from replicator.carrier.scribe import Scribe
from replicator.carrier.taking import Taking
from replicator.kafka.cluster import Cluster
from replicator.ledger.ledger import handed_id
from replicator.ledger.loss import Loss
from replicator.ledger.word import Word
from replicator.ledger.writer import Writer

log = logging.getLogger(__name__)

LEAVING_TICK_SECONDS = 0.005
TICK_SECONDS = 0.05
REFUSED_SECONDS = 0.5
"""Then what the target did not let go of is left once more."""


class Following:
    """Leaves and receives partitions as the driver's word has it.

    Args:
        ends: both clusters, which are to know the topics that are received.
        limits: by topic, the largest batch that the target takes; added to.
        nothing_left: called once the carrier has no partition any more: it will get none in this
            epoch, and its Spark task is not to stay for it.
    """

    def __init__(
        self,
        assignment: Assignment,
        *,
        writer: Writer,
        ends: tuple[Cluster, Cluster],
        lanes: Lanes,
        taking: Taking,
        scribe: Scribe,
        book: ReceiptBook,
        limits: MutableMapping[str, int],
        nothing_left: Callable[[], None],
    ):
        self.own = frozenset(assignment.partitions)
        """The carrier's partitions now, whether or not it has come to hold them."""
        self._assignment = assignment
        self._writer = writer
        self._ends = ends
        self._lanes = lanes
        self._taking = taking
        self._scribe = scribe
        self._book = book
        self._limits = limits
        self._nothing_left = nothing_left
        self._plan_version = assignment.plan_version
        self._moved: dict[TopicPartition, int | None] = {}
        self._not_before: dict[TopicPartition, float] = {}
        self._is_over = False

    @property
    def free_id(self) -> str:
        """The transactional id under which what was released waits for its next carrier."""
        return f"{self._writer.transactional_id}.free"

    @property
    def topics(self) -> set[str]:
        """Also of what is only to be released, if a stint before this one still holds it."""
        return {partition.topic for partition in self.own | self._once_own}

    def begin(self) -> None:
        """Everything is wanted; what has been others' since the plan may still be, and is awaited.
        What is to be left, and a stint before this one still holds, is taken to be released."""
        for end in self._ends:
            end.watch(self.topics)
        self._taking.want(self.own - self._moved.keys())
        self._taking.await_release(self.own & self._moved.keys())
        self._taking.reclaim(self._once_own - self.own)

    def heed(self, word: Word) -> None:
        """A word of our driver about a plan that goes on in this epoch."""
        if word.plan_version <= self._plan_version:
            return  # what we began with is later, or this was heard already
        self._plan_version = word.plan_version
        moved = self._moved = word.course.of_route(self._assignment.route.key)
        kept = set(self._assignment.partitions) - moved.keys()
        own = kept | {each for each, at in moved.items() if at == self._assignment.number}
        left, received = self.own - own, own - self.own
        self.own = frozenset(own)
        # What went and came back is neither left nor received, and may have another limit by now.
        self._limits.update(word.course.limits)
        if not left and not received:
            return
        log.info(
            "event=course route=%s carrier=%d plan=%d leaves=%d receives=%d",
            *self._book.who,
            word.plan_version,
            len(left),
            len(received),
        )
        for end in self._ends:
            end.watch({each.topic for each in received})
        self._taking.forget(left)
        # An entry may have been committed without an answer: then it is ours, and no lane knows.
        self._taking.reclaim(each for each in left if each not in self._lanes)
        # What settles here is taken again once it is left.
        self._taking.await_release(each for each in received if each not in self._lanes)

    async def park(self, lane: Lane, loss: Loss) -> None:
        """Stops a lane for good. Who has its partition by now says so, and asks for it again; where
        that is nobody, we say it."""
        self._book.note([lane], {}, {})
        if not await self._scribe.park(lane, loss):
            return  # it was no longer ours to stop
        self._book.tally.lost([lane.partition])
        if lane.partition in self.own:
            self._taking.stop(lane.partition, str(loss))
            return
        self._scribe.parked.pop(lane.partition, None)
        if self._moved.get(lane.partition) is None:
            self._taking.say_parked(lane.partition, str(loss))

    def stop(self) -> None:
        """Nothing more is left by itself: everything is released together. What is just being
        released may not be cut short: it would be released once more, over its next carrier."""
        self._is_over = True

    async def run(self) -> None:
        """Until cancelled: leaves what another carrier has by now, each partition as soon as all
        of it that may have landed is acknowledged; the others go on meanwhile."""
        while True:
            if self._is_over:
                await asyncio.sleep(TICK_SECONDS)
                continue
            # One that is to come back while it settles is left first, and then taken again.
            leaving = [
                lane
                for lane in self._lanes.values()
                if lane.is_settling or lane.partition not in self.own
            ]
            for lane in leaving:
                lane.settle()
            if clear := self._clear(leaving, time.monotonic()):
                done = await self._scribe.hand_over({each: self._id_for(each) for each in clear})
                self._book.note((lane for lane in leaving if lane.partition in done), {}, {})
                self._book.released(done)
                self._taking.await_release(done & self.own)
                later = time.monotonic() + REFUSED_SECONDS
                self._not_before = dict.fromkeys(clear - done, later)
            if not (self.own or self._lanes or self._taking.waiting or self._taking.is_taking):
                self._nothing_left()
            await asyncio.sleep(LEAVING_TICK_SECONDS if leaving else TICK_SECONDS)

    def _clear(self, leaving: Iterable[Lane], now: float) -> set[TopicPartition]:
        """Those of which nothing is under way any more."""
        empty = {lane.partition for lane in leaving if lane.is_empty}
        return {each for each in empty if now >= self._not_before.get(each, now)}

    @property
    def _once_own(self) -> frozenset[TopicPartition]:
        """All that may have been this carrier's since the epoch began, whoever has it now."""
        return frozenset(self._assignment.partitions) | self._moved.keys()

    def _id_for(self, partition: TopicPartition) -> str:
        """Under which it waits for the carrier that has it now, or for whoever will."""
        carrier = self._moved.get(partition)
        return self.free_id if carrier is None else handed_id(self._assignment.route, carrier)
