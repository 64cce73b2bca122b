"""Object records: complete objects on their way into the topic of a feed's objects."""

from __future__ import annotations

import zlib

from aggregator.loader.produced import Produced
from aggregator.objects.told_object import ToldObject
from replicator.config.names import objects_topic

PARTITIONS = 4
"""Partitions of a feed's topic of objects. Never changed: a key would move to another one."""


def object_record(feed: str, told: ToldObject) -> Produced:
    """Returns the record that tells of an object of a feed."""
    partition = zlib.crc32(f"{told.topic}/{told.partition}".encode()) % PARTITIONS
    return Produced(
        objects_topic(feed), partition, told.told_at_ms, told.key.encode(), told.encode()
    )
