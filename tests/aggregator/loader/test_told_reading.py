"""Markers are read where they are told, and a record of something else stops no loader."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from aggregator.intents.intent import Intent
from aggregator.intents.table_range import Manifest
from aggregator.intents.told_markers import DIGESTS, ToldMarkers, digest_of
from aggregator.loader.told_reading import with_markers
from aggregator.objects.forgotten import Forgotten, ForgottenRange, Log
from aggregator.objects.told_object import ToldObject
from balancer.topic_partition import TopicPartition
from replicator.kafka.client.custody import Custody
from tests.replicator.batches.source_batches import Record, encoded

PLACE = TopicPartition("hits", 3)
ENDS = {"k=a": 12, "k=b": 15}
FORGOTTEN = Forgotten(Log("east", "hits", 3), (ForgottenRange(0, 9, 1, 9, -1, -1),))


class Told:
    """Topic of objects, whichever partition of it is asked for."""

    name = "east aggregate"

    def __init__(self, *values: bytes | None) -> None:
        forgotten = FORGOTTEN.encode()
        records = [
            Record(at, 1, FORGOTTEN.key if value == forgotten else b"key", value)
            for at, value in enumerate(values)
        ]
        self._records, self._end = encoded(records), len(values)

    def watch(self, topics: object) -> None:
        """Knows all topics."""

    async def fetch(self, topic: str, partition: int, offset: int, *_: object, **__: object) -> Any:
        assert topic == "sluice.objects.lake"
        return SimpleNamespace(records=self._records, aborted=(), stable_offset=self._end)


def told(name: str, end: int) -> bytes:
    manifest = Manifest(end - 1, end, 1, "", 1, size_bytes=1, crc32c=1)
    return ToldObject.of(
        name, "east", PLACE, manifest, layout="", told_at_ms=1, encoded_partition=name
    ).encode()


def markers_of(*values: bytes | None) -> dict[str, int] | None:
    """Returns the ends that are found for an intent that counts those of ENDS."""
    digest = sum(digest_of(*each) for each in ENDS.items()) % DIGESTS
    intent = Intent(
        custody=Custody.HELD,
        offset=10,
        reference=10,
        transactional_id="id",
        topic_id=UUID(int=1),
        told=ToldMarkers(0, 10, len(ENDS), digest),
    )
    cluster: Any = Told(*values)
    found = asyncio.run(with_markers(cluster, "lake", {PLACE: intent}))[PLACE].told
    if found is None or found.markers is None:
        return None
    return {name: each.end for name, each in found.markers.items()}


def test_the_last_object_of_each_folder_is_its_marker() -> None:
    passed = told("k=c", 9)
    assert markers_of(passed, told("k=a", 11), told("k=b", 15), told("k=a", 12)) == ENDS


def test_a_record_that_cannot_be_read_is_left_out_and_a_marker_that_it_told_of_is_missed() -> None:
    assert markers_of(b"no object", told("k=a", 12), b"{}", told("k=b", 15)) == ENDS
    assert markers_of(told("k=a", 12), b"no object") is None


def test_what_is_forgotten_is_no_marker_and_nothing_to_warn_of(caplog: Any) -> None:
    found = markers_of(FORGOTTEN.encode(), None, told("k=a", 12), told("k=b", 15))
    assert found == ENDS
    assert not caplog.records
