"""Configs of topics in a world: what brokers describe and refuse, and what they do by them.

Only topics of histories that change some have any. Source: kafka.server.ConfigAdminManager, and of
org.apache.kafka.storage.internals.log LogConfig, LogValidator, UnifiedLog.deleteOldSegments.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from replicator.kafka.admin.topic import Configs, policies
from tests.replicator.mirror.topics.played_cluster import KAFKA_43
from tests.world.kafka.log_batch import Batch
from tests.world.kafka.partition import NOBODY, Partition

if TYPE_CHECKING:
    from tests.world.kafka.kafka_cluster import KafkaCluster


def in_effect(own: Mapping[str, str]) -> dict[str, str]:
    """Returns all configs of a topic that has some of its own."""
    return {**KAFKA_43, **own}


def described(own: Mapping[str, str]) -> Configs:
    """Returns the configs of a topic as an admin client describes them."""
    names = frozenset(own)
    return Configs(in_effect(own), names, names, frozenset(KAFKA_43) - names)


def alter(cluster: KafkaCluster, name: str, changes: Mapping[str, str | None]) -> str | None:
    """Changes configs of a topic together; returns why the cluster takes none of them.

    Args:
        changes: by config; None deletes it.
    """
    topic = cluster.topics[name]
    assert topic.own is not None
    own = {**topic.own, **changes}
    after = {config: value for config, value in own.items() if value is not None}
    answer = refusal(after)
    for act in cluster.on_altered:
        act(cluster, name, changes, answer)
    if answer is None:
        topic.own = after
        for partition in topic.partitions:
            take_effect(partition, in_effect(after))
    return answer


def refusal(own: Mapping[str, str]) -> str | None:
    """Returns the answer to configs that contradict each other (LogConfig.validateValues)."""
    values = in_effect(own)
    low, high = values["min.compaction.lag.ms"], values["max.compaction.lag.ms"]
    if int(low) <= int(high):
        return None
    return (
        f"conflict topic config setting min.compaction.lag.ms ({low}) > "
        f"max.compaction.lag.ms ({high})"
    )


def take_effect(partition: Partition, values: Mapping[str, str]) -> None:
    """Lets the brokers of a partition follow its topic's configs."""
    partition.is_compacted = "compact" in policies(values["cleanup.policy"])
    partition.max_message_bytes = int(values["max.message.bytes"])
    partition.before_max_ms = int(values["message.timestamp.before.max.ms"])


def delete_old(partition: Partition, own: Mapping[str, str], end: int) -> list[Batch]:
    """Deletes what retention.ms allows to be deleted, and returns it.

    A broker deletes whole segments, later, and never the last one.

    Args:
        end: offset behind the last segment but one.
    """
    values, leader = in_effect(own), partition.decided.leader
    kept_ms = int(values["retention.ms"])
    if kept_ms < 0 or leader == NOBODY or "delete" not in policies(values["cleanup.policy"]):
        return []
    log = partition.logs[leader]
    gone = _older(log.from_offset(log.start, end), int(time.time() * 1000) - kept_ms, end)
    if gone:
        for each in partition.logs.values():
            each.delete_before(gone[-1].end)
    return gone


def _older(batches: Iterable[Batch], before_ms: int, end: int) -> list[Batch]:
    """Returns the first batches, up to the first one that is not older, or not whole."""
    found = []
    for batch in batches:
        is_old = batch.is_marker or batch.max_timestamp < before_ms
        if not is_old or batch.end > end:
            break
        found.append(batch)
    return found
