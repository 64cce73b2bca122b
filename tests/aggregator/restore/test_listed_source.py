"""Listed source: objects tell of themselves what their feed told of them."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import BufferOutputStream

from aggregator.objects.told_object import ToldObject
from aggregator.restore.listed_source import ListedSource
from aggregator.restore.restore_job import RestoreRequest
from aggregator.restore.restore_plan import CannotRestore, plan_partitions
from aggregator.restore.restore_range import RestoreRange, parsed_offsets
from aggregator.s3.answers import Answer, StoreProblem
from replicator.config.cluster_name import ClusterName
from tests.aggregator.loader.test_object_layout import layout
from tests.aggregator.restore.kept_objects import KeptObjects
from tests.replicator.batches.source_batches import Record

EAST = ClusterName("east aggregate")


@pytest.fixture
def store():
    return KeptObjects()


def request(*offsets: str, incarnation: int | None = None) -> RestoreRequest:
    return RestoreRequest(
        feed=layout().feed,
        source=EAST,
        topic="t",
        target=EAST,
        target_topic="t",
        wanted=RestoreRange(offsets=parsed_offsets(offsets)),
        is_listed=True,
        incarnation=incarnation,
    )


def partition_of(key: str) -> int:
    return int(key.split("+")[1]) if key.startswith("topics/t/") and "+" in key else 0


def listed(store: KeptObjects, *offsets: str, incarnation: int | None = None) -> list[ToldObject]:
    inventory = ListedSource(request(*offsets, incarnation=incarnation), store)

    async def take() -> list[ToldObject]:
        await inventory.prepare()
        found = await inventory.take()
        assert found.partitions == 1 + max(map(partition_of, store.data))
        return [*found.objects]

    return asyncio.run(take())


def records(*offsets: int, timestamp: int = 1000) -> list[Record]:
    some = b"value" * 9
    return [Record(at, timestamp + at, b"k" if at % 2 else None, some, ()) for at in offsets]


@pytest.mark.parametrize("keeps_checksums", [True, False])
def test_an_object_tells_what_its_feed_told(store, keeps_checksums):
    store.keeps_checksums = keeps_checksums
    told = [
        store.write(records(5, 6, 9, 30)),
        store.write(records(7, 8, timestamp=500), folder="b", codec="snappy"),
    ]
    found = listed(store)
    assert found == [
        replace(each, digest="", sealed_at_ms=0, told_at_ms=0, layout="") for each in told
    ]
    # Of the file only the end is read, but for the checksum that the store does not keep.
    assert len(store.ranges) == 2 and len(store.reads) == (0 if keeps_checksums else 2)


def test_records_without_a_time_have_none(store):
    store.write([Record(3, -1, None, b"v", ())])
    (found,) = listed(store)
    assert (found.first_ms, found.last_ms) == (-1, -1)


def test_other_keys_topics_and_partitions_are_left_out(store):
    told = store.write(records(1, 2))
    data = store.data[told.key]
    others = ("topics/t2/a/t2+0+0000000001.parquet", "topics/t/a/notes.txt", "t/a/t+0+01.parquet")
    store.data |= dict.fromkeys(others, data)
    store.data["topics/t/a/t+11+0000000001.parquet"] = data
    assert [each.key for each in listed(store, "0:-")] == [told.key]
    assert listed(store, "1:-") == []


def test_objects_of_a_later_log_are_told_as_its_own(store):
    key = store.write(records(1, 2)).key
    store.write(records(7, 8))
    later = key.replace(".zstd", "+5.zstd")
    store.data[later] = store.data[key]
    assert [each.key for each in listed(store, incarnation=5)] == [later]
    found = listed(store)
    assert [(each.begin, each.incarnation) for each in found if each.key == later] == [(1, 5)]
    with pytest.raises(CannotRestore, match="--incarnation"):
        plan_partitions(found, RestoreRange(), {}, 1)


def typed(store: KeptObjects, begin: int) -> str:
    """Writes a file of decoded values, of which one field has the name of a column."""
    source = pq.read_table(pa.BufferReader(store.data[store.write(records(begin)).key]))
    table = pa.table({"id": [7], "value": [b"pay"]})
    for name in ("key", "headers", "timestamp", "offset"):
        table = table.append_column(source.schema.field(name), source[name])
    columns = BufferOutputStream()
    pq.write_table(table, columns)
    key = f"topics/t/a/t+0+{begin:010}.zstd.parquet"
    store.data[key] = columns.getvalue().to_pybytes()
    return key


def test_an_object_of_another_format_is_refused_where_it_may_hold_records(store):
    told = store.write(records(1, 2))
    store.data["topics/t/a/t+0+0000000003.json"] = b"{}\n"
    typed(store, 5)
    last = store.write(records(9, 10))

    def plan(*texts: str) -> list[str]:
        wanted = RestoreRange(offsets=parsed_offsets(texts))
        (found,) = plan_partitions(listed(store, *texts), wanted, {}, 1)
        return [each.key for each in found.objects]

    for offsets in ((), ("0:1-4",), ("0:7-8",), ("0:3-5",)):
        with pytest.raises(CannotRestore, match="only Parquet with key"):
            plan(*offsets)
    assert (plan("0:-3"), plan("0:9-")) == ([told.key], [last.key])


def test_what_begins_behind_the_range_is_not_opened(store):
    store.write(records(1, 2))
    broken = store.write(records(30))
    store.data[broken.key] = b"no file"
    assert [each.begin for each in listed(store, "0:-30")] == [1]
    with pytest.raises(CannotRestore, match="as Parquet"):
        listed(store, "0:-31")


def test_a_busy_store_is_asked_again(store):
    store.write(records(1, 2))
    store.problems = [StoreProblem(Answer.BUSY, "SlowDown")]
    assert len(listed(store)) == 1 and len(store.ranges) == 2


def test_an_object_that_goes_while_it_is_looked_at_is_named(store):
    told = store.write(records(1, 2))
    store.vanishing.add(told.key)
    with pytest.raises(CannotRestore, match="was listed, and is gone"):
        listed(store)


def test_an_object_that_cannot_be_read_is_named(store):
    told = store.write(records(1, 2))
    store.data[told.key] = store.data[told.key][:-1]
    with pytest.raises(CannotRestore, match=rf"{told.key.replace('+', '.')} cannot be read"):
        listed(store)


def test_an_object_without_statistics_is_named(store):
    told = store.write(records(1, 2))
    table = pq.read_table(pa.BufferReader(store.data[told.key]))
    columns = BufferOutputStream()
    pq.write_table(table, columns, write_statistics=False)
    store.data[told.key] = columns.getvalue().to_pybytes()
    with pytest.raises(CannotRestore, match="does not tell its offsets"):
        listed(store)


def test_offsets_of_a_group_are_not_known(store):
    with pytest.raises(CannotRestore, match="name them by --offset"):
        asyncio.run(ListedSource(request(), store).group_offsets("billing", 1))
