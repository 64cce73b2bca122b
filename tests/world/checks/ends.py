"""Both ends of a route: every committed record of the source once in the target, in order."""

from __future__ import annotations

from balancer.plan import TopicPartition
from tests.replicator.batches.source_batches import decoded
from tests.world.kafka_cluster import KafkaCluster
from tests.world.scene import Scene


def differences(scene: Scene) -> list[str]:
    """Returns a text for each partition whose ends differ."""
    found = []
    for place in scene.places:
        sent = committed_values(scene.mirroring.source, place)
        for isolation, read in (
            ("read committed", committed_values),
            ("read uncommitted", all_values),
        ):
            seen = read(scene.mirroring.target, place)
            if sent != seen:
                found.append(_difference(place, isolation, sent, seen))
    return found


def committed_values(cluster: KafkaCluster, place: TopicPartition) -> list[bytes]:
    """Returns the values of a partition's records without those of aborted transactions."""
    partition = cluster.partition(*place)
    assert partition is not None
    batches = partition.logs[partition.decided.leader].batches
    ends: dict[int, bool] = {}
    kept = []
    for batch in reversed(batches):
        if batch.is_marker:
            ends[batch.producer_id] = bool(batch.is_commit)
        elif not batch.is_transactional or ends.get(batch.producer_id, False):
            kept.append(batch)
    return [record.value or b"" for batch in reversed(kept) for record in decoded(batch.data)]


def all_values(cluster: KafkaCluster, place: TopicPartition) -> list[bytes]:
    """Returns the values of all records of a partition."""
    partition = cluster.partition(*place)
    assert partition is not None
    batches = partition.logs[partition.decided.leader].batches
    data = [batch.data for batch in batches if not batch.is_marker]
    return [record.value or b"" for batch in data for record in decoded(batch)]


def _difference(place: TopicPartition, isolation: str, sent: list[bytes], seen: list[bytes]) -> str:
    same = next((at for at, (a, b) in enumerate(zip(sent, seen, strict=False)) if a != b), None)
    twice = len(seen) - len(set(seen))
    missing = len(set(sent) - set(seen))
    return (
        f"{place.topic}-{place.partition} {isolation}: {len(sent)} sent, {len(seen)} seen, "
        f"{missing} missing, {twice} twice, first difference at {same}"
    )
