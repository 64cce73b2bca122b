"""Objects that were told of, and those that are listed, say together how far a partition is
stored."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from types import SimpleNamespace
from typing import Any

import pytest

from aggregator.driver.store_probe import combined, of_logs, stored
from aggregator.intents.stored import Stored
from aggregator.loader.object_records import told_place
from aggregator.objects.forgotten import Forgotten, Log
from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from tests.aggregator.loader.test_object_layout import layout
from tests.aggregator.restore.kept_objects import KeptObjects
from tests.aggregator.restore.told import told
from tests.replicator.batches.source_batches import Record, encoded

EAST = ClusterName("east aggregate")


@pytest.mark.parametrize(
    ("end", "begin", "next_offset", "doubt"),
    [
        (None, None, None, "nothing told"),
        (40, None, 40, "nothing told"),
        (40, 30, 40, "nothing told"),
        (40, 40, 41, "an object begins at 40"),
        (None, 0, 1, "an object begins at 0"),
    ],
)
def test_what_was_told_counts_unless_a_later_object_is_listed(end, begin, next_offset, doubt):
    found = combined(end, begin, "nothing told", is_passing=False)
    assert found.next_offset == next_offset
    assert found.doubt.startswith(doubt)


def test_a_bucket_that_does_not_answer_is_a_doubt_that_passes():
    assert combined(None, None, "away", is_passing=True) == Stored(None, "away", True)


def test_each_log_of_a_partition_has_an_end_of_its_own():
    """The log of today may be shorter than a former one."""
    found = of_logs({0: 90, 5: 20}, {0: 80, 5: 20}, "", is_passing=False)
    assert (found.next_offset, found.ends) == (90, {0: 90, 5: 21})
    assert found.doubt.startswith("an object begins at 20")
    assert of_logs({}, {}, "nothing told", is_passing=False) == Stored(None, "nothing told")


class Topic:
    """Topic of objects with some records in the partition that tells of a Kafka partition."""

    name = str(EAST)

    def __init__(self, place: TopicPartition, records: list[tuple[bytes, bytes | None]]) -> None:
        self._of = told_place("lake", place).partition
        rows = [Record(at, 1, key, value) for at, (key, value) in enumerate(records)]
        self._records, self._end = encoded(rows), len(rows)

    def watch(self, topics: object) -> None:
        """Knows all topics."""

    async def refresh(self) -> None:
        """Knows all topics."""

    async def log_start(self, topic: str, partition: int) -> int:
        return 0

    async def log_end(self, topic: str, partition: int) -> int:
        return self._end if partition == self._of else 0

    async def fetch(self, *_: object, **__: object) -> Any:
        return SimpleNamespace(records=self._records, aborted=(), stable_offset=self._end)


def probed(
    *records: tuple[bytes, bytes | None], objects: Collection[str] = (), listed_max: int = 9
) -> Stored:
    """Returns what the store is found to have of a partition.

    Args:
        records: of the topic of objects.
        objects: keys in the bucket.
    """
    place, feed = TopicPartition("t", 0), layout().feed
    cluster: Any = Topic(place, list(records))
    bucket = KeptObjects()
    bucket.data = dict.fromkeys(objects, b"")
    options: Any = {"make_store": lambda _: bucket, "listed_max": listed_max}
    return asyncio.run(stored(feed, EAST, cluster, [place], True, **options))[place]


def test_a_partition_whose_objects_are_all_forgotten_is_not_taken_for_a_new_one():
    """Its manifests are tombstones, or compacted away; one record says up to where they were."""
    one = told(0, 40)
    forgotten = Forgotten(Log(str(EAST), "t", 0)).with_objects([one], 1)
    tombstone, record = (one.key.encode(), None), (forgotten.key, forgotten.encode())
    assert probed((one.key.encode(), one.encode()), record, tombstone).next_offset == 40
    assert probed(record, tombstone).next_offset == 40
    assert probed(record) == Stored(40, ends={0: 40})
    later = told(40, 50)
    assert probed(record, tombstone, (later.key.encode(), later.encode())).next_offset == 50


def test_what_was_forgotten_of_another_partition_or_cluster_proves_nothing_of_this_one():
    for log in (Log(str(EAST), "t", 1), Log("west aggregate", "t", 0)):
        forgotten = Forgotten(log).with_objects([told(0, 40)], 1)
        assert probed((forgotten.key, forgotten.encode())).next_offset is None


def test_a_bucket_with_more_objects_than_are_listed_proves_nothing():
    prefix = layout().feed.prefix_of(str(EAST))
    keys = [f"{prefix}/t/other-{number}" for number in range(3)]
    one = told(0, 40)
    known = (one.key.encode(), one.encode())
    assert probed(known, objects=keys, listed_max=3).doubt == ""
    assert probed(known, objects=keys, listed_max=2) == Stored(
        40, "the bucket has more than 2 objects of the topic", ends={0: 40}
    )


def test_a_record_that_cannot_be_read_is_a_doubt():
    assert "cannot be read" in probed((b"key", b"no object")).doubt


def test_a_partition_with_objects_of_several_folders_is_known_as_one():
    one, two = told(0, 40), told(10, 30, folder="hour=2")
    records = [(each.key.encode(), each.encode()) for each in (one, two)]
    assert probed(*records) == Stored(40, ends={0: 40}, has_folders=True)
    assert probed(records[0]) == Stored(40, ends={0: 40})


def test_folders_of_which_all_objects_are_forgotten_are_known():
    """Otherwise an operator reads that no record is lost where the folder that is left ends."""
    log = Log(str(EAST), "t", 0)
    one, two = told(0, 40), told(10, 30, folder="hour=2")
    known = (one.key.encode(), one.encode())
    for gone in ([two], [two, told(0, 5)]):
        forgotten = Forgotten(log)
        for each in gone:
            forgotten = forgotten.with_objects([each], 1)
        assert probed(known, (forgotten.key, forgotten.encode())).has_folders
    same = Forgotten(log).with_objects([told(0, 5)], 1).with_objects([told(5, 9)], 2)
    assert not probed(known, (same.key, same.encode())).has_folders
