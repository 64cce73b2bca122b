"""Told reading: the markers of intents that have no room for them, from the topic of a feed's
objects."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace

from aggregator.formats.record_fields import split
from aggregator.intents.intent import Intent
from aggregator.intents.told_markers import Marker
from aggregator.loader.object_records import told_place
from aggregator.objects.forgotten import decoded
from aggregator.objects.told_object import ToldObject, UnreadableObject
from balancer.topic_partition import TopicPartition
from replicator.batches.committed_records import committed_records
from replicator.kafka.client.cluster import Answered, Cluster
from replicator.kafka.protocol.error_codes import Code

log = logging.getLogger(__name__)

FETCH_BYTES = 4 << 20
PAUSE_SECONDS = 0.05


async def with_markers(
    cluster: Cluster, feed: str, intents: Mapping[TopicPartition, Intent]
) -> dict[TopicPartition, Intent]:
    """Returns intents with the markers that are told elsewhere, as far as these are found.

    The holders of the intents have to be fenced: nothing may be told of meanwhile.

    A record that cannot be read is left out: if it has told of a marker, the markers are not those
    that its intent counts, and none is returned.

    Raises Answered: the topic cannot be read.
    """
    wanted: dict[TopicPartition, dict[TopicPartition, Intent]] = {}
    for place, intent in intents.items():
        if intent.told is not None:
            wanted.setdefault(told_place(feed, place), {})[place] = intent
    found = dict(intents)
    for topic_place, some in wanted.items():
        told: dict[TopicPartition, list[tuple[int, str, int]]] = {place: [] for place in some}
        begin = min(each.told.begin for each in some.values() if each.told is not None)
        async for at, each in _objects(cluster, topic_place, begin):
            place = TopicPartition(each.topic, each.partition)
            if place in told and each.encoded_partition:
                told[place].append((at, each.encoded_partition, each.end))
        for place, intent in some.items():
            found[place] = _recalled(intent, told[place])
    return found


def _recalled(intent: Intent, objects: list[tuple[int, str, int]]) -> Intent:
    told = intent.told
    assert told is not None, "only these are read"
    since = ((name, Marker(end, at)) for at, name, end in objects if at >= told.begin)
    return replace(intent, told=replace(told, markers=told.found(since, intent.tables)))


async def _objects(
    cluster: Cluster, place: TopicPartition, begin: int
) -> AsyncIterator[tuple[int, ToldObject]]:
    """Yields what is told from an offset on, up to the end of now, with its offsets."""
    cluster.watch([place.topic])
    position, size, end = begin, FETCH_BYTES, None
    while end is None or position < end:
        try:
            fetched = await cluster.fetch(*place, position, size, read_committed=True)
        except Answered as answer:
            if Code.OFFSET_OUT_OF_RANGE in answer.codes:
                return  # the topic is another one, or was cut: the markers are not those told
            raise
        end = fetched.stable_offset if end is None else end
        found = committed_records(fetched.records, position=position, aborted=fetched.aborted)
        if found.records is not None and len(found.records):
            records = split(found.records)
            for at, offset in enumerate(records.offset.tolist()):
                key, value = records.key_at(at), records.value_at(at)
                if key is None or offset >= end:
                    continue
                try:
                    told = decoded(key, value)
                except UnreadableObject as error:
                    log.warning("event=object-unreadable %s: %s", cluster.name, error)
                    continue
                if isinstance(told, ToldObject):
                    yield offset, told
        if found.trouble is not None:
            raise found.trouble
        if found.next_offset == position:
            size = max(size, found.cut_bytes)
            await asyncio.sleep(PAUSE_SECONDS)
        position = found.next_offset
