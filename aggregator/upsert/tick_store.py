"""Tick store: the newest tick of an upsert table, kept as committed offsets of its home cluster.

The parts of a tick are committed offsets of as many groups, all in one transaction of the table's
transactional id. Their offset is the number of the tick. Of any number of coordinators, the one
that opened the id last can commit; the others are fenced.
"""

from __future__ import annotations

import asyncio

from aggregator.upsert.tick import Tick
from aggregator.upsert.tick_codec import UnreadableTick, decode, encode, id_of, parts_of
from balancer.topic_partition import TopicPartition
from replicator.config.names import PLAN_TOPIC, upsert_group, upsert_id
from replicator.kafka.client.cluster import Cluster, Fenced
from replicator.kafka.client.fenced_committer import Effects, FencedCommitter
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from replicator.runtime.gather import gather_or_cancel

READS_MAX = 20
"""Reads of a tick while another process commits one: its groups show it one after the other."""
READ_PAUSE_SECONDS = 0.05


class TickStore:
    """Reads and commits the ticks of one table.

    Args:
        cluster: the table's home cluster. It has the topic PLAN_TOPIC, under which offsets are
            committed.
    """

    def __init__(self, cluster: Cluster, feed: str, table: str):
        self._cluster = cluster
        self._feed = feed
        self._table = table
        self.transactional_id = upsert_id(feed, table)

    async def open(self, timeout_ms: int = 30_000) -> FencedCommitter:
        """Returns a holder of the table's id; every older holder is fenced.

        Args:
            timeout_ms: of a transaction.
        """
        return await FencedCommitter(self._cluster, self.transactional_id, timeout_ms).open()

    async def read(self) -> Tick | None:
        """Returns the newest tick, None if there was none yet. Raises UnreadableTick.

        The answer may be that of a coordinator that is cut off from its peers, so only a holder may
        decide by what it read, with `read_as_holder`.
        """
        for _ in range(READS_MAX - 1):
            try:
                return await self._read()
            except UnreadableTick:
                # Parts of two ticks, perhaps, amid a commit.
                await asyncio.sleep(READ_PAUSE_SECONDS)
        return await self._read()

    async def read_as_holder(self, holder: FencedCommitter) -> Tick | None:
        """Returns the newest tick, from coordinators that have just proved that they can write.

        It cannot change until another client opens the table's id.

        Raises:
            UnreadableTick: see `decode`; or another id committed it.
            Fenced: a newer holder exists.
        """
        await holder.confirm_coordinators([self._group(0)])
        first = await self._part(0)
        if first is not None and (more := parts_of(first)) > 1:
            await holder.confirm_coordinators([self._group(each) for each in range(1, more)])
        tick = await self._read()
        if first is not None and (found := id_of(first)) != holder.transactional_id:
            raise UnreadableTick(
                f"the tick of {self._table} was committed by {found}, not by "
                f"{holder.transactional_id}: does another table have these groups?"
            )
        return tick

    async def commit(
        self, holder: FencedCommitter, tick: Tick, *, effects: Effects | None = None
    ) -> None:
        """Commits a tick, all of its parts or none. Returns once they have been read back.

        Args:
            effects: further writes of the same transaction (see FencedCommitter.commit), such as
                the dead letters of the tick before.

        Raises:
            Fenced: a newer holder of the table's id exists.
            ValueError: the tick needs too many parts.
        """
        own = holder.transactional_id
        parts = encode(tick, own)

        def was_there(_: TopicPartition, shown: OffsetAndMetadata | None) -> bool:
            # Parts of any tick of before, or left of a longer one. Others than holders of the id
            # commit none, and what a newer holder committed fences the commit that would follow.
            if shown is None or _is_of(shown, own):
                return True
            raise Fenced(f"{own}: another producer has replaced the tick of {self._table}")

        rows = {
            self._group(number): [(PLAN_TOPIC, 0, part.offset, part.metadata)]
            for number, part in enumerate(parts)
        }
        await holder.commit(rows, was_there, effects)

    async def _read(self) -> Tick | None:
        first = await self._part(0)
        if first is None:
            await self._check_nothing_is_left()
            return None
        numbers = range(1, parts_of(first))
        found = await gather_or_cancel(*(self._part(each) for each in numbers))
        more = {each: part for each, part in zip(numbers, found, strict=True) if part is not None}
        return decode({0: first, **more})

    async def _check_nothing_is_left(self) -> None:
        """Raises UnreadableTick if part 0 is gone and another is there: offsets expire by group."""
        if await self._part(1) is not None:
            decode({})

    async def _part(self, number: int) -> OffsetAndMetadata | None:
        found = await self._cluster.commits(self._group(number), [(PLAN_TOPIC, [0])])
        return found.get(TopicPartition(PLAN_TOPIC, 0))

    def _group(self, part: int) -> str:
        return upsert_group(self._feed, self._table, part)


def _is_of(part: OffsetAndMetadata, transactional_id: str) -> bool:
    try:
        return id_of(part) == transactional_id
    except UnreadableTick:
        return False
