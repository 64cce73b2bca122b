"""Object listing: the objects that a feed has told of, and what the store has of each. Blocking."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from confluent_kafka import Message

from aggregator.objects.forgotten import Forgotten, Removed, decoded
from aggregator.objects.told_object import ToldObject, UnreadableObject
from aggregator.objects.told_objects import ToldObjects
from aggregator.s3.object_store import ObjectStore
from replicator.config.names import objects_topic
from replicator.config.topology import KafkaCluster
from replicator.kafka.admin.admin import Admin
from replicator.kafka.tail.topic_tailer import TIMEOUT_SECONDS, LogUnreadable, TopicTailer

log = logging.getLogger(__name__)

HEADS_AT_ONCE = 16


ToldRecord = ToldObject | Forgotten | Removed


class ObjectTailer(TopicTailer[ToldRecord]):
    """Tailer of the topic of a feed's objects. Counts unreadable records, and leaves them out."""

    def __init__(self, name: str, cluster: KafkaCluster, feed: str, admin: Admin) -> None:
        """`name` is the cluster's name for people, such as "west aggregate"."""
        self.unreadable = 0
        topic = objects_topic(feed)
        super().__init__(name, cluster, topic, topic, self._decoded, admin=admin)

    def _decoded(self, message: Message) -> ToldRecord | None:
        key, value = message.key(), message.value()
        if not isinstance(key, bytes) or isinstance(value, str):
            return None
        try:
            return decoded(key, value)
        except UnreadableObject as unreadable:
            self.unreadable += 1
            log.warning("event=object-unreadable %s: %s; it is left out", self.name, unreadable)
            return None


def told_objects(
    name: str, cluster: KafkaCluster, feed: str, timeout_seconds: float, *, are_all_needed: bool
) -> ToldObjects:
    """Returns the objects that a feed has told of in a cluster, and what it has forgotten.

    Args:
        name: of the cluster, for people.
        timeout_seconds: for reading the topic to its end. One answer of a broker is awaited for
            TIMEOUT_SECONDS at most.
        are_all_needed: refuses to go on without a record that cannot be read.

    Raises:
        AdminError: the cluster gives no answer.
        LogUnreadable: the same, or a record cannot be read.
    """
    tailer = ObjectTailer(
        name, cluster, feed, Admin(name, cluster, min(timeout_seconds, TIMEOUT_SECONDS))
    )
    told = ToldObjects()
    for each in tailer.read(timeout_seconds):
        told.take(each)
    if tailer.unreadable and are_all_needed:
        raise LogUnreadable(
            f"{name}: {tailer.unreadable} records of {objects_topic(feed)} cannot be read; was one "
            "written by a newer version? Update this program"
        )
    return told


@dataclass(frozen=True, slots=True)
class Difference:
    """Difference between an object as it was told, and the store."""

    key: str
    text: str
    is_missing: bool = False


def differences(store: ObjectStore, objects: Iterable[ToldObject]) -> Iterator[Difference]:
    """Yields what the store has otherwise: it is asked for each object's size and checksum.

    Raises StoreProblem.
    """
    with ThreadPoolExecutor(HEADS_AT_ONCE) as pool:
        objects = [each for each in objects if not each.is_empty]
        for told, found in zip(
            objects, pool.map(lambda each: store.head(each.key), objects), strict=True
        ):
            if found is None:
                yield Difference(told.key, "is not there", is_missing=True)
            elif found.size_bytes != told.size_bytes:
                text = f"has {found.size_bytes} bytes, not {told.size_bytes}"
                yield Difference(told.key, text)
            elif found.crc32c is not None and found.crc32c != told.crc32c:
                text = f"has the CRC-32C {found.crc32c:08x}, not {told.crc32c:08x}"
                yield Difference(told.key, text)
