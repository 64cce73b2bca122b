"""Object records: complete objects on their way into the topic of a feed's objects."""

from __future__ import annotations

import zlib

from aggregator.loader.produced import Produced
from aggregator.objects.told_object import ToldObject
from balancer.topic_partition import TopicPartition
from replicator.config.names import objects_topic

PARTITIONS = 4
"""Partitions of a feed's topic of objects. Never changed: a key would move to another one."""


def object_record(feed: str, told: ToldObject) -> Produced:
    """Returns the record that tells of an object of a feed."""
    place = told_place(feed, TopicPartition(told.topic, told.partition))
    return Produced(*place, told.told_at_ms, told.key.encode(), told.encode())


def told_place(feed: str, place: TopicPartition) -> TopicPartition:
    """Returns the partition of the topic of objects that tells of those of a Kafka partition."""
    number = zlib.crc32(f"{place.topic}/{place.partition}".encode()) % PARTITIONS
    return TopicPartition(objects_topic(feed), number)
