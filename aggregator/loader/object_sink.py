"""Object sink: the parts of a loader session of a feed into objects."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from aggregator.files.parquet_file import ROW_GROUP_BYTES
from aggregator.formats.record_slice import RecordSlice
from aggregator.intents.intent import Intent
from aggregator.loader.held_partition import HeldPartition
from aggregator.loader.intent_committer import IntentCommitter
from aggregator.loader.loader_assignment import LoaderAssignment
from aggregator.loader.loader_counts import LoaderCounts
from aggregator.loader.object_counts import ObjectCounts
from aggregator.loader.object_forming import ObjectForming
from aggregator.loader.object_layout import ObjectLayout
from aggregator.loader.object_partition import ObjectPartition, held_for_objects
from aggregator.loader.object_tags import ObjectTags
from aggregator.loader.refused_records import RefusedRecords
from aggregator.loader.seal_rule import MIB
from aggregator.loader.sink import Intents
from aggregator.s3.object_store import ObjectStore, StoreAddress
from aggregator.s3.open_object import OpenObject
from aggregator.store.schema_reader import TableFacts
from balancer.topic_partition import TopicPartition
from replicator.config.object_feed import OPEN_PART, ObjectFeed
from replicator.kafka.client.cluster import Cluster

FETCHED_PART = 0.25
"""Part of the memory for responses of brokers, and for what is opened of them. FORMS_PART is for
other forms of records that are being written, the rest for the records: those of open objects, and
those that wait for theirs."""
FORMS_PART = 0.125
FORMS_BYTES_MIN = 2 * ROW_GROUP_BYTES
"""A row group is formed whatever the memory is, since its size decides the bytes of the file."""


class ObjectSink:
    """Sink of a feed whose records become objects.

    Args:
        partitions: of the session; other parts add and remove some meanwhile.
        make_store, make_forming: of the parts.
        recall: completes intents whose markers are told elsewhere.
    """

    flush_seconds = 0.0

    def __init__(
        self,
        feed: ObjectFeed,
        assignment: LoaderAssignment,
        partitions: dict[TopicPartition, HeldPartition],
        intents: IntentCommitter,
        memory_mib: int,
        loader_counts: LoaderCounts,
        make_store: Callable[..., ObjectStore],
        make_forming: Callable[..., ObjectForming],
        recall: Callable[[Cluster, str, Intents], Awaitable[Intents]],
    ) -> None:
        self._counts = ObjectCounts(loader_counts, RefusedRecords(assignment, loader_counts))
        store = make_store(
            address_of(feed), self._counts.client, has_condition=assignment.has_condition
        )
        self._layout = ObjectLayout(feed, str(assignment.cluster), feed.unknown_schema_seconds)
        self._producer = intents.producer
        self._recall = recall
        self.tables = _NoTables()
        self.forming = make_forming(
            assignment,
            partitions,
            intents,
            store,
            partial(_opened, self._layout, store),
            self._layout,
            int(OPEN_PART * memory_mib * MIB),
            self._counts,
            ObjectTags(
                store, assignment.log_fields, feed.tags if feed.tagging else None, loader_counts
            ),
            intents.producer,
            forms_bytes(memory_mib * MIB),
        )
        self.partition_bytes_max = int((1 - OPEN_PART) * memory_mib * MIB)
        self.read_bytes_max = read_bytes(memory_mib * MIB)

    def now(self) -> float:
        return time.time()

    def hold(self, place: TopicPartition, intent: Intent, leader_epoch: int) -> ObjectPartition:
        return held_for_objects(self._layout, self._counts, place, intent, leader_epoch)

    def route(
        self, place: TopicPartition, records: RecordSlice, incarnation: int
    ) -> Mapping[str, RecordSlice]:
        return self._layout.route(place, records, incarnation)

    async def recall(self, intents: Intents) -> Intents:
        return await self._recall(self._producer.cluster, self._layout.feed.name, intents)

    def unloaded(self) -> Mapping[str, str]:
        """Returns nothing: an object has all of a record, or the record is a dead letter."""
        return {}

    async def close(self) -> None:
        await self.forming.close()


def forms_bytes(memory_bytes: int) -> int:
    """Returns the memory for the forms of records that are being written."""
    return max(FORMS_BYTES_MIN, int(FORMS_PART * memory_bytes))


def read_bytes(memory_bytes: int) -> int:
    """Returns the memory for records that are read, and in no object that is complete."""
    return int((1 - FETCHED_PART) * memory_bytes) - forms_bytes(memory_bytes)


def address_of(feed: ObjectFeed) -> StoreAddress:
    """Returns where a feed's bucket is."""
    extra = {
        "StorageClass": feed.storage_class,
        "ServerSideEncryption": feed.encryption,
        "SSEKMSKeyId": feed.encryption_key,
    }
    return StoreAddress(
        bucket=feed.bucket,
        endpoint=feed.endpoint,
        region=feed.store_region,
        path_style=feed.path_style,
        owner=feed.owner,
        ca_file=str(feed.ca_file) if feed.ca_file else None,
        credentials_file=feed.credentials_file,
        extra={name: value for name, value in extra.items() if value},
    )


def trial_store(feed: ObjectFeed) -> ObjectStore:
    """Returns a feed's store for its trial, with credentials that are read anew. A claim has to be
    read at once, whatever the storage class of objects is."""
    address = address_of(feed)
    extra = {name: it for name, it in address.extra.items() if name != "StorageClass"}
    return ObjectStore(replace(address, extra=extra))


def _opened(
    layout: ObjectLayout,
    store: ObjectStore,
    place: TopicPartition,
    name: str,
    begin: int,
    incarnation: int = 0,
) -> OpenObject:
    """Returns a new object of an encoded partition."""
    metadata = {
        "sluice-feed": layout.feed.name,
        "sluice-cluster": layout.cluster,
        "sluice-partition": f"{place.topic}/{place.partition}",
        "sluice-begin": str(begin),
    }
    if incarnation:
        metadata["sluice-incarnation"] = str(incarnation)
    key = layout.key(place, name, begin, incarnation)
    writer = layout.writer(place, key)
    return OpenObject(
        key,
        writer,
        store,
        metadata,
        layout.fingerprint,
        layout.admission(place, name, writer.decode, incarnation),
        int(layout.feed.part_mib * MIB),
    )


class _NoTables:
    """Tables of a feed that has none."""

    @property
    def waiting(self) -> Mapping[tuple[str, str], str]:
        return MappingProxyType({})

    def is_held(self, topic: str, table: str) -> bool:
        return False

    def facts(self, topic: str, table: str) -> TableFacts | None:
        return None
