"""Intent effects: records that are produced in the transaction of an intent, so that each is there
exactly once, also after a crash."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from aiokafka.record.default_records import DefaultRecordBatchBuilder

from balancer.plan import TopicPartition
from replicator.kafka.client.cluster import Cluster, ProducerStateLost
from replicator.kafka.client.fenced_committer import FencedCommitter, Identity
from replicator.kafka.protocol.error_codes import named
from replicator.kafka.protocol.produce import Outcome, ProduceRequest, outcomes

BATCH_BYTES = 8 << 20
"""A transaction that is repeated sends the same batches again. Of each partition the broker
recognizes five."""
MESSAGE_BYTES_MAX = 16 << 20
"""Largest record: one of a source's, with the headers that are added."""


@dataclass(frozen=True, slots=True)
class Produced:
    """Record as it is produced."""

    topic: str
    partition: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass(eq=False)
class EffectProducer:
    """Produces records of a feed into the cluster that it reads.

    Args:
        timeout_ms: of a produce request.
    """

    cluster: Cluster
    timeout_ms: int = 15_000
    _sequences: dict[tuple[Identity, TopicPartition], int] = field(init=False, default_factory=dict)

    def effects(
        self, committer: FencedCommitter, records: Sequence[Produced]
    ) -> Callable[[Identity], Awaitable[None]]:
        """Returns what to do inside the transaction: each call sends the same batches."""
        by_place: dict[TopicPartition, list[Produced]] = {}
        for each in records:
            by_place.setdefault(TopicPartition(each.topic, each.partition), []).append(each)
        topics = sorted({place.topic for place in by_place})
        begun: dict[TopicPartition, int] = {}

        async def send(identity: Identity) -> None:
            self.cluster.watch(topics)
            for topic in topics:
                numbers = sorted(place.partition for place in by_place if place.topic == topic)
                await committer.add_partitions(topic, numbers)
            for place, some in sorted(by_place.items()):
                key = (identity, place)
                sequence = begun.setdefault(place, self._sequences.get(key, 0))
                for part in _batched(some):
                    await self._send(identity, place, part, sequence)
                    sequence += len(part)
                self._sequences[key] = sequence

        return send

    async def _send(
        self, identity: Identity, place: TopicPartition, records: Sequence[Produced], sequence: int
    ) -> None:
        await self.send_batch(identity, place, _batch(identity, records, sequence))

    async def send_batch(
        self, identity: Identity, place: TopicPartition, batch: bytes | bytearray | memoryview
    ) -> Outcome:
        """Produces a batch of the open transaction, and waits for all replicas.

        Raises ProducerStateLost if it is refused: it may be in the log, and only another producer
        can go on.
        """
        topic, partition = place
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
        (outcome,) = outcomes(response).values()
        if outcome.code:
            raise ProducerStateLost(f"{self.cluster.name}: {topic}: {named(outcome.code)}")
        return outcome


def _batched(records: Sequence[Produced]) -> list[list[Produced]]:
    """Splits records into batches of BATCH_BYTES, or of one record that is larger."""
    batches: list[list[Produced]] = [[]]
    size = 0
    for each in records:
        own = len(each.key or b"") + len(each.value or b"") + 512
        if batches[-1] and size + own > BATCH_BYTES:
            batches.append([])
            size = 0
        batches[-1].append(each)
        size += own
    return batches


def _batch(identity: Identity, records: Sequence[Produced], sequence: int) -> bytes:
    builder = DefaultRecordBatchBuilder(
        2,
        0,
        True,
        identity.producer_id,
        identity.epoch,
        sequence,
        MESSAGE_BYTES_MAX,
    )
    for at, each in enumerate(records):
        builder.append(
            at,
            timestamp=each.timestamp_ms,
            key=each.key,
            value=each.value,
            headers=list(each.headers),
        )
    return bytes(builder.build())
