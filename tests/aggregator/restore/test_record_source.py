"""Record sources: records of objects, in the order of their offsets."""

from __future__ import annotations

import io
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from aggregator.files.parquet_file import ParquetFile
from aggregator.files.record_columns import SCHEMA, record_table
from aggregator.formats.record_fields import split
from aggregator.objects.record_digest import RecordDigest
from aggregator.restore.column_records import lacking, records_of, within
from aggregator.restore.object_copy import chunks_of
from aggregator.restore.offset_order import SortedChunks, in_offset_order
from aggregator.restore.record_source import RecordSource
from aggregator.restore.restore_plan import CannotRestore, PartitionPlan
from aggregator.restore.restore_range import RestoreRange
from aggregator.s3.answers import Answer, StoreProblem
from aggregator.s3.busy_store import ATTEMPTS
from replicator.batches.records import rebatch
from tests.aggregator.files.written_files import CUTS, RECORDS, slices, written
from tests.aggregator.restore.kept_objects import KeptObjects, names
from tests.replicator.batches.source_batches import Record, decoded

# -- Record source: batches of a partition's records in order, from any position on.


def stored(store: KeptObjects, homes: list[int], size: int) -> tuple[list[Record], PartitionPlan]:
    """Writes a record for each home, into objects of that folder."""
    records = [
        Record(2 * at, 1_000 + at, b"k%d" % at, None if at % 5 == 0 else b"v" * at, (("h", b""),))
        for at in range(len(homes))
    ]
    objects = []
    for home in set(homes):
        mine = [each for each, at in zip(records, homes, strict=True) if at == home]
        objects += [
            store.write(mine[first : first + size], folder=f"f={home}")
            for first in range(0, len(mine), size)
        ]
    objects.sort(key=lambda each: each.begin)
    return records, PartitionPlan(0, 0, 2 * len(homes), tuple(objects))


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=40),
    st.integers(1, 15),
    st.integers(0, 50),
    st.integers(200, 3000),
)
def test_batches_hold_the_records_from_the_position_on_with_their_offsets(
    tmp_path_factory, homes, size, position, bytes_max
):
    store = KeptObjects()
    records, plan = stored(store, homes, size)
    source = RecordSource(
        plan, position, RestoreRange(), store, tmp_path_factory.getbasetemp(), bytes_max
    )
    batches = []
    while taken := source.take(3):
        batches += taken
    assert all(len(each.data) <= bytes_max for each in batches)
    offsets = [
        at for each in batches for first, count in each.spans for at in range(first, first + count)
    ]
    wanted = [each for each in records if each.offset >= position]
    assert offsets == [each.offset for each in wanted]
    for each in batches:
        each.stamp(producer_id=1, producer_epoch=0, base_sequence=0)
    found = [each for batch in batches for each in decoded(batch.data)]
    assert [(it.timestamp, it.key, it.value, it.headers) for it in found] == [
        (it.timestamp, it.key, it.value, it.headers) for it in wanted
    ]


def test_objects_before_the_position_are_not_read(tmp_path):
    store = KeptObjects()
    _, plan = stored(store, [0] * 30, 10)
    RecordSource(plan, 40, RestoreRange(), store, tmp_path, 1 << 20).take(100)
    assert store.reads == [plan.objects[2].key]


def test_a_record_that_the_target_does_not_take_is_named_behind_those_before_it(tmp_path):
    store = KeptObjects()
    _, plan = stored(store, [0] * 30, 30)
    source = RecordSource(plan, 0, RestoreRange(), store, tmp_path, 85)
    assert source.take(2)
    with pytest.raises(CannotRestore, match=r"the record of offset \d+ needs a batch"):
        source.take(100)


# -- Offset order: objects whose offsets interleave are merged, and none of them is read too
# early.


def chunks(offsets, size, opened=None):
    """Yields tables of these offsets, `size` records each."""
    if opened is not None:
        opened.append(offsets)
    for first in range(0, len(offsets), size):
        part = offsets[first : first + size]
        yield pa.table({"offset": pa.array(part, pa.int64()), "value": [f"v{at}" for at in part]})


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=60),
    st.integers(1, 7),
    st.integers(1, 20),
)
def test_records_come_in_the_order_of_the_topic_each_once(homes, size, object_records):
    objects, opened = [], []
    for home in set(homes):
        offsets = [at for at, each in enumerate(homes) if each == home]
        for first in range(0, len(offsets), object_records):
            part = offsets[first : first + object_records]
            make = partial(chunks, part, size, opened)
            objects.append(SortedChunks(f"{home}-{first}", part[0], make))
    seen = 0
    for table in in_offset_order(reversed(objects)):
        assert len(table)
        assert all(offsets[0] <= table["offset"][-1].as_py() + size * 5 for offsets in opened)
        for row in table.to_pylist():
            assert row == {"offset": seen, "value": f"v{seen}"}
            seen += 1
    assert seen == len(homes)


def test_an_object_is_opened_once_its_first_record_is_due():
    opened = []
    objects = [
        SortedChunks(f"{first}", first, partial(chunks, [first, first + 1], 1, opened))
        for first in (0, 10, 20)
    ]
    found = in_offset_order(objects)
    assert next(found)["offset"].to_pylist() == [0]
    assert opened == [[0, 1]]
    assert [each["offset"].to_pylist() for each in found] == [[1], [10], [11], [20], [21]]


def test_objects_that_hold_nothing_are_passed_over():
    empty = SortedChunks("empty", 5, lambda: iter(()))
    full = SortedChunks("full", 3, partial(chunks, [3, 9], 5))
    assert [each["offset"].to_pylist() for each in in_offset_order([empty, full])] == [[3, 9]]
    assert list(in_offset_order([empty])) == []
    assert list(in_offset_order([])) == []


def test_a_record_that_two_objects_hold_is_named_with_both():
    objects = [
        SortedChunks("one", 0, partial(chunks, [0, 4, 7], 5)),
        SortedChunks("two", 3, partial(chunks, [3, 7, 8], 5)),
    ]
    with pytest.raises(CannotRestore, match="offset 7 is in one and in two: the topic was"):
        list(in_offset_order(objects))


# -- Column records: what Parquet keeps becomes the bytes of the source's records again.

LIMITS = st.none() | st.integers(-1, 2_000_000_000_001)


def digest(parts) -> str:
    found = RecordDigest()
    found.add(parts)
    return found.text


@given(RECORDS, CUTS, st.integers(1, 200))
def test_records_of_a_file_are_the_bytes_of_the_source(records, cuts, group_bytes):
    parts = slices(records, cuts)
    writer = ParquetFile(SCHEMA, lambda some: record_table(some, "t", 3), "zstd", group_bytes)
    file = pq.ParquetFile(io.BytesIO(written(writer, parts)))
    assert lacking(file.schema_arrow) is None
    found = [records_of(file.read_row_group(number)) for number in range(file.num_row_groups)]
    assert digest([split(each) for each in found]) == digest(parts)


@given(RECORDS, CUTS)
def test_batches_of_columns_are_read_by_other_clients(records, cuts):
    table = record_table(slices(records, cuts), "t", 3)
    # A slice of columns has its own begin in their buffers.
    whole = pa.concat_tables([table, table]).combine_chunks().slice(len(records))
    batches, refused = rebatch(records_of(whole), max_bytes=1 << 20, codec=3)
    assert refused is None
    for batch in batches:
        batch.stamp(producer_id=5, producer_epoch=0, base_sequence=0)
    found = [each for batch in batches for each in decoded(batch.data)]
    assert [each.key for each in found] == [each.key for each in records]
    assert [each.value for each in found] == [each.value for each in records]
    assert [each.headers for each in found] == [each.headers for each in records]
    assert [each.timestamp for each in found] == [each.timestamp for each in records]


@given(RECORDS, st.integers(0, 30), st.integers(0, 30), LIMITS, LIMITS)
def test_only_records_of_the_range_are_kept(records, begin, end, since, until):
    wanted = RestoreRange(since_ms=since, until_ms=until)
    found = within(record_table(slices(records), "t", 3), begin, end, wanted)
    kept = [
        each.offset
        for each in records
        if begin <= each.offset < end
        and (not wanted.has_times or each.timestamp >= 0)
        and (since is None or each.timestamp >= since)
        and (until is None or each.timestamp < until)
    ]
    assert found["offset"].to_pylist() == kept
    assert np.array_equal(records_of(found).offset, kept)


@pytest.mark.parametrize("name", ["key", "value", "headers", "timestamp", "offset"])
def test_a_file_that_lacks_a_column_or_has_another_one_is_found(name):
    at = SCHEMA.get_field_index(name)
    assert lacking(SCHEMA.remove(at)) == name
    assert lacking(SCHEMA.set(at, pa.field(name, pa.float64()))) == name


# -- Object copy: only an object that is the one that was told is read.

COPIED = [
    Record(at, 1_000 + at, b"%d" % at if at % 3 else None, b"value" * at or None, (("h", None),))
    for at in (5, 6, 9, 10, 11, 30)
]


@pytest.fixture
def store() -> KeptObjects:
    return KeptObjects()


@pytest.fixture
def told(store):
    return store.write(COPIED)


def test_records_are_read_chunk_by_chunk_and_nothing_stays_on_the_disk(store, told, tmp_path):
    chunks = chunks_of(store, told, tmp_path)
    first = next(chunks)
    assert len(names(tmp_path)) == 1
    rest = list(chunks)
    assert len(rest) > 1
    offsets = [at for each in [first, *rest] for at in each["offset"].to_pylist()]
    assert offsets == [each.offset for each in COPIED]
    assert names(tmp_path) == []
    chunks = chunks_of(store, told, tmp_path)
    next(chunks)
    chunks.close()
    assert names(tmp_path) == []


def refusal(store, told, folder) -> str:
    with pytest.raises(CannotRestore) as refused:
        list(chunks_of(store, told, folder))
    assert names(folder) == []
    assert told.key in str(refused.value)
    return str(refused.value)


def test_each_object_that_is_another_one_is_refused_by_name(store, told, tmp_path):
    assert "CRC-32C" in refusal(store, replace(told, crc32c=1), tmp_path)
    assert "CRC-32C" in refusal(store, replace(told, size_bytes=1), tmp_path)
    assert "the digest" in refusal(store, replace(told, digest="00"), tmp_path)
    assert "outside of its range" in refusal(store, replace(told, begin=6), tmp_path)
    assert "outside of its range" in refusal(store, replace(told, end=30), tmp_path)


def with_content(store, told, data: bytes):
    store.data[told.key] = data
    return replace(told, size_bytes=len(data), crc32c=crc32c(data))


def test_files_of_other_columns_are_refused(store, told, tmp_path):
    content = io.BytesIO()
    pq.write_table(pa.table({"key": ["text"], "offset": [5]}), content)
    other = with_content(store, told, content.getvalue())
    assert "has no column key of the bytes" in refusal(store, other, tmp_path)
    assert "as Parquet" in refusal(store, with_content(store, told, b"PAR1"), tmp_path)


def test_a_store_that_cannot_answer_now_is_asked_again(store, told, tmp_path):
    pauses = []
    store.problems = [StoreProblem(Answer.BUSY, "SlowDown")] * (ATTEMPTS - 1)
    assert list(chunks_of(store, told, tmp_path, pauses.append))
    assert len(pauses) == ATTEMPTS - 1
    store.problems = [StoreProblem(Answer.BUSY, "SlowDown")] * ATTEMPTS
    with pytest.raises(StoreProblem):
        list(chunks_of(store, told, tmp_path, pauses.append))
    store.problems = [StoreProblem(Answer.DENIED, "no")]
    with pytest.raises(StoreProblem):
        list(chunks_of(store, told, tmp_path, pauses.append))
    assert not store.problems
    store.problems = [StoreProblem(Answer.ABSENT, "gone")]
    assert "is not in the store" in refusal(store, told, tmp_path)
