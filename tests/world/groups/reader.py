"""Consumers of a group in a world: they read an aggregate from their commits on, and commit.

A plain consumer commits offsets alone, one of Kafka Streams also the times of its partitions. A
resuming one is the product's, but for its sockets: it skips by vectors what the group has read in
another region. A group has one consumer at a time.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from aiokafka.protocol.commit import OffsetCommitRequest

from balancer.topic_partition import TopicPartition
from replicator.groups.progress.vector_metadata import decode
from replicator.groups.resume.assigned_partition import AssignedPartition
from replicator.groups.resume.runs_memory import PublishedPieces, Source
from replicator.groups.resume.runs_reader import Answer
from replicator.kafka.client.cluster import GROUP, Cluster
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from replicator.mirror.offset_map.packed_map import unpack
from tests.world.checks.plans import Truth
from tests.world.checks.wrong import Wrong
from tests.world.groups.past import Past
from tests.world.groups.two_regions import REGIONS, TOPIC, TwoRegions
from tests.world.process import Process

RECORDS_PER_POLL = 40
Read = Mapping[TopicPartition, set[bytes]]


class Kind(Enum):
    """Kind of a group's consumers."""

    PLAIN = "plain"
    TIMED = "timed"
    """Plain, with metadata of its own in every commit."""
    RESUMING = "resuming"
    TRACKING = "tracking"
    """Resuming, and the vector after each record is committed."""


@dataclass(slots=True)
class Group:
    """Group with what it has read.

    Args:
        region: where its consumer runs.
        read: what it was handed since it was rewound, and what stands before where that was to.
        ever: all that it was ever handed.
        rewound_at: time since which a rewind is committed.
        is_moving: True while operators move it.
        is_forged: True if somebody adds commits of it to a Redis; then it is never moved.
    """

    name: str
    kind: Kind
    region: str
    is_moving: bool = False
    is_forged: bool = False
    polls_per_second: float = 2.0
    read: dict[TopicPartition, set[bytes]] = field(default_factory=dict)
    ever: dict[TopicPartition, set[bytes]] = field(default_factory=dict)
    rewound_at: float = 0.0
    consumer: Process | None = None
    skipped: int = 0
    metadata: set[str] = field(default_factory=set)
    """All metadata of its own that it has committed."""

    @property
    def is_resuming(self) -> bool:
        return self.kind in (Kind.RESUMING, Kind.TRACKING)

    def hand(self, place: TopicPartition, value: bytes) -> None:
        """Notes a record that it was handed."""
        self.read.setdefault(place, set()).add(value)
        self.ever.setdefault(place, set()).add(value)


@dataclass(frozen=True, slots=True)
class Fetched:
    """Record on its way to the application."""

    at: int
    value: bytes

    def offset(self) -> int:
        return self.at

    def error(self) -> None:
        return None

    def __len__(self) -> int:
        return len(self.value)


async def commit(
    client: Cluster,
    group: str,
    rows: Mapping[TopicPartition, OffsetAndMetadata],
    generation: int = -1,
) -> None:
    """Commits as a member does, or as an operator: without a generation."""
    topics = [(TOPIC, [(place.partition, *row) for place, row in rows.items()])]
    await client.ask_coordinator(
        GROUP,
        group,
        OffsetCommitRequest(group, generation, "", -1, topics),
        lambda answer: [code for _, some in answer.topics for _, code in some],
    )


class Consumer:
    """Consumer of one group in the region in which the group lives."""

    def __init__(
        self,
        group: Group,
        regions: TwoRegions,
        truth: Truth,
        pasts: Mapping[str, Past],
        dice: random.Random,
    ) -> None:
        self._group, self._region, self._regions = group, group.region, regions
        self._truth, self._past, self._dice = truth, pasts[group.region], dice
        settings = regions.appliance.region(self._region).aggregate
        self._client = Cluster(f"{group.name} in {self._region}", settings)
        self._assigned: dict[TopicPartition, AssignedPartition] = {}
        self._positions: dict[TopicPartition, int] = {}
        self._committed: dict[TopicPartition, OffsetAndMetadata] = {}
        self._generation = 0

    async def run(self) -> None:
        group = self._group
        await self._client.open({TOPIC})
        self._generation = self._regions.members[self._region].join(group.name)
        places = [it.partition for it in self._regions.places]
        self._committed = await self._client.commits(group.name, [(TOPIC, places)])
        for place in self._regions.places:
            found = self._committed.get(place)
            if found and group.is_resuming:
                found = self._committed[place] = as_librdkafka_reads(found)
            if found:
                self._check(place, found, self._group.ever)
                # Somebody may start a group where nobody knows yet that it was rewound.
                self._group.read.setdefault(place, set()).update(
                    self._truth.claimed(self._region, place, found)
                )
            self._positions[place] = found.offset if found else 0
            if group.is_resuming:
                self._assigned[place] = self._begun(place, found)
        while True:
            await asyncio.sleep(self._dice.expovariate(group.polls_per_second))
            for place in self._regions.places:
                self._poll(place)
            if self._dice.random() < 0.5:
                await self._commit()

    def _begun(self, place: TopicPartition, found: OffsetAndMetadata | None) -> AssignedPartition:
        return AssignedPartition(
            place,
            found or OffsetAndMetadata(0, ""),
            decode(found.metadata) if found else {},
            regions=REGIONS,
            is_tracking=self._group.kind is Kind.TRACKING,
            is_stored=False,
            patience_seconds=30.0,
        )

    # -- reading

    def _poll(self, place: TopicPartition) -> None:
        fetched = list(self._fetched(place))
        assigned = self._assigned.get(place)
        handed = self._group.read.get(place, set())
        if assigned is None:
            for record in fetched:
                self._group.hand(place, record.value)
                self._positions[place] = record.at + 1
            return
        by_offset = self._truth.aggregate[self._region][place].by_offset
        for record in fetched:
            assigned.take(record)  # type: ignore[arg-type]
        assigned.learn(self._answer(place, assigned))
        for step in assigned.release(even_unknown=self._dice.random() < 0.02):
            assert step.next_offset is not None
            value = by_offset[step.next_offset - 1]
            if step.item is not None:
                self._group.hand(place, value)
            elif value not in handed:
                raise Wrong(f"{self._group.name} skips {value!r} in {self._region}, never read")
            else:
                self._group.skipped += 1
            assigned.position = self._positions[place] = step.next_offset

    def _fetched(self, place: TopicPartition) -> Iterator[Fetched]:
        log = self._truth.aggregate[self._region][place]
        assigned = self._assigned.get(place)
        position = assigned.records.fetched if assigned else self._positions[place]
        count = 0
        for offset, value in zip(log.offsets, log.values, strict=True):
            if offset >= position and count < RECORDS_PER_POLL:
                count += 1
                yield Fetched(offset, value)

    def _answer(self, place: TopicPartition, assigned: AssignedPartition) -> Answer:
        """Returns runs that are new to this partition: some of them, and not the newest."""
        at = self._regions.world.loop.time() - self._dice.uniform(0.0, 3.0)
        published = []
        for route, by_key in self._past.runs.items():
            for key in by_key:
                if (key.topic, key.partition) != place:
                    continue
                seen = assigned.question.seen.get((route.source, key), frozenset())
                new = [
                    it
                    for it in self._past.pieces(key, route, at)
                    if it not in seen and self._dice.random() < 0.8
                ]
                assigned.question.seen[route.source, key] = seen | frozenset(new)
                source = Source(route.source, key.source_topic_id)
                published.append(PublishedPieces(source, 0, tuple(map(unpack, new))))
        return Answer(tuple(published), None)

    # -- committing

    async def _commit(self) -> None:
        rows = {}
        for place, position in self._positions.items():
            assigned = self._assigned.get(place)
            found = assigned.uncommitted if assigned else self._own(position)
            if found and found != self._committed.get(place):
                self._check(place, found, self._group.read)
                rows[place] = found
        if rows:
            sent = rows
            if self._group.is_resuming:
                sent = {
                    it: OffsetAndMetadata(*row, f"{text}\0") for it, (*row, text) in rows.items()
                }
            await commit(self._client, self._group.name, sent, self._generation)
            self._committed |= rows
            for place, row in rows.items():
                if place in self._assigned:
                    self._assigned[place].committed = row

    def _own(self, position: int) -> OffsetAndMetadata:
        """Returns the commit of an application that does not resume."""
        if self._group.kind is Kind.PLAIN:
            return OffsetAndMetadata(position, "")
        text = f"time {position} in {self._region}"
        self._group.metadata.add(text)
        return OffsetAndMetadata(position, text)

    def _check(self, place: TopicPartition, row: OffsetAndMetadata, read: Read) -> None:
        """Raises Wrong for a commit that claims what the group has not read."""
        if unread := self._truth.unread(self._region, place, row, read):
            raise Wrong(
                f"{self._group.name} has not read {unread}, and goes on at {row} of {place} in "
                f"{self._region}"
            )


def as_librdkafka_reads(commit: OffsetAndMetadata) -> OffsetAndMetadata:
    """Returns a commit as librdkafka hands it out: with other memory behind metadata that have no
    zero byte. Raises Wrong for a vector that is lost in this way."""
    text, zero, _ = commit.metadata.partition("\0")
    if text and not zero:
        text += "7f"
    if decode(text) != decode(commit.metadata):
        raise Wrong(f"librdkafka reads no vector in {commit}")
    return OffsetAndMetadata(commit.offset, text)


def consumers(groups: Iterable[Group]) -> list[Process]:
    """Returns the consumers that run."""
    return [it.consumer for it in groups if it.consumer and not it.consumer.is_dead]
