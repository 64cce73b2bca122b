"""Keeps the ledger and the runs of one carrier's lanes: what is told, committed, parked, released.

Order matters: runs are on disk before an entry passes them, an entry is committed before anything
behind a gap is sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import (
    Awaitable,
    Callable,
    Iterable,
    Mapping,
    MutableMapping,
)

from balancer.plan import TopicPartition
from replicator.carrier.lane import Lane
from replicator.kafka.cluster import UNKNOWN_TOPIC, Answered, Cluster, StartOver
from replicator.ledger.entry import Entry
from replicator.ledger.ledger import Ledger
from replicator.ledger.loss import Loss
from replicator.ledger.told_runs import runs_key
from replicator.ledger.writer import NotCommitted, Writer
from replicator.offsets.offset_feed import OffsetFeed
from replicator.offsets.runs_publisher import RunsNotWritten, RunsPublisher
from replicator.offsets.runs_topic import RunsKey
from replicator.offsets.stretch import Stretch

RETRY_SECONDS = 0.5


class Scribe:
    """Writes down what a carrier did.

    Args:
        lanes: of the carrier; parked ones are taken out of it here.
    """

    def __init__(
        self,
        *,
        ledger: Ledger,
        writer: Writer,
        target: Cluster,
        lanes: MutableMapping[TopicPartition, Lane],
        publisher: RunsPublisher,
        feed: OffsetFeed,
    ):
        self.parked: dict[TopicPartition, Loss] = {}
        """What was parked while it was carried, and why; who takes it again takes it out."""
        self.publishing: asyncio.Future[None] | None = None
        """The publisher's start, awaited before the first runs are told."""
        self._ledger = ledger
        self._writer = writer
        self._target = target
        self._lanes = lanes
        self._publisher = publisher
        self._feed = feed
        self._lock = asyncio.Lock()
        self._is_torn = False
        """Partitions were being handed over and it is not known whether they were: released once
        more, they would be so over their next carrier's entries."""
        self._telling = asyncio.Lock()

    def shown_parked(self) -> dict[TopicPartition, str]:
        """What was parked while it was carried, and why."""
        return {partition: str(loss) for partition, loss in self.parked.items()}

    # -- runs

    async def tell(self) -> None:
        """Put the runs gathered so far on disk, then hand them to Redis. Also those that another
        call is just putting there: when this one returns, all of them are."""
        await self._tell(list(self._lanes.values()))

    async def tell_found(self, found: Mapping[TopicPartition, tuple[Entry, Stretch]]) -> None:
        """Runs that a takeover found."""
        async with self._telling:
            await self._publish(
                [(runs_key(p, entry), [stretch]) for p, (entry, stretch) in found.items()]
            )

    async def _tell(self, lanes: Iterable[Lane]) -> None:
        async with self._telling:
            await self._publish(
                [
                    (runs_key(lane.partition, lane.entry), stretches)
                    for lane in lanes
                    if (stretches := lane.gathering.take())
                ]
            )

    async def _publish(self, told: list[tuple[RunsKey, list[Stretch]]]) -> None:
        if not told:
            return
        if self.publishing:
            await asyncio.shield(self.publishing)
        await self._publisher.publish((key, stretch) for key, some in told for stretch in some)
        while True:
            try:
                await self._publisher.flush()
                break
            except RunsNotWritten as error:
                self._target.trouble = str(error)
                await asyncio.sleep(RETRY_SECONDS)
        for key, stretches in told:
            self._feed.append(key, stretches)

    # -- entries

    async def commit(self, lanes: Iterable[Lane], *, even_unchanged: bool = False) -> bool:
        """Commit the entries of lanes as they are now; raises Fenced.

        Returns: whether any was committed.
        """
        async with self._lock:
            statements = {
                lane: statement
                for lane in lanes
                if self._lanes.get(lane.partition) is lane
                and (even_unchanged or not lane.is_settling)
                and ((statement := lane.statement()).entry != lane.last_stated or even_unchanged)
            }
            if not statements:
                return False
            await self.tell()
            done = await self._commit(
                {lane.partition: s.entry for lane, s in statements.items()}, self._ledger.commit
            )
            for lane, statement in statements.items():
                if done and lane.partition in done:
                    lane.committed(statement)
                    lane.last_stated = statement.entry
            return bool(done)

    async def park(self, lane: Lane, loss: Loss) -> bool:
        """Stop a lane for good; the others go on. What is in flight may still land: the entry
        stays HELD, so whoever goes on reads the tail.

        Returns: whether it was ours to stop.
        """
        async with self._lock:
            # Released meanwhile, it is no longer ours to write of.
            if self._lanes.get(lane.partition) is not lane:
                return False
            # First: what lands while runs are told is left to whoever reads the tail.
            entry = lane.statement().entry
            await self._tell([lane])
            del self._lanes[lane.partition]
            self._writer.left_at(lane.partition, lane.entry.sequence)
            self.parked[lane.partition] = loss
            await self._commit({lane.partition: entry.park(loss)}, self._ledger.commit)
            return True

    async def release(self, transactional_id: str) -> set[TopicPartition]:
        """Release the lanes that are empty, all in one transaction; the others stay HELD.

        Args:
            transactional_id: under which they wait for their next carrier.
        """
        async with self._lock:
            if self._is_torn:
                return set()
            return await self._release(dict.fromkeys(self._lanes, transactional_id)) or set()

    async def hand_over(self, ids: Mapping[TopicPartition, str]) -> set[TopicPartition]:
        """The same with only some of them, each under an id that its next carrier opens. What the
        target does not show any more stays.

        Raises:
            StartOver: they may have been released, or some of them: other carriers may have them
                already, so it may not be tried again.
        """
        async with self._lock:
            shown = {place: each for place, each in ids.items() if self._target.topic(place.topic)}
            asked = {place for place in shown if self._may_be_released(place)}
            if not asked:
                return set()
            self._is_torn = True
            done = await self._release(shown)
            if done is None:
                raise StartOver("the target may have taken a part of a release")
            self._is_torn = False
            return done

    async def _release(self, ids: Mapping[TopicPartition, str]) -> set[TopicPartition] | None:
        """What was released; None: perhaps some of it."""
        # First: a lane that becomes empty while runs are told has landed some that were not.
        lanes = [self._lanes[place] for place in ids if self._may_be_released(place)]
        entries = {lane.partition: lane.released(ids[lane.partition]) for lane in lanes}
        await self.tell()
        done = await self._commit(entries, self._ledger.release)
        for lane in lanes:
            if done and lane.partition in done:
                self._writer.left_at(lane.partition, lane.entry.sequence)
                del self._lanes[lane.partition]
        return done

    def _may_be_released(self, place: TopicPartition) -> bool:
        lane = self._lanes.get(place)
        return lane is not None and lane.is_empty and not lane.stopping

    async def _commit(
        self,
        entries: Mapping[TopicPartition, Entry],
        write: Callable[[Writer, Mapping[TopicPartition, Entry]], Awaitable[None]],
    ) -> set[TopicPartition] | None:
        """Gives what was committed; None: perhaps some of it. One deleted topic of the target must
        not hold up all other entries, so what the metadata no longer shows is left out."""
        known = {p: entry for p, entry in entries.items() if self._target.topic(p.topic)}
        if known:
            try:
                await write(self._writer, known)
            except Answered as answer:
                if UNKNOWN_TOPIC not in answer.codes:
                    raise
                await asyncio.sleep(RETRY_SECONDS)
                await self._target.refresh()
                return set() if isinstance(answer, NotCommitted) else None
        return set(known)
