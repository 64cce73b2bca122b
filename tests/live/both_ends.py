"""Both ends of routes, compared record by record, and with what the offset maps say of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import IsolationLevel, KafkaException
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import OffsetSpec

from balancer.plan import TopicPartition
from deploy.lab.dump import BOTH, PartitionDump, compare_dumps, dump
from deploy.lab.kafka import KafkaCluster
from deploy.lab.wait import until
from replicator.offsets.offset_map import OffsetMap
from replicator.offsets.offset_store import OffsetStore
from replicator.offsets.runs_topic import read, rebuild
from replicator.topics.admin_error import OUTDATED, kafka_error
from tests.live.regions import Regions


def stable_ends(cluster: KafkaCluster, topics: Mapping[str, int]) -> dict[TopicPartition, int]:
    """Last stable offsets of what a cluster has of these topics, with their partition counts."""
    admin = cluster.admin()
    asked: dict[Place, OffsetSpec] = {}
    for topic, count in topics.items():
        known = admin.list_topics(topic, timeout=30).topics[topic].partitions
        asked |= {Place(topic, n): OffsetSpec.latest() for n in range(count) if n in known}
    if not asked:
        return {}
    isolation = IsolationLevel.READ_COMMITTED
    ends: dict[TopicPartition, int] = {}

    def are_known() -> bool:
        client = cluster.admin()  # a new one: it keeps what it knew; held until it has answered
        answers: Any = client.list_offsets(asked, isolation_level=isolation)
        for place, answer in answers.items():
            try:
                ends[TopicPartition(place.topic, place.partition)] = answer.result(30).offset
            except KafkaException as failure:  # between an election and a broker's hearing of it
                if kafka_error(failure).code() not in OUTDATED:
                    raise
        return len(ends) == len(asked)

    assert until(are_known, 30), f"only the ends of {sorted(ends)} are known"
    return ends


def assert_same(
    regions: Regions,
    topics: Iterable[str],
    *,
    since: Mapping[int, int],
    but: Iterable[int],
    redis_may_lack: bool,
) -> int:
    """Both ends hold the same, for readers of both isolation levels; and so say both maps.

    Args:
        since: by partition, the source offset from which on records count.
        but: partitions that are not looked at.
        redis_may_lack: runs, as after a kill; then they are read back from the topic first.
    Returns: how many records.
    """
    count = 0
    for topic in topics:
        sent = {
            name: {p: _since(d, since.get(p, 0)) for p, d in dumps.items()}
            for name, cluster in regions.sources.items()
            if (dumps := _without(but, dump(cluster, topic)))
        }
        for isolation in BOTH:
            arrived = _without(but, dump(regions.target, topic, isolation))
            comparison = compare_dumps(sent, arrived, topic)
            comparison.assert_exact()
        count += comparison.total.sent
        _assert_maps_exact(regions, topic, sent, arrived, redis_may_lack)
    return count


def _since(sent: PartitionDump, offset: int) -> PartitionDump:
    wanted = sent.offsets >= offset
    return PartitionDump(sent.prints[wanted], sent.offsets[wanted], sent.size_bytes)


def _without(but: Iterable[int], dumps: Mapping[int, PartitionDump]) -> dict[int, PartitionDump]:
    return {partition: it for partition, it in dumps.items() if partition not in set(but)}


def maps(regions: Regions, name: str) -> tuple[dict[Any, OffsetMap], dict[Any, OffsetMap]]:
    """The offset maps of a route: rebuilt from the runs topic, and as Redis has them."""
    route = regions.routes[name]
    told = rebuild(regions.target.librdkafka_options(), route.key)
    with OffsetStore(regions.redis.url, route.key) as store:
        return told, store.load_all()


def _assert_maps_exact(
    regions: Regions,
    topic: str,
    sent: Mapping[str, Mapping[int, PartitionDump]],
    arrived: Mapping[int, PartitionDump],
    redis_may_lack: bool,
) -> None:
    """For every record of every source: where it landed, and back, in both maps."""
    for name, route in regions.routes.items():
        told, kept = maps(regions, name)
        if redis_may_lack:
            with OffsetStore(regions.redis.url, route.key) as store:
                assert store.rebuild(read(regions.target.librdkafka_options(), route.key))
                kept = store.load_all()
        for each in (told, kept):
            by_partition = {k.partition: m for k, m in each.items() if k.topic == topic}
            for partition, dumped in sent[name].items():
                if len(dumped.prints):
                    _assert_map_exact(by_partition[partition], dumped, arrived[partition])


def _assert_map_exact(found: OffsetMap, sent: PartitionDump, arrived: PartitionDump) -> None:
    assert found.complete, found.missing
    assert_landed(found, sent, arrived)
    counted = sum(run.records for run in found.runs())
    assert counted == len(sent.prints), f"runs of {counted} records, {len(sent.prints)} were sent"


def assert_landed(found: OffsetMap, sent: PartitionDump, arrived: PartitionDump) -> None:
    """The source's records are all different, so a fingerprint says where each of them landed."""
    landed = dict(zip(arrived.prints.tolist(), arrived.offsets.tolist(), strict=True))
    for fingerprint, offset in zip(sent.prints.tolist(), sent.offsets.tolist(), strict=True):
        assert found.target_of(offset) == landed[fingerprint]
        assert found.source_of(landed[fingerprint]) == offset
