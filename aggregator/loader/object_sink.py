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
from aggregator.loader.object_partition import ObjectPartition
from aggregator.loader.object_tags import ObjectTags
from aggregator.loader.refused_records import RefusedRecords
from aggregator.loader.sink import Sink
from aggregator.objects.object_progress import ObjectProgress
from aggregator.objects.rotation import Rotation
from aggregator.s3.object_store import ObjectStore, StoreAddress
from aggregator.s3.open_object import OpenObject
from aggregator.store.schema_reader import TableFacts
from balancer.topic_partition import TopicPartition
from replicator.config.names import objects_topic
from replicator.config.object_feed import OPEN_PART, ObjectFeed
from replicator.kafka.client.loss import Loss, LossKind

MIB = 1 << 20
FETCHED_PART = 0.25
"""Part of the memory for responses of brokers, and for what is opened of them. FORMS_PART is for
other forms of records that are being written, the rest for the records: those of open objects, and
those that wait for theirs."""
FORMS_PART = 0.125
FORMS_BYTES_MIN = 2 * ROW_GROUP_BYTES
"""A row group is formed whatever the memory is, since its size decides the bytes of the file."""


def object_sink(
    feed: ObjectFeed,
    assignment: LoaderAssignment,
    partitions: dict[TopicPartition, HeldPartition],
    intents: IntentCommitter,
    memory_mib: int,
    loader_counts: LoaderCounts,
    make_store: Callable[..., ObjectStore],
    make_forming: Callable[..., ObjectForming],
    recall: Callable[..., Awaitable[Mapping[TopicPartition, Intent]]],
) -> Sink:
    """Returns the parts."""
    counts = ObjectCounts(loader_counts, RefusedRecords(assignment, loader_counts))
    store = make_store(address_of(feed), counts.client, has_condition=assignment.has_condition)
    layout = ObjectLayout(feed, str(assignment.cluster), feed.unknown_schema_seconds)
    hold = partial(_held, rotation_of(feed), layout, counts)
    forming = make_forming(
        assignment,
        partitions,
        intents,
        store,
        partial(_opened, layout, store),
        hold,
        int(OPEN_PART * memory_mib * MIB),
        counts,
        ObjectTags(
            store, assignment.log_fields, feed.tags if feed.tagging else None, loader_counts
        ),
        layout.schemas.fetch,
        intents.producer,
        forms_bytes(memory_mib * MIB),
    )
    return Sink(
        forming=forming,
        hold=hold,
        route=layout.route,
        clock=time.time,
        tables=_NoTables(),
        partition_bytes_max=int((1 - OPEN_PART) * memory_mib * MIB),
        read_bytes_max=read_bytes(memory_mib * MIB),
        flush_seconds=0.0,
        close=forming.close,
        recall=partial(recall, intents.producer.cluster, feed.name),
    )


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


def rotation_of(feed: ObjectFeed) -> Rotation:
    """Returns where a feed's objects end."""
    interval = feed.object_interval_seconds
    return Rotation(
        records_max=feed.object_records,
        bytes_max=None if feed.object_mib is None else int(feed.object_mib * MIB),
        interval_ms=None if interval is None else round(interval * 1000),
        age_seconds=feed.object_age_seconds,
        times_of_day=feed.object_times,
        zone=feed.zone,
        held_back_max=feed.held_back_records,
    )


def _held(
    rotation: Rotation,
    layout: ObjectLayout,
    counts: ObjectCounts,
    place: TopicPartition,
    intent: Intent,
    epoch: int,
) -> ObjectPartition:
    counts.show_topic(place.topic)
    versions = layout.versions(place.topic)
    progress: ObjectProgress[RecordSlice] = ObjectProgress(
        rotation, intent, layout.folders, versions
    )
    loss = None
    if intent.told is not None and intent.told.markers is None:
        topic = objects_topic(layout.feed.name)
        detail = f"its {intent.told.count} markers are not those that {topic} has"
        loss = Loss(LossKind.ENTRY_UNREADABLE, intent.offset, None, detail)
    elif (intent.tables or intent.told) and intent.layout != layout.folders:
        # Records that are in objects already would be written again, into other folders.
        detail = "other folders: set them back, or give the feed another name"
        loss = Loss(LossKind.OBJECT_SETTINGS, intent.offset, None, detail)
    # Up to where objects are stored is known only now: the log is looked at once more.
    return HeldPartition(place, intent, progress, -1 if intent.told else epoch, loss)


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
