"""Tailer of a route's runs topic: the runs of one route, as its carriers publish them.

A piece stays packed: it goes into another Redis as it is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from confluent_kafka import Message

from replicator.config.names import runs_group, runs_topic_name
from replicator.config.topology import KafkaCluster
from replicator.kafka.tail.topic_tailer import LogUnreadable, TopicTailer
from replicator.mirror.offset_map.packed_map import BrokenPiece, UnknownVersion
from replicator.mirror.offset_map.runs_topic import RunsKey, decode_key


class RunsRecord(NamedTuple):
    """Packed piece of a partition's map; its key has the losses under which it was published."""

    key: RunsKey
    piece: bytes


def runs_tailer(
    name: str, cluster: KafkaCluster, route_key: str, **options: Any
) -> TopicTailer[RunsRecord]:
    """Returns a tailer of a route's runs.

    Args:
        name: for people: "west aggregate".
        cluster: the route's target.
        options: those of TopicTailer.
    """
    group = runs_group(route_key)
    return TopicTailer(name, cluster, runs_topic_name(route_key), group, _read, **options)


def _read(message: Message) -> RunsRecord:
    try:
        return RunsRecord(decode_key(_bytes(message.key())), _bytes(message.value()))
    except (BrokenPiece, UnknownVersion) as error:
        # Nothing is skipped: a map with an unnoticed hole would claim too much.
        where = f"{message.topic()}-{message.partition()} at {message.offset()}"
        raise LogUnreadable(f"{where}: {error}") from error


def _bytes(part: str | bytes | None) -> bytes:
    return part.encode() if isinstance(part, str) else part or b""
