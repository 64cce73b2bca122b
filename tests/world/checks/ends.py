"""Both ends of a route: every committed record of the source once in the target, in order.

Ranges that an operator has rewound stand there once more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from balancer.topic_partition import TopicPartition
from tests.replicator.batches.source_batches import Record, decoded
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.kafka.log_batch import Batch
from tests.world.mirror.scene import Scene


def differences(scene: Scene) -> list[str]:
    """Returns a text for each partition whose ends differ, and for each outdated carrier."""
    found = scene.mirroring.outdated()
    for place in scene.places:
        records = source_records(scene, place)
        for isolation, read in (
            ("read committed", committed_values),
            ("read uncommitted", all_values),
        ):
            seen = read(scene.mirroring.target, place)
            left = scene.compactions.left(place, records, seen)
            sent = scene.rewinds.expected(place, left)
            if sent != seen:
                found.append(_difference(place, isolation, sent, seen))
    return found or [text for place in scene.places if (text := changed(scene, place))]


def changed(scene: Scene, place: TopicPartition) -> str | None:
    """Returns a text if records of a partition have another key, time or headers in the target."""
    found = changed_offsets(scene, place)
    which = f"{place.topic}-{place.partition}: {len(found)} records"
    return f"{which} are not as they were sent, such as {found[:3]}" if found else None


def changed_offsets(scene: Scene, place: TopicPartition) -> list[int]:
    """Returns the source offsets of records whose key, time or headers differ in the target."""
    sent = {it.value: it for it in _committed(_source_batches(scene, place))}
    seen = _records(scene.mirroring.target, place)
    pairs = ((it, sent[it.value]) for it in seen if it.value in sent)
    return [ours.offset for it, ours in pairs if replace(it, offset=ours.offset) != ours]


def has_surplus(scene: Scene) -> bool:
    """Returns True if the target has a record more often than operators have had it carried: it
    stays there."""
    if scene.acceptances:
        return False
    for place in scene.places:
        counts = Counter(all_values(scene.mirroring.target, place))
        if max(counts.values(), default=0) > 1 + len(scene.rewinds.done(place)):
            return True
    return False


def source_records(scene: Scene, place: TopicPartition) -> list[tuple[int, bytes]]:
    """Returns offsets and values of a partition's committed records at the source, also of those
    that compaction has removed from some or all of its replicas."""
    return committed_records(_source_batches(scene, place))


def _source_batches(scene: Scene, place: TopicPartition) -> list[Batch]:
    partition = scene.mirroring.source.partition(*place)
    assert partition is not None
    found = {it.base_offset: it for it in partition.logs[partition.decided.leader].everything}
    for log in partition.logs.values():
        found |= log.removed
    return [found[at] for at in sorted(found)]


def committed_values(cluster: KafkaCluster, place: TopicPartition) -> list[bytes]:
    """Returns the values of a partition's records without those of aborted transactions."""
    partition = cluster.partition(*place)
    assert partition is not None
    records = committed_records(partition.logs[partition.decided.leader].everything)
    return [value for _, value in records]


def committed_records(batches: Sequence[Batch]) -> list[tuple[int, bytes]]:
    """Returns offsets and values of the records without those of aborted transactions."""
    return [(record.offset, record.value or b"") for record in _committed(batches)]


def _committed(batches: Sequence[Batch]) -> Iterator[Record]:
    ends: dict[int, bool] = {}
    kept = []
    for batch in reversed(batches):
        if batch.is_marker:
            ends[batch.producer_id] = bool(batch.is_commit)
        elif not batch.is_transactional or ends.get(batch.producer_id, False):
            kept.append(batch)
    return (record for batch in reversed(kept) for record in decoded(batch.data))


def all_values(cluster: KafkaCluster, place: TopicPartition) -> list[bytes]:
    """Returns the values of all records of a partition."""
    return [record.value or b"" for record in _records(cluster, place)]


def _records(cluster: KafkaCluster, place: TopicPartition) -> list[Record]:
    partition = cluster.partition(*place)
    assert partition is not None
    batches = partition.logs[partition.decided.leader].everything
    data = [batch.data for batch in batches if not batch.is_marker]
    return [record for batch in data for record in decoded(batch)]


def _difference(place: TopicPartition, isolation: str, sent: list[bytes], seen: list[bytes]) -> str:
    same = next((at for at, (a, b) in enumerate(zip(sent, seen, strict=False)) if a != b), None)
    twice = len(seen) - len(set(seen))
    missing = len(set(sent) - set(seen))
    return (
        f"{place.topic}-{place.partition} {isolation}: {len(sent)} sent, {len(seen)} seen, "
        f"{missing} missing, {twice} twice, first difference at {same}"
    )
