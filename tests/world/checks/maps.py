"""Offset maps in Redis against both logs: which source record stands where in the target.

The truth is joined by value, as each value is written once. While Redis fails, a map may know less:
then its answers are lower, never past the truth. After the keeper's passes it knows everything.
"""

from __future__ import annotations

import asyncio
import sys
from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from fakeredis import FakeRedis

from balancer.topic_partition import TopicPartition
from replicator.mirror.offset_map.offset_map import OffsetMap
from replicator.mirror.offset_map.offset_store import WholeMark, joined, runs_name
from replicator.mirror.offset_map.run_columns import RunsContradict
from replicator.mirror.offset_map.runs_topic import RunsKey
from tests.world.checks.records_of_log import RecordsOfLog
from tests.world.checks.wrong import Wrong
from tests.world.mirror.mirroring import ROUTE
from tests.world.mirror.scene import Scene

LOOK_SECONDS, LOOK_EVERY = 3.0, 7
WHOLE_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Pair:
    """Record at both ends."""

    source_offset: int
    target_offset: int


class Maps:
    """Maps of one route in the Redis of its target's region."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._server = scene.world.redis[ROUTE.target]
        self._sent: dict[TopicPartition, RecordsOfLog] = {}
        self._landed: dict[TopicPartition, RecordsOfLog] = {}
        self.looks = 0
        """Runs that were compared so far."""
        source, target = scene.clusters
        for place in scene.places:
            ours, theirs = source.partition(*place), target.partition(*place)
            assert ours is not None and theirs is not None
            self._sent[place] = RecordsOfLog(ours, is_stable=True)
            self._landed[place] = RecordsOfLog(theirs, is_stable=False)

    async def watch(self) -> None:
        """Compares what Redis has with the truth, again and again; raises Wrong."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            for place in self._places():
                self._compare(place, self._map(place), every=LOOK_EVERY)

    async def settle(self) -> None:
        """Waits until the keeper has mended every map; raises Wrong if it does not."""
        await self._until(self._has_no_holes)
        # Runs behind the last hole are missed by nobody until a read-back: now somebody does.
        self._client().set(WholeMark.name(ROUTE.key), WholeMark.MISSED)
        await self._until(self._has_everything)

    def _places(self) -> list[TopicPartition]:
        """Returns the partitions whose maps are compared: a value that a rewind has repeated has
        no single place."""
        return [it for it in self._scene.places if not self._scene.rewinds.are_asked(it)]

    async def _until(self, is_done: object) -> None:
        assert callable(is_done)
        give_up_at = self._scene.loop.time() + WHOLE_SECONDS
        while missing := is_done():
            if self._scene.loop.time() > give_up_at:
                raise Wrong(f"offset maps in Redis: {missing}")
            await asyncio.sleep(1.0)

    def _has_no_holes(self) -> str | None:
        for place in self._places():
            found = self._map(place)
            self._compare(place, found)
            if len(found.missing):
                return f"{_name(place)} misses {found.missing}"
        return self._fault()

    def _has_everything(self) -> str | None:
        for place in self._places():
            found = self._map(place)
            self._compare(place, found)
            for pair in self._kept(place, self._pairs(place)):
                if found.source_of(pair.target_offset) != pair.source_offset:
                    return f"{_name(place)} does not have {pair}: {found}"
        return self._fault()

    def _fault(self) -> str | None:
        mark = self._client().get(WholeMark.name(ROUTE.key))
        return WholeMark.fault(mark.decode() if mark else None, self._server.run_id)

    # -- one map

    def _map(self, place: TopicPartition) -> OffsetMap:
        source, target = self._scene.clusters
        ids = [cluster.topics[place.topic].id.hex for cluster in (source, target)]
        name = runs_name(ROUTE.key, RunsKey(*place, *ids))
        members: Any = self._client().zrange(name, 0, -1, withscores=True)
        try:
            return joined({piece: int(losses) for piece, losses in members})
        except RunsContradict as contradict:
            raise Wrong(f"{_name(place)}: runs in Redis contradict: {contradict}") from None

    def _client(self) -> FakeRedis:
        # Looks at the store itself: no bytes on the network, and no time passes.
        return FakeRedis(server=self._server.store, protocol=2)

    def _pairs(self, place: TopicPartition) -> list[Pair]:
        """Returns the records that stand at both ends, in order."""
        # Right after an election the end of the source's log is not known to be committed yet.
        offsets, values = self._sent[place].up_to(sys.maxsize)
        at = dict(zip(values, offsets, strict=True))
        landed = self._landed[place].by_offset
        return [Pair(at[value], offset) for offset, value in sorted(landed.items())]

    def _kept(self, place: TopicPartition, pairs: list[Pair]) -> list[Pair]:
        """Returns the pairs that retention has left at both ends; maps need no others."""
        source, target = (cluster.log_start(place) for cluster in self._scene.clusters)
        return [it for it in pairs if it.source_offset >= source and it.target_offset >= target]

    def _held(self, place: TopicPartition, pairs: list[Pair]) -> list[Pair]:
        """Returns the records that the target has not deleted."""
        partition = self._scene.clusters[1].partition(*place)
        assert partition is not None
        start = max(log.start for log in partition.logs.values())
        return [pair for pair in pairs if pair.target_offset >= start]

    def _compare(self, place: TopicPartition, found: OffsetMap, every: int = 1) -> None:
        """Raises Wrong for an answer of a map that is past the truth, or exact and not true.

        Args:
            every: distance of the offsets that are asked for.
        """
        piece = found.piece()
        pairs = self._pairs(place)
        by_source = dict(map(_both, pairs))
        for source, target, count in zip(piece.sources, piece.targets, piece.counts, strict=True):
            for step in range(int(count)):
                at = by_source.get(int(source) + step)
                # After an election, what was acknowledged shows a moment later.
                is_late = at is None and pairs and source + step > pairs[-1].source_offset
                if at != int(target) + step and not is_late:
                    raise Wrong(
                        f"{_name(place)}: the map has source offset {source + step} at "
                        f"{target + step}, and it stands at {at}"
                    )
        self.looks += int(piece.counts.sum())
        if any(a.source_offset >= b.source_offset for a, b in pairwise(pairs)):
            raise Wrong(f"{_name(place)}: records stand in another order in the target")
        self._floors(place, found, self._kept(place, pairs), every)

    def _floors(
        self, place: TopicPartition, found: OffsetMap, pairs: list[Pair], every: int
    ) -> None:
        sources, targets = zip(*map(_both, pairs), strict=True) if pairs else ((), ())
        for wanted in range(0, sources[-1] + 2 if pairs else 0, every):
            answer = found.target_floor(wanted)
            first = bisect_left(sources, wanted)
            if answer and first < len(targets):
                is_past = answer.offset > targets[first]
                is_early = first > 0 and answer.offset <= targets[first - 1]
                if is_past or (answer.basis == "exact" and is_early):
                    raise Wrong(
                        f"{_name(place)}: source offset {wanted} is at {answer}, and the first "
                        f"record from there on at {targets[first]}"
                    )
        for wanted in range(0, targets[-1] + 2 if pairs else 0, every):
            answer = found.source_floor(wanted)
            first = bisect_left(targets, wanted)
            if answer and first < len(sources):
                is_past = answer.offset > sources[first]
                is_early = first > 0 and answer.offset <= sources[first - 1]
                if is_past or (answer.basis == "exact" and is_early):
                    raise Wrong(
                        f"{_name(place)}: target offset {wanted} is {answer}, and the first record "
                        f"from there on is source offset {sources[first]}"
                    )


def _both(pair: Pair) -> tuple[int, int]:
    return pair.source_offset, pair.target_offset


def _name(place: TopicPartition) -> str:
    return f"{place.topic}-{place.partition}"
