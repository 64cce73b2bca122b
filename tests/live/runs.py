"""Runs as a carrier publishes them: to a runs topic on a real cluster, and to Redis."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from confluent_kafka.admin import NewTopic

from deploy.lab.kafka import KafkaCluster
from replicator.config.names import runs_topic_name
from replicator.config.security import Security
from replicator.mirror.offset_map.offset_map import OffsetMap
from replicator.mirror.offset_map.offset_store import OffsetStore, map_after_losses
from replicator.mirror.offset_map.packed_map import Piece, pack_segment, unpack
from replicator.mirror.offset_map.redis_writer import RedisWriter
from replicator.mirror.offset_map.run_segment import Run, RunSegment
from replicator.mirror.offset_map.runs_publisher import RunsPublisher
from replicator.mirror.offset_map.runs_topic import CONFIGS, PARTITIONS, RunsKey, read

ROUTE = "west.east"


def keys(partitions: int) -> list[RunsKey]:
    return [RunsKey("flights", at, "c291cmNl", "dGFyZ2V0") for at in range(partitions)]


(KEY,) = keys(1)


def stretches(begin: int, end: int) -> list[RunSegment]:
    """Returns segments of ten records in two runs, with another region's records in between."""
    return [
        RunSegment(
            10 * at, 10 * at + 10, (Run(10 * at, 20 * at, 5), Run(10 * at + 5, 20 * at + 10, 5))
        )
        for at in range(begin, end)
    ]


def learned(parts: Iterable[RunSegment]) -> OffsetMap:
    """Returns the offset map of these segments."""
    offset_map = OffsetMap()
    offset_map.join(unpack(pack_segment(stretch)) for stretch in parts)
    return offset_map


def loaded(store: OffsetStore) -> dict[RunsKey, OffsetMap]:
    """Returns the map of every partition, by its key without losses."""
    there = store.keys()
    return {key: store.load(key) for key in there}


def rebuilt(options: Mapping[str, object], route_key: str) -> dict[RunsKey, OffsetMap]:
    """Returns the map of every partition, made from the runs topic alone."""
    pieces: dict[RunsKey, list[Piece]] = {}
    for key, piece in read(options, route_key):
        pieces.setdefault(key, []).append(piece)
    maps: dict[RunsKey, dict[int, OffsetMap]] = {}
    for key, some in pieces.items():
        offset_map = maps.setdefault(key.without_losses, {})[key.losses] = OffsetMap()
        offset_map.join(some)
    return {key: map_after_losses(each) for key, each in maps.items()}


def told(key: RunsKey, parts: Iterable[RunSegment]) -> Iterator[tuple[RunsKey, Piece]]:
    """Returns the segments as they are read from the runs topic."""
    return iter([(key, unpack(pack_segment(stretch))) for stretch in parts])


async def fed(
    url: str, parts: list[RunSegment], key: RunsKey = KEY, *, route_key: str = ROUTE
) -> None:
    """Feeds runs to Redis; returns once Redis holds them."""
    writer = RedisWriter(url, route_key, 0)
    await writer.start()
    writer.append(key, parts)
    await writer.stop(drain_seconds=10)


def create_runs_topic(cluster: KafkaCluster, route_key: str) -> None:
    cluster.create_topics(NewTopic(runs_topic_name(route_key), PARTITIONS, config=dict(CONFIGS)))


async def publisher(cluster: KafkaCluster, route_key: str, **more: Any) -> RunsPublisher:
    """Returns a started publisher; the caller stops it."""
    security = Security.model_validate(cluster.credentials.security_table())
    bootstrap = cluster.bootstrap.split(",")
    made = RunsPublisher(bootstrap, route_key, security.aiokafka_options(), **more)
    await made.start()
    return made
