"""Records of a range are those within it, whatever a broker answers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from aggregator.verifier.topic_records import TopicRecords
from replicator.kafka.client.cluster import Cluster
from tests.replicator.batches.source_batches import encoded, one_record


class Thinned:
    """Cluster whose log has lost the records below 60 by compaction."""

    name, trouble = "east aggregate", ""

    async def fetch(self, *_: Any, **__: Any) -> SimpleNamespace:
        batch = bytes(encoded([one_record(60, b"x"), one_record(61, b"y")]))
        return SimpleNamespace(records=memoryview(batch), aborted=(), stable_offset=62)


async def offsets(begin: int, end: int) -> list[list[int]]:
    records = TopicRecords(cast("Cluster", Thinned()), 5.0)
    return [part.offset.tolist() async for part in records.slices("flights", 0, begin, end)]


async def test_a_range_all_of_whose_records_are_gone_has_none():
    assert await offsets(40, 50) == []


async def test_records_behind_the_end_are_left_out():
    assert await offsets(40, 61) == [[60]]
