"""Intents whose commits are decided, whether readers see them yet or not.

A coordinator answers EndTxn before it writes markers, and a new leader's high watermark may be
behind: whoever commits knows of it earlier than any reader.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from aggregator.intents.intent import Intent, decode
from aggregator.intents.intent_store import groups_of
from balancer.topic_partition import TopicPartition
from tests.world.checks.log_reading import LogReading
from tests.world.kafka.group_requests import OffsetCommit
from tests.world.kafka.kafka_cluster import GROUPS, TRANSACTIONS, KafkaCluster
from tests.world.kafka.log_batch import Batch
from tests.world.kafka.partition import Partition
from tests.world.kafka.transaction_log import State, Transaction

WHOLE = 1 << 62
Producer = tuple[int, int]
"""Id and epoch."""


def decided_intents(cluster: KafkaCluster, feed: str) -> Iterator[tuple[TopicPartition, Intent]]:
    """Yields all intents of a feed whose commits are decided, by what the leaders' logs hold."""
    prepared, groups = _prepared(cluster), groups_of(feed)
    for partition in cluster.topics[GROUPS].partitions:
        for commit in _decided(partition, prepared):
            for (topic, number), (offset, metadata) in commit.rows:
                # A fence confirms its coordinator by an offset without text.
                if commit.group in groups and metadata:
                    yield TopicPartition(topic, number), decode(offset, metadata)


def _decided(partition: Partition, prepared: set[Producer]) -> Iterator[OffsetCommit]:
    pending: dict[Producer, list[OffsetCommit]] = defaultdict(list)
    for batch in _written(partition):
        if batch.is_marker:
            # The marker of a fence has a higher epoch than the batches that it aborts.
            for producer in [each for each in pending if each[0] == batch.producer_id]:
                commits = pending.pop(producer)
                if batch.is_commit:
                    yield from commits
        elif batch.is_transactional:
            pending[batch.producer_id, batch.producer_epoch].append(batch.value)
    for producer in prepared & pending.keys():
        yield from pending[producer]


def _prepared(cluster: KafkaCluster) -> set[Producer]:
    """Returns the producers whose transactions will be committed, and have no marker yet."""
    found: dict[str, Transaction] = {}
    for partition in cluster.topics[TRANSACTIONS].partitions:
        for batch in _written(partition):
            if isinstance(batch.value, Transaction):
                found[batch.value.transactional_id] = batch.value
    return {(it.producer_id, it.epoch) for it in found.values() if it.state is State.PREPARE_COMMIT}


def _written(partition: Partition) -> Iterator[Batch]:
    return LogReading(partition).ahead(WHOLE)
