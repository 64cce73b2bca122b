"""Comparison of both ends of routes, record by record and against their offset maps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from confluent_kafka import IsolationLevel, KafkaException
from confluent_kafka import TopicPartition as KafkaTopicPartition
from confluent_kafka.admin import OffsetSpec

from balancer.topic_partition import TopicPartition
from deploy.lab.dump import BOTH, PartitionDump, compare_dumps, dump
from deploy.lab.kafka import KafkaCluster
from deploy.lab.wait import until
from replicator.kafka.admin.admin_error import OUTDATED, kafka_error
from replicator.mirror.offset_map.offset_map import OffsetMap
from replicator.mirror.offset_map.offset_store import OffsetStore
from replicator.mirror.offset_map.runs_topic import read
from tests.live.regions import Regions
from tests.live.runs import loaded, rebuilt
from tests.replicator.mirror.offset_map.told_logs import is_complete


def stable_ends(cluster: KafkaCluster, topics: Mapping[str, int]) -> dict[TopicPartition, int]:
    """Returns the last stable offsets of these topics, given with their partition counts."""
    admin = cluster.admin()
    asked: dict[KafkaTopicPartition, OffsetSpec] = {}
    for topic, count in topics.items():
        known = admin.list_topics(topic, timeout=30).topics[topic].partitions
        asked |= {
            KafkaTopicPartition(topic, n): OffsetSpec.latest() for n in range(count) if n in known
        }
    if not asked:
        return {}
    isolation = IsolationLevel.READ_COMMITTED
    ends: dict[TopicPartition, int] = {}

    def are_known() -> bool:
        client = cluster.admin()  # new, as clients cache; held until it answers
        answers: Any = client.list_offsets(asked, isolation_level=isolation)
        for place, answer in answers.items():
            try:
                ends[TopicPartition(place.topic, place.partition)] = answer.result(30).offset
            except KafkaException as failure:  # an election that the broker has not learned of yet
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
    """Checks that both ends hold the same records under both isolation levels, and that both maps
    agree.

    Args:
        since: by partition, the first source offset to compare.
        but: partitions to leave out.
        redis_may_lack: Redis may lack runs, as after a kill; they are then read back from the runs
            topic first.

    Returns the number of records.
    """
    count = 0
    for topic in topics:
        sent = {
            name: {p: _since(d, since.get(p, 0)) for p, d in dumps.items()}
            for name, cluster in regions.sources.items()
            if (dumps := _without(but, dump(cluster, topic)))
        }
        arrived = [_without(but, dump(regions.target, topic, isolation)) for isolation in BOTH]
        for each in arrived:
            comparison = compare_dumps(sent, each, topic)
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
    """Returns the offset maps of a route: rebuilt from the runs topic, and as Redis holds them."""
    route = regions.routes[name]
    told = rebuilt(regions.target.librdkafka_options(), route.key)
    with OffsetStore(regions.redis.url, route.key) as store:
        return told, loaded(store)


def _assert_maps_exact(
    regions: Regions,
    topic: str,
    sent: Mapping[str, Mapping[int, PartitionDump]],
    arrived: Sequence[Mapping[int, PartitionDump]],
    redis_may_lack: bool,
) -> None:
    """Checks, for every record of every source, the mapping in both directions in both maps.

    Args:
        arrived: the target's records by partition, for each isolation level.
    """
    for name, route in regions.routes.items():
        told, kept = maps(regions, name)
        if redis_may_lack:
            with OffsetStore(regions.redis.url, route.key) as store:
                assert store.rebuild(read(regions.target.librdkafka_options(), route.key))
                kept = loaded(store)
        for each in (told, kept):
            by_partition = {k.partition: m for k, m in each.items() if k.topic == topic}
            for partition, dumped in sent[name].items():
                if len(dumped.prints):
                    for there in arrived:
                        _assert_map_exact(by_partition[partition], dumped, there[partition])


def _assert_map_exact(found: OffsetMap, sent: PartitionDump, arrived: PartitionDump) -> None:
    assert is_complete(found), found.missing
    assert_landed(found, sent, arrived)
    counted = int(found.piece().counts.sum())
    assert counted == len(sent.prints), f"runs of {counted} records, {len(sent.prints)} were sent"


def assert_landed(found: OffsetMap, sent: PartitionDump, arrived: PartitionDump) -> None:
    """Checks the map by fingerprints, which identify records because all of them differ."""
    landed = dict(zip(arrived.prints.tolist(), arrived.offsets.tolist(), strict=True))
    for fingerprint, offset in zip(sent.prints.tolist(), sent.offsets.tolist(), strict=True):
        assert found.target_floor(offset) == (landed[fingerprint], "exact")
        assert found.source_of(landed[fingerprint]) == offset
