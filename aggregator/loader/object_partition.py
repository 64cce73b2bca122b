"""Object partition: a partition whose records become objects."""

from __future__ import annotations

from aggregator.formats.record_slice import RecordSlice
from aggregator.intents.intent import Intent
from aggregator.loader.held_partition import HeldPartition
from aggregator.loader.object_counts import ObjectCounts
from aggregator.loader.object_layout import ObjectLayout
from aggregator.loader.seal_rule import MIB
from aggregator.objects.object_progress import ObjectProgress
from aggregator.objects.rotation import Rotation
from balancer.topic_partition import TopicPartition
from replicator.config.names import objects_topic
from replicator.config.object_feed import ObjectFeed
from replicator.kafka.client.loss import Loss, LossKind

ObjectPartition = HeldPartition[ObjectProgress[RecordSlice]]


def held_for_objects(
    layout: ObjectLayout,
    counts: ObjectCounts,
    place: TopicPartition,
    intent: Intent,
    leader_epoch: int,
) -> ObjectPartition:
    """Returns a partition that was just acquired, or that begins anew from its intent."""
    counts.show_topic(place.topic)
    progress: ObjectProgress[RecordSlice] = ObjectProgress(
        rotation_of(layout.feed), intent, layout.folders, layout.versions(place.topic)
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
    checked_epoch = -1 if intent.told else leader_epoch
    return HeldPartition(place, intent, progress, checked_epoch, loss)


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
