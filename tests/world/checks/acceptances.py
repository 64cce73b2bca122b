"""Partitions whose losses operators accept: what has to be carried all the same.

- Behind the offset at which a partition went on last, every record of the source stands in the
  target, in order, and nothing else.
- Before it, nothing is missing but what the source lost, or the target refused, in accepted
  ranges, and what the target lost.
- Nothing stands twice.
"""

from __future__ import annotations

from balancer.topic_partition import TopicPartition
from replicator.mirror.ledger.entry import Entry
from tests.world.checks.ends import all_values, committed_records, source_records
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.kafka.log_losses import LossCause, LostRange
from tests.world.mirror.acceptances import Acceptances
from tests.world.mirror.scene import Scene


def difference(
    scene: Scene, place: TopicPartition, entry: Entry | None, acceptances: Acceptances
) -> str | None:
    """Returns a text for a partition that is not what its acceptances say."""
    if entry is None:
        return "no entry, and an operator is there"
    if entry.parked:
        return f"parked for {entry.parked}, and an operator is there"
    sent, seen = source_records(scene, place), all_values(scene.mirroring.target, place)
    done = acceptances.done(place)
    begin = done[-1].goes_on_at if done else 0
    lost, found = _lost(scene.mirroring.target, place), set(seen)
    behind = [value for offset, value in sent if offset >= begin]
    # A target that loses the end of an idle log is noticed with the next record.
    while behind and behind[-1] in lost - found:
        behind.pop()
    if (behind and seen[-len(behind) :] != behind) or (not done and len(seen) > len(behind)):
        return f"{len(behind)} records behind {begin} differ from those in the target: {done}"
    if twice := len(seen) - len(found):
        return f"{twice} records stand twice: {done}"
    deleted = max(
        (it.end for it in _of(scene.mirroring.source, place) if _is_deleted(it)), default=0
    )
    partition = scene.mirroring.target.partition(*place)
    refused = partition.refused if partition else set()
    missing = [
        (offset, value)
        for offset, value in sent
        if value not in found | lost
        and not any(it.gives_up(offset, deleted, is_refused=value in refused) for it in done)
    ]
    return f"{missing[:3]} are missing, and were not given up: {done}" if missing else None


def _of(cluster: KafkaCluster, place: TopicPartition) -> list[LostRange]:
    return [it for it in cluster.lost if it.place == tuple(place)]


def _is_deleted(lost: LostRange) -> bool:
    return lost.cause is LossCause.RETENTION


def _lost(target: KafkaCluster, place: TopicPartition) -> set[bytes]:
    """Returns the values that the target had and lost."""
    return {value for lost in _of(target, place) for _, value in committed_records(lost.log)}
