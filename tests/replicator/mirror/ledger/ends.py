"""Both ends of a takeover, its ledger and its writers, as values that tests set up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from balancer.topic_partition import TopicPartition
from replicator.batches.batch import CONTROL, HEADER, TRANSACTIONAL
from replicator.kafka.client.cluster import ProducerState
from replicator.kafka.client.cluster_metadata import Leader, Topic
from replicator.mirror.ledger.entry import Entry
from replicator.mirror.ledger.takeover import Takeover

SOURCE, TARGET = UUID(int=1), UUID(int=2)
LEADER_EPOCH = 5


@dataclass
class End:
    """A cluster at either end, with its log given as bytes."""

    topic_id: UUID
    start: int
    end: int
    states: dict[int, ProducerState] = field(default_factory=dict)
    log: bytes = b""
    shows: bool = True
    refuses: bool = False
    missing: float = 0.0

    def is_refused(self, name):
        return self.refuses

    def missing_seconds(self, name):
        return self.missing

    def topic(self, name):
        if not self.shows or self.refuses:
            return None
        return Topic(self.topic_id, dict.fromkeys(range(10), Leader(1, LEADER_EPOCH)))

    def leader(self, topic, partition):
        known = self.topic(topic)
        return known and known.leaders[partition]

    async def refresh(self):
        pass

    async def try_refresh(self):
        pass

    async def log_start(self, topic, partition):
        return self.start

    async def log_end(self, topic, partition):
        return self.end

    async def ask(self, find, request, codes, *, forget):
        await find()

    async def producer_states(self, topic, partition):
        return self.states

    async def read(self, topic, partition, offset, size):
        return self.log


class CommitterStandIn:
    """A stand-in for FencedCommitter; notes what it fences."""

    def __init__(self, transactional_id, producer_id=7, epoch=5):
        self.transactional_id = transactional_id
        self.producer_id, self.epoch = producer_id, epoch
        self.fenced = []

    async def open(self):
        return self

    async def fence(self, topic, partitions):
        self.fenced.append((topic, partitions))

    def next_sequence(self, partition):
        return 0

    def has_left(self, partition):
        return False


class EntriesById(dict[TopicPartition, Entry]):
    """A stand-in for Ledger."""

    async def read(self, partitions):
        return {p: self[p] for p in partitions if p in self}

    async def read_as_holder(self, holder, partitions):
        return await self.read(partitions)

    async def replace(self, holder, before, entries):
        self.update(entries)


def batch(offset: int, writer: tuple[int, int], sequence: int, count: int) -> bytes:
    body = b"\0"
    length = 49 + len(body)
    fields = (offset, length, 0, 2, 0, 0, count - 1, 0, 0, *writer, sequence, count)
    return HEADER.pack(*fields) + body


def marker(offset: int, writer: tuple[int, int], leader_epoch: int = LEADER_EPOCH) -> bytes:
    body = b"\0" * 17
    fields = (
        offset,
        49 + len(body),
        leader_epoch,
        2,
        0,
        CONTROL | TRANSACTIONAL,
        0,
        0,
        0,
        *writer,
        -1,
        1,
    )
    return HEADER.pack(*fields) + body


def a_takeover(
    entries: EntriesById,
    source: Any,
    target: Any,
    committer_of: Callable[[str], Any] = CommitterStandIn,
    **more: Any,
) -> Takeover:
    """Returns a Takeover whose own producer is (8, 0); every other id is given (7, 5)."""
    return Takeover(
        ledger=entries,  # type: ignore[arg-type]
        source=source,
        target=target,
        committer_of=committer_of,
        **{
            "start": "earliest",
            "fenced_committer": CommitterStandIn("sluice.west.east.99", 8, 0),
            "tell": lambda _: asyncio.sleep(0),
            **more,
        },
    )
