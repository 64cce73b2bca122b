"""Dead letters: records that cannot be loaded, produced in the transaction of the intent that names
their block. So each is there exactly once, also after a crash, with one exception.

A block whose table was altered before it could be stored is decoded again, by the new columns. If a
successor does that, it produces all dead letters of the block: some may be there already.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from aiokafka.record.default_records import DefaultRecordBatchBuilder

from aggregator.formats.record_slice import RecordSlice
from aggregator.loader.draft import Draft
from aggregator.tables.decoded import DeadRecord, Decoded
from balancer.plan import TopicPartition
from replicator.config.names import dead_letter_topic
from replicator.kafka.client.cluster import Cluster, ProducerStateLost
from replicator.kafka.client.fenced_committer import FencedCommitter, Identity
from replicator.kafka.protocol.error_codes import named
from replicator.kafka.protocol.produce import ProduceRequest, outcomes

BATCH_BYTES = 8 << 20
"""A transaction that is repeated sends the same batches again. Of each partition the broker
recognizes five."""
HEADER_PREFIX = "sluice."
PARTITIONS = 4
"""Partitions of a feed's topic of dead letters."""
MESSAGE_BYTES_MAX = 16 << 20
"""Largest dead letter: the record with the headers that are added."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record that could not be loaded, as it is produced."""

    partition: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


def dead_letters(
    place: TopicPartition,
    cluster: str,
    table: str,
    slices: Sequence[RecordSlice],
    dead: Iterable[DeadRecord],
) -> list[DeadLetter]:
    """Returns the dead letters of a block, with their coordinates and reasons as headers."""
    reasons = {each.offset: each.reason for each in dead}
    offsets = np.array(list(reasons), np.int64)
    found: list[DeadLetter] = []
    if not reasons:
        return found
    for part in slices:
        for at in np.flatnonzero(np.isin(part.offset, offsets)).tolist():
            offset = int(part.offset[at])
            added = {
                "cluster": cluster,
                "topic": place.topic,
                "partition": str(place.partition),
                "offset": str(offset),
                "table": table,
                "reason": reasons[offset],
            }
            headers = [(f"{HEADER_PREFIX}{key}", text.encode()) for key, text in added.items()]
            found.append(
                DeadLetter(
                    place.partition % PARTITIONS,
                    int(part.timestamp_ms[at]),
                    part.key_at(at),
                    part.value_at(at),
                    (*part.headers_at(at), *headers),
                )
            )
    return found


def all_dead(draft: Draft[RecordSlice]) -> Decoded:
    """Returns the records of a table that does not exist: all of them are dead letters."""
    named = f"there is no table {draft.table!r}" if draft.table else "no header names its table"
    offsets = (offset for part in draft.slices for offset in part.offset.tolist())
    return Decoded(dead=tuple(DeadRecord(offset, named) for offset in offsets))


@dataclass(eq=False)
class DeadLetterProducer:
    """Produces dead letters of a feed into the cluster that they were read from.

    Args:
        timeout_ms: of a produce request.
    """

    cluster: Cluster
    feed: str
    timeout_ms: int = 15_000
    _sequences: dict[tuple[Identity, int], int] = field(init=False, default_factory=dict)

    def effects(
        self, committer: FencedCommitter, letters: Sequence[DeadLetter]
    ) -> Callable[[Identity], Awaitable[None]]:
        """Returns what to do inside the transaction: each call sends the same batches."""
        by_partition: dict[int, list[DeadLetter]] = {}
        for letter in letters:
            by_partition.setdefault(letter.partition, []).append(letter)
        begun: dict[int, int] = {}

        async def send(identity: Identity) -> None:
            topic = dead_letter_topic(self.feed)
            self.cluster.watch([topic])
            await committer.add_partitions(topic, sorted(by_partition))
            for partition, some in sorted(by_partition.items()):
                key = (identity, partition)
                sequence = begun.setdefault(partition, self._sequences.get(key, 0))
                for part in _batched(some):
                    await self._send(identity, partition, part, sequence)
                    sequence += len(part)
                self._sequences[key] = sequence

        return send

    async def _send(
        self, identity: Identity, partition: int, letters: Sequence[DeadLetter], sequence: int
    ) -> None:
        """Produces one batch and waits for all replicas.

        Raises ProducerStateLost if it is refused: it may be in the log, and only another producer
        can go on.
        """
        topic = dead_letter_topic(self.feed)
        batch = _batch(identity, letters, sequence)
        known = self.cluster.topic(topic)
        if known is None:
            await self.cluster.refresh()
            known = self.cluster.topic(topic)
        if known is None:
            raise ProducerStateLost(f"{self.cluster.name}: {topic} is missing")
        request = ProduceRequest(
            {(topic, known.id): [(partition, batch)]},
            timeout_ms=self.timeout_ms,
            transactional_id=identity.transactional_id,
        )
        response = await self.cluster.ask_leader(
            topic,
            partition,
            request,
            lambda r: [outcome.code for outcome in outcomes(r).values()],
            question="Produce",
            purpose="produce",
        )
        for outcome in outcomes(response).values():
            if outcome.code:
                raise ProducerStateLost(f"{self.cluster.name}: {topic}: {named(outcome.code)}")


def _batched(letters: Sequence[DeadLetter]) -> list[list[DeadLetter]]:
    """Splits letters into batches of BATCH_BYTES, or of one letter that is larger."""
    batches: list[list[DeadLetter]] = [[]]
    size = 0
    for letter in letters:
        own = len(letter.key or b"") + len(letter.value or b"") + 512
        if batches[-1] and size + own > BATCH_BYTES:
            batches.append([])
            size = 0
        batches[-1].append(letter)
        size += own
    return batches


def _batch(identity: Identity, letters: Sequence[DeadLetter], sequence: int) -> bytes:
    builder = DefaultRecordBatchBuilder(
        2,
        0,
        True,
        identity.producer_id,
        identity.epoch,
        sequence,
        MESSAGE_BYTES_MAX,
    )
    for at, letter in enumerate(letters):
        builder.append(
            at,
            timestamp=letter.timestamp_ms,
            key=letter.key,
            value=letter.value,
            headers=list(letter.headers),
        )
    return bytes(builder.build())
