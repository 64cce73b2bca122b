"""Answers of a broker about logs: Metadata, Produce, ListOffsets, leader epochs and producers.

Source: kafka.server.KafkaApis and ReplicaManager. A batch that the in-sync replicas get too late,
or under another leader, cannot be provoked in time: see `replicated`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from replicator.kafka.protocol.error_codes import Code
from replicator.kafka.protocol.topic_id import NO_TOPIC_ID
from tests.replicator.batches.source_batches import decoded
from tests.world.kafka.broker import Broker
from tests.world.kafka.log_batch import Refused, batch_of
from tests.world.kafka.partition import NOBODY, Leadership, Partition
from tests.world.kafka.requests import Asked, Produced

EARLIEST, LATEST = -2, -1
ALL_ACKS = -1
CLUSTER_CONTROLLER = 1


def known_to(broker: Broker, partition: Partition) -> Leadership:
    """Returns the leadership of a partition as a broker knows it."""
    return partition.told.get(broker.node, partition.decided)


# -- Metadata


async def metadata(broker: Broker, asked: Asked) -> Any:
    cluster = broker.cluster
    brokers = [
        # A rack: sets of brokers without one have another order in each process.
        (node, cluster.host, it.port, "rack")
        for node, it in cluster.brokers.items()
        if node in cluster.alive
    ]
    if asked.version >= 12:
        names = [name for _, name, _ in asked.body.topics or ()]
        topics = [_topic(broker, name) for name in names]
        tagged = [(*row, {}) for row in brokers]
        return (0, tagged, cluster.name, CLUSTER_CONTROLLER, topics, {})
    names = cluster.topics if asked.body.topics is None else asked.body.topics
    return (
        0,
        brokers,
        cluster.name,
        CLUSTER_CONTROLLER,
        [_old_topic(broker, name) for name in names],
    )


def _topic(broker: Broker, name: str) -> Any:
    topic = broker.cluster.topics.get(name)
    if topic is None:
        return (Code.UNKNOWN_TOPIC_OR_PARTITION, name, NO_TOPIC_ID, False, [], -1, {})
    rows = []
    for partition in topic.partitions:
        known = known_to(broker, partition)
        code = Code.LEADER_NOT_AVAILABLE if known.leader == NOBODY else Code.NONE
        in_sync = sorted(known.in_sync)
        rows.append(
            (code, partition.number, known.leader, known.epoch, partition.replicas, in_sync, [], {})
        )
    return (Code.NONE, name, topic.id, name.startswith("__"), rows, -1, {})


def _old_topic(broker: Broker, name: str) -> Any:
    code, _, _, is_internal, rows, _, _ = _topic(broker, name)
    old = [
        (code, number, leader, replicas, in_sync, away)
        for code, number, leader, _, replicas, in_sync, away, _ in rows
    ]
    return (code, name, is_internal, old)


# -- Produce


async def produce(broker: Broker, asked: Asked) -> Any:
    request = asked.body if isinstance(asked.body, Produced) else _old_produced(asked.body)
    outcomes = await asyncio.gather(
        *(_produce_one(broker, request, *each) for each in request.batches)
    )
    if request.acks == 0:
        return None
    by_topic: dict[Any, list[Any]] = {}
    is_tagged = asked.version >= 9
    for (topic, number, _), outcome in zip(request.batches, outcomes, strict=True):
        by_topic.setdefault(topic, []).append((number, *outcome.fields(is_tagged=is_tagged)))
    if is_tagged:
        answers = [(topic, [(*row, {}) for row in rows], {}) for topic, rows in by_topic.items()]
        return (answers, broker.throttle_ms, {})
    # The log's start came with version 5, the refused records with version 8.
    width = 7 if asked.version >= 8 else 5 if asked.version >= 5 else 4
    rows = [(topic, [row[:width] for row in some]) for topic, some in by_topic.items()]
    return (rows, broker.throttle_ms)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Answer to one batch.

    Args:
        refused: indexes of the records for which the batch is refused.
    """

    code: int
    base_offset: int = -1
    append_time_ms: int = -1
    refused: Sequence[int] = ()

    def fields(self, *, is_tagged: bool) -> tuple[Any, ...]:
        tags: tuple[Any, ...] = ({},) if is_tagged else ()
        errors = [
            (at, "Compacted topic cannot accept message without key", *tags) for at in self.refused
        ]
        return (self.code, self.base_offset, self.append_time_ms, 0, errors, None)


def _old_produced(body: Any) -> Produced:
    batches = [(topic, number, bytes(data)) for topic, rows in body.topics for number, data in rows]
    return Produced(body.transactional_id, body.required_acks, body.timeout, batches)


async def _produce_one(
    broker: Broker, request: Produced, topic: str | UUID, number: int, data: bytes
) -> _Outcome:
    partition = broker.cluster.partition(topic, number)
    if partition is None:
        is_other = isinstance(topic, UUID) and not broker.cluster.knows(topic)
        return _Outcome(Code.UNKNOWN_TOPIC_ID if is_other else Code.UNKNOWN_TOPIC_OR_PARTITION)
    try:
        batch = batch_of(data)
        placed = partition.append(broker.node, batch, all_acks=request.acks == ALL_ACKS)
    except Refused as refused:
        return _Outcome(refused.code, refused=refused.records)
    base_offset, end, is_duplicate = placed
    # For a duplicate the largest time of its records, whatever the topic's timestamp type.
    has_time = is_duplicate or partition.stamps_append_time
    log = partition.logs[broker.node]
    append_time_ms = log.time_of(batch.producer_id, base_offset) if has_time else -1
    broker.cluster.replicate(partition)
    if request.acks == ALL_ACKS:
        code = await replicated(broker, partition, end, request.timeout_ms / 1000)
        if code:
            return _Outcome(code)
    return _Outcome(Code.NONE, base_offset, append_time_ms)


async def replicated(broker: Broker, partition: Partition, end: int, timeout_seconds: float) -> int:
    """Waits until all in-sync replicas have everything below an offset; returns an error code.

    Source: DelayedProduce, Partition.checkEnoughReplicasReachOffset.
    """
    began = partition.told.get(broker.node)
    give_up_at = broker.cluster.network.loop.time() + timeout_seconds
    while True:
        known = partition.told.get(broker.node)
        if (
            known is None
            or began is None
            or known.leader != broker.node
            or known.epoch != began.epoch
        ):
            return Code.NOT_LEADER_OR_FOLLOWER
        if partition.logs[broker.node].high_watermark >= end:
            is_enough = len(known.in_sync) >= partition.min_in_sync
            return Code.NONE if is_enough else Code.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        left = give_up_at - broker.cluster.network.loop.time()
        if left <= 0:
            return Code.REQUEST_TIMED_OUT
        await changed(partition, left)


async def changed(partition: Partition, seconds: float) -> None:
    """Waits for a change of a partition, for some time."""
    try:
        async with asyncio.timeout(seconds):
            await partition.changed.wait()
    except TimeoutError:
        pass


# -- offsets, epochs, producers


async def list_offsets(broker: Broker, asked: Asked) -> Any:
    """Lists offsets by time (UnifiedLog.fetchOffsetByTimestamp)."""
    read_committed = bool(getattr(asked.body, "isolation_level", 0))
    topics = []
    for topic, rows in asked.body.topics:
        found = []
        for number, timestamp in rows:
            try:
                offset = _listed(broker, topic, number, timestamp, read_committed)
                found.append((number, Code.NONE, -1, offset))
            except Refused as refused:
                # Below version 5 there is no OFFSET_NOT_AVAILABLE.
                is_late = refused.code == Code.OFFSET_NOT_AVAILABLE
                code = Code.LEADER_NOT_AVAILABLE if is_late else refused.code
                found.append((number, code, -1, -1))
        topics.append((topic, found))
    return (0, topics) if asked.version >= 2 else (topics,)


def _listed(broker: Broker, topic: str, number: int, timestamp: int, read_committed: bool) -> int:
    partition = _partition(broker, topic, number)
    partition.leadership_of(broker.node)
    log = partition.logs[broker.node]
    if timestamp == EARLIEST:
        return log.start
    end = partition.latest(broker.node, read_committed=read_committed)
    if timestamp == LATEST:
        return end
    for batch in log.from_offset(log.start, end):
        if batch.max_timestamp >= timestamp and not batch.is_marker:
            for record in decoded(batch.data):
                if record.timestamp >= timestamp and record.offset >= log.start:
                    return record.offset
    return -1


async def leader_epochs(broker: Broker, asked: Asked) -> Any:
    """Tells ends of epochs (LeaderEpochFileCache.endOffsetFor)."""
    topics = []
    for topic, rows in asked.body.topics:
        found = []
        for number, current, epoch in rows:
            try:
                partition = _partition(broker, topic, number)
                partition.checked_epoch(broker.node, current)
                one, end = partition.logs[broker.node].epoch_end(epoch)
                found.append((Code.NONE, number, one, end))
            except Refused as refused:
                found.append((refused.code, number, -1, -1))
        topics.append((topic, found))
    return (0, topics)


async def describe_producers(broker: Broker, asked: Asked) -> Any:
    """Describes producers as any replica remembers them (Partition.activeProducerState)."""
    topics = []
    for topic, numbers, _ in asked.body.topics:
        rows = []
        for number in numbers:
            try:
                partition = _partition(broker, topic, number)
                partition.checked_epoch(broker.node, -1, leads=False)
            except Refused as refused:
                rows.append((number, refused.code, None, [], {}))
                continue
            log = partition.logs[broker.node]
            producers = [
                (
                    producer_id,
                    it.epoch,
                    it.last_sequence,
                    it.last_timestamp,
                    it.coordinator_epoch,
                    it.transaction_start,
                    {},
                )
                for producer_id, it in log.producers.items()
            ]
            rows.append((number, Code.NONE, None, producers, {}))
        topics.append((topic, rows, {}))
    return (0, topics, {})


def _partition(broker: Broker, topic: str, number: int) -> Partition:
    partition = broker.cluster.partition(topic, number)
    if partition is None:
        raise Refused(Code.UNKNOWN_TOPIC_OR_PARTITION)
    return partition


HANDLERS = {
    0: produce,
    2: list_offsets,
    3: metadata,
    23: leader_epochs,
    61: describe_producers,
}
