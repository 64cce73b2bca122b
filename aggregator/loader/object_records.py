"""Object records: complete objects on their way into the topic of a feed's objects."""

from __future__ import annotations

import zlib

from aggregator.intents.table_range import Manifest
from aggregator.loader.intent_effects import Produced
from aggregator.objects.told_object import ToldObject
from balancer.plan import TopicPartition
from replicator.config.names import objects_topic

PARTITIONS = 4
"""Partitions of a feed's topic of objects. Never changed: a key would move to another one."""


def object_record(
    feed: str, cluster: str, place: TopicPartition, key: str, manifest: Manifest, now_ms: int
) -> Produced:
    """Returns the record of an object that is complete.

    Args:
        now_ms: Unix time.
    """
    told = ToldObject.of(key, str(cluster), *place, manifest, now_ms)
    partition = zlib.crc32(f"{place.topic}/{place.partition}".encode()) % PARTITIONS
    return Produced(objects_topic(feed), partition, now_ms, key.encode(), told.encode())
