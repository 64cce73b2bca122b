"""File writers: records are admitted, decoded and cut into chunks, and refused ones are found."""

from __future__ import annotations

import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.files.admission import Admission, tombstones
from aggregator.files.avro_file import AvroFile
from aggregator.files.compression import STREAMS
from aggregator.files.decoded_slice import DecodedSlice
from aggregator.files.decoding import decoded
from aggregator.files.even_chunks import FORM_RECORD_BYTES, FORMS, EvenChunks
from aggregator.files.file_writer import unwritable
from aggregator.files.line_file import LineFile, write_json_lines
from aggregator.files.parquet_file import ParquetFile
from aggregator.files.record_columns import record_table, schema_of
from aggregator.files.typed_parquet import TypedParquet
from aggregator.formats.json_flaws import json_flaws
from aggregator.formats.record_fields import split
from replicator.batches.records import Records
from tests.aggregator.files.schema_records import KNOWN, admitted, file_of, value
from tests.aggregator.files.written_files import CUTS, RECORDS, slices
from tests.aggregator.formats.header_samples import encoded_by_hand
from tests.aggregator.formats.slices import slice_of
from tests.replicator.batches.source_batches import Record

# -- File writers: records that a file refuses are found one by one, and nothing of them is
# kept.

BAD = (2, 5)


def with_broken_headers(count=8):
    """Returns records, of which those of BAD have headers that end behind them."""
    sound = b"\x01\x02v" + encoded_by_hand(((b"name", b"value"),))
    tails = [b"\x01\x02v\x02\x08name\x7e" if at in BAD else sound for at in range(count)]
    ends = np.cumsum([len(tail) for tail in tails])
    begins = ends - [len(tail) for tail in tails]
    zeros = np.zeros(count, np.int64)
    return split(Records(b"".join(tails), np.arange(count), zeros, begins, ends, 0))


def plain_parquet():
    def table(chunk):
        return record_table(chunk, "t", 0, ("headers", "value"))

    return ParquetFile(schema_of(("headers", "value")), table, "zstd")


def test_records_that_a_file_refuses_are_found_and_the_others_are_written():
    records, writer = with_broken_headers(), plain_parquet()
    found = unwritable(writer, records)
    assert [*found] == [*BAD]
    assert all("cannot be written: BrokenVarints: " in each for each in found.values())
    left = records.at(np.setdiff1d(np.arange(len(records)), BAD))
    data = writer.write([left]) + writer.finish()
    assert pq.read_table(io.BytesIO(data)).num_rows == len(left)


class Decoder:
    """Decoder that leaves a required field null."""

    schema, fields = "1", pa.schema([pa.field("r", pa.struct([pa.field("id", pa.int32(), False)]))])

    def __call__(self, records):
        rows = [{"id": None if at in BAD else at} for at in records.offset.tolist()]
        return pa.Table.from_arrays([pa.array(rows, self.fields[0].type)], schema=self.fields), {}


def test_typed_columns_that_a_file_refuses_are_found():
    writer = TypedParquet(Decoder(), "t", 0, columns=["offset"], codec="none")
    records = admitted(writer, slice_of([b"v"] * 8)).records
    found = unwritable(writer, records)
    assert [*found] == [*BAD]
    assert all("non-nullable" in each for each in found.values())


class Panic(BaseException):
    """Panic as native libraries raise it, which is no Exception."""


def test_a_record_at_which_a_native_library_panics_is_found():
    class Panicking(LineFile):
        def scratch(self):
            return Panicking(write_json_lines, STREAMS["none"]())

        def write(self, slices):
            if any(set(BAD) & {*each.offset.tolist()} for each in slices):
                raise Panic("index out of bounds")
            return super().write(slices)

    found = unwritable(Panicking(write_json_lines, STREAMS["gzip"]()), slice_of([b"{}"] * 8))
    assert found == dict.fromkeys(BAD, "cannot be written: Panic: index out of bounds")


WRITERS = {
    "avro": lambda: AvroFile(KNOWN, "t", 0, columns=["key"], codec="deflate", key="k"),
    "lines": lambda: LineFile(write_json_lines, STREAMS["gzip"]()),
    "parquet": plain_parquet,
}


@pytest.mark.parametrize("make", WRITERS.values(), ids=WRITERS)
def test_a_trial_leaves_the_file_as_it_is(make):
    values = [value(each, 1) for each in range(20)]
    wanted, writer = file_of(make(), slice_of(values)), make()
    records = admitted(writer, slice_of(values)).records
    assert unwritable(writer, records) == {}
    data = writer.write([records])
    assert unwritable(writer, records) == {}
    assert data + writer.finish() == wanted


# -- Admission: each record is in the file, left out or a dead letter, by itself alone.

VALUES = st.lists(st.sampled_from([None, b"", b"{}", b"no", b"1", b'"x"', b"{"]), min_size=1)


def is_json(value):
    try:
        json.loads(value)
    except ValueError:
        return False
    return True


@given(VALUES, st.sampled_from(["written", "left_out", "dead_letters"]))
def test_each_record_is_in_the_file_left_out_or_dead(values, way):
    checks = (json_flaws, tombstones) if way == "dead_letters" else (json_flaws,)
    found = Admission(checks, way == "left_out")(slice_of(values, first=5))
    kept = [
        at
        for at, value in enumerate(values, 5)
        if (way == "written" if value is None else is_json(value))
    ]
    dead = [
        at
        for at, value in enumerate(values, 5)
        if (way == "dead_letters" if value is None else not is_json(value))
    ]
    assert found.records.offset.tolist() == kept
    assert [each.offset for each in found.dead] == dead
    assert [at for part in found.letters for at in part.offset.tolist()] == dead
    reasons = {values[each.offset - 5]: each.reason for each in found.dead}
    assert reasons.get(None) in (None, "a tombstone")


@given(RECORDS, CUTS)
def test_letters_are_the_records_and_keep_no_other_bytes(records, cuts):
    for part in slices(records, cuts):
        found = Admission((lambda some: dict.fromkeys(range(0, len(some), 2), "even"),))(part)
        [letters] = found.letters
        wanted = [records[at] for at in part.offset[::2].tolist()]
        assert [letters.key_at(at) for at in range(len(letters))] == [each.key for each in wanted]
        assert [letters.value_at(at) for at in range(len(letters))] == [r.value for r in wanted]
        assert [letters.headers_at(at) for at in range(len(letters))] == [r.headers for r in wanted]
        assert letters.timestamp_ms.tolist() == [each.timestamp for each in wanted]
        # Lengths stand between the fields.
        assert len(letters.data) <= int(letters.record_bytes.sum()) + 5 * len(letters)


def test_the_first_check_that_refuses_a_record_gives_the_reason():
    admission = Admission((lambda _: {0: "first"}, lambda _: {0: "second", 1: "second"}))
    found = admission(slice_of([b"a", b"b", b"c"]))
    assert [each.reason for each in found.dead] == ["first", "second"]
    assert found.records.offset.tolist() == [2]


# -- Decoding: a record at which a decoder fails is a dead letter, and no other is.


def decode(records):
    """Fails at values of x, and refuses those of y."""
    values = [records.value_at(at) for at in range(len(records))]
    if b"x" in values:
        raise ZeroDivisionError("x")
    refused = {at: "y" for at, each in enumerate(values) if each == b"y"}
    return DecodedSlice.of(records, pa.table({"v": values})), refused


@given(st.lists(st.sampled_from([b"a", b"b", b"x", b"y"]), min_size=1, max_size=20))
def test_records_at_which_a_decoder_fails_are_found_by_halving(values):
    found, reasons = decoded(decode, slice_of(values))
    wanted = {b"x": "cannot be decoded: ZeroDivisionError: x", b"y": "y"}
    assert reasons == {at: wanted[each] for at, each in enumerate(values) if each in wanted}
    assert found.offset.tolist() == list(range(len(values)))
    assert found.values["v"].to_pylist() == [None if each == b"x" else each for each in values]


def test_want_of_memory_is_no_fault_of_a_record():
    def fail(records):
        raise MemoryError

    with pytest.raises(MemoryError):
        decoded(fail, slice_of([b"a"]))


# -- Even chunks: where they end does not depend on how records come in.


def chunks(parts, bytes_min):
    """Returns the offsets in each chunk."""
    even = EvenChunks(bytes_min)
    found = [chunk for part in parts for chunk in even.add([part])]
    assert even.size_bytes == sum(each.size_bytes for each in even.rest())
    return [[at for part in chunk for at in part.offset.tolist()] for chunk in found]


@given(RECORDS, CUTS, st.integers(1, 100))
def test_a_chunk_ends_with_the_record_that_reaches_its_bytes(records, cuts, bytes_min):
    parts = slices(records, cuts)
    sizes = [size for part in parts for size in part.record_bytes.tolist()]
    expected, opened, total = [], [], 0
    for at, size in enumerate(sizes):
        opened.append(at)
        total += size
        if total >= bytes_min:
            expected.append(opened)
            opened, total = [], 0
    assert chunks(parts, bytes_min) == expected


@given(RECORDS, CUTS)
def test_the_rest_are_the_records_of_no_chunk_once(records, cuts):
    even = EvenChunks(1 << 30)
    assert list(even.add(slices(records, cuts))) == []
    assert sum(map(len, even.rest())) == len(records)
    assert even.rest() == []


@given(RECORDS, CUTS, st.integers(1, 400))
def test_the_forms_of_all_records_of_a_chunk_count_once_it_is_made(records, cuts, bytes_min):
    """Records that make none count alone: they are decoded."""
    even, waiting = EvenChunks(bytes_min), []
    for part in slices(records, cuts):
        is_made = sum(int(each.record_bytes.sum()) for each in [*waiting, part]) >= bytes_min
        formed = [*waiting, part] if is_made else [part]
        size = sum(int(each.record_bytes.sum()) for each in formed)
        expected = FORMS * size + FORM_RECORD_BYTES * sum(map(len, formed))
        assert even.forming_bytes([part]) == expected
        for chunk in even.add([part]):
            chunk.clear()
        waiting = [] if is_made else [*waiting, part]
        if is_made:
            even.rest()
    rest = sum(int(each.record_bytes.sum()) for each in waiting)
    assert even.forming_bytes() == FORMS * rest + FORM_RECORD_BYTES * sum(map(len, waiting))


def test_a_chunk_counts_while_it_is_made():
    even = EvenChunks(10)
    (part,) = slices([Record(at, 5, b"key", b"value", ()) for at in range(2)])
    for _ in even.add([part.at(slice(0, 1)), part.at(slice(1, 2))]):
        assert even.size_bytes > 0
    assert even.size_bytes == 0
