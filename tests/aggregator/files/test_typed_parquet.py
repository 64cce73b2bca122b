"""Typed Parquet files: values become columns by their schema, and required ones have no nulls."""

from __future__ import annotations

import datetime
import io
import json
from decimal import Decimal

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.files.datum_columns import DatumColumns
from aggregator.files.decoded_slice import DecodedSlice
from aggregator.files.document_columns import DocumentColumns
from aggregator.files.required_values import with_required
from aggregator.files.schema_values import SchemaValues, in_order
from aggregator.files.typed_parquet import TypedParquet
from aggregator.formats.avro_projection import SAME
from aggregator.schemas.known_schemas import KnownSchemas
from tests.aggregator.files.schema_records import (
    ENVELOPE,
    FIRST,
    KNOWN,
    admitted,
    file_of,
    row,
    value,
)
from tests.aggregator.files.written_files import CUTS
from tests.aggregator.formats.datums import encoded
from tests.aggregator.formats.slices import slice_of

# -- Typed Parquet files: columns of values, and of records, in files that are the same whenever
# they are written again.


def parquet(columns=("offset",), decoder=None):
    found = decoder or DatumColumns(KNOWN, "t")
    return TypedParquet(found, "t", 3, columns=columns, codec="zstd", row_group_bytes=60)


def slices(values, cuts):
    ends = sorted({each for each in cuts if each < len(values)} | {len(values)})
    whole = slice_of(values)
    return [whole.at(slice(b, e)) for b, e in zip([0, *ends], ends, strict=False)]


@given(st.lists(st.none() | st.integers(0, 40), min_size=1), CUTS)
@settings(max_examples=60, deadline=None)
def test_the_same_records_are_the_same_bytes_and_rows_however_they_come_in(numbers, cuts):
    values = [None if each is None else value(each, 1) for each in numbers]
    whole = file_of(parquet(), slice_of(values))
    assert file_of(parquet(), *slices(values, cuts)) == whole
    found = pq.read_table(io.BytesIO(whole)).to_pylist()
    nothing = {"number": None, "text": None}
    wanted = [nothing if each is None else _first(row(each)) for each in numbers]
    if set(numbers) == {None}:
        wanted = [{} for _ in numbers]  # nothing tells the columns of their values
    assert found == [each | {"offset": at} for at, each in enumerate(wanted)]


def _first(found):
    return {name: found[name] for name in ("number", "text")}


def test_older_datums_have_the_columns_of_the_first_one():
    data = file_of(parquet(columns=()), slice_of([value(1, 2), value(2, 1), value(3, 2)]))
    assert pl.read_parquet(data).to_dicts() == [
        _ordered(row(1)),
        _ordered({**row(2), "more": None}),
        _ordered(row(3)),
    ]


def _ordered(found):
    return {name: found[name] for name in ("more", "number", "text")}


def test_documents_have_the_columns_of_their_schema():
    known = KnownSchemas({"rows.avsc": json.dumps(FIRST).encode()}, "rows.avsc")
    writer = parquet(decoder=DocumentColumns(known, "t"))
    documents = [json.dumps(_first(row(at)), indent=1).encode() for at in range(5)]
    found = admitted(writer, slice_of([*documents, b"[]", None, b"{", b'{"number": "1"}']))
    assert {each.offset: each.reason for each in found.dead} == {
        5: "Column() changed from object to array, by the schema rows.avsc",
        7: "no JSON: Input data was truncated",
        8: "Column(/number) changed from number to string, by the schema rows.avsc",
    }
    data = writer.write([found.records]) + writer.finish()
    assert pl.read_parquet(data).to_dicts() == [
        *({**_first(row(at)), "offset": at} for at in range(5)),
        {"number": None, "text": None, "offset": 6},
    ]


def test_a_file_of_dead_letters_only_has_no_bytes():
    assert file_of(parquet(), slice_of([b"none"])) == b""


# -- Decoded slices: records and their values stay together.


def test_values_go_with_their_records():
    records = slice_of([b"a", b"bc", b"d"])
    found = DecodedSlice.of(records, pa.table({"v": ["A", "BC", "D"]}))
    assert found.size_bytes > records.size_bytes
    for which, wanted in ((slice(1, None), ["BC", "D"]), (np.array([2, 0]), ["D", "A"])):
        part = found.at(which)
        assert part.values["v"].to_pylist() == wanted
        assert [part.value_at(at).upper().decode() for at in range(len(part))] == wanted
    assert found.between(1, 2).values["v"].to_pylist() == ["BC"]


# -- Schema values: datums by schema, and values in the order of their records.


def test_the_first_value_decides_the_schema_whatever_its_id():
    values = SchemaValues(KNOWN, "t")
    records = slice_of([b"none", None, value(1, 2), value(2, 1)])
    found = {each.written.name: each for each in values.datums(records)}
    assert values.schema.name == "2"
    assert {name: each.record.tolist() for name, each in found.items()} == {"2": [2], "1": [3]}
    assert found["2"].how == SAME
    assert found["1"].how != SAME
    assert list(values.reasons) == [0]


def test_values_are_put_into_the_order_of_their_records():
    parts = [np.array([3, 1]), np.array([0])]
    values = [pa.array(["d", "b"]), pa.array(["a"])]
    assert in_order(4, parts, values, pa.string()).to_pylist() == ["a", "b", None, "d"]
    assert in_order(2, [], [], pa.string()).to_pylist() == [None, None]


# -- Datum columns: the fields of datums, and what has none.


def test_each_datum_is_a_row_and_a_tombstone_is_a_row_of_nulls():
    decoder = DatumColumns(KNOWN, "t")
    assert (decoder.schema, decoder.fields.names) == ("", [])
    table, reasons = decoder(slice_of([value(1, 1), None, value(2, 1)]))
    assert table.to_pylist() == [
        {"number": 1, "text": row(1)["text"]},
        {"number": None, "text": None},
        {"number": 2, "text": row(2)["text"]},
    ]
    assert (decoder.schema, reasons) == ("1", {})


def test_what_is_cut_is_named_also_where_it_becomes_another_schema():
    decoder = DatumColumns(KNOWN, "t")
    _, reasons = decoder(slice_of([value(1, 2), value(2, 1)[:-1], value(4, 1), value(5, 2)[:-1]]))
    assert reasons == {
        1: "ends too early, by the schema 1",
        3: "ends too early, by the schema 2",
    }


def test_a_schema_that_has_no_columns_makes_its_records_dead_letters():
    decoder = DatumColumns(KNOWN, "t")
    table, reasons = decoder(slice_of([b"\0\0\0\0\x04\x00"]))
    assert (table.num_columns, reasons) == (0, {0: "the schema 4: List is part of itself"})


def test_a_value_that_is_no_record_has_a_column():
    known = KnownSchemas({"t.avsc": json.dumps(["null", "int"]).encode()})
    table, reasons = DatumColumns(known, "t")(slice_of([b"\x02\x06", b"\x00"]))
    assert (table.to_pylist(), reasons) == ([{"value": 3}, {"value": None}], {})


# -- Document columns: a topic without a schema, and one whose schema documents cannot have.


def test_documents_of_a_topic_without_a_schema_are_dead_letters():
    known = KnownSchemas({"other.avsc": json.dumps(FIRST).encode()})
    table, reasons = DocumentColumns(known, "t")(slice_of([b"{}", None]))
    assert (table.num_columns, reasons) == (0, {0: "no schema t.avsc"})


def test_a_schema_that_documents_cannot_have_is_named():
    known = KnownSchemas({"t.avsc": b'"int"'})
    decoder = DocumentColumns(known, "t")
    _, reasons = decoder(slice_of([b"5"]))
    assert reasons == {0: "t.avsc: no record, which is what a JSON object becomes"}
    assert decoder.fields.names == []


def test_line_breaks_between_the_parts_of_a_document_change_nothing():
    known = KnownSchemas({"t.avsc": json.dumps(FIRST).encode()})
    decoder = DocumentColumns(known, "t")
    table, reasons = decoder(slice_of([b'{\n"number":\r\n 1,"text":\n"a\\nb"}']))
    assert (table.to_pylist(), reasons) == ([{"number": 1, "text": "a\nb"}], {})
    assert len(decoder.schema) == 8


# -- Required values: an optional record that is null is read as null, whatever its type
# requires.

DAY = datetime.date(2013, 7, 1)
LEAVES = {
    pa.int32(): st.integers(-5, 5),
    pa.float64(): st.floats(-5, 5),
    pa.bool_(): st.booleans(),
    pa.string(): st.text("aé", max_size=3),
    pa.binary(): st.binary(max_size=3),
    pa.binary(2): st.binary(min_size=2, max_size=2),
    pa.date32(): st.just(DAY),
    pa.decimal128(10, 2): st.just(Decimal("1.25")),
}


def _structs(parts):
    """Returns struct types with their values, of fields that may be required."""
    named = st.lists(st.tuples(st.booleans(), parts), min_size=1, max_size=3)
    return named.map(
        lambda found: (
            pa.struct(
                [
                    pa.field(f"f{at}", kind, nullable=is_nullable)
                    for at, (is_nullable, (kind, _)) in enumerate(found)
                ]
            ),
            st.fixed_dictionaries(
                {
                    f"f{at}": (st.none() | values) if is_nullable else values
                    for at, (is_nullable, (_, values)) in enumerate(found)
                }
            ),
        )
    )


def _lists(parts):
    return st.tuples(st.booleans(), parts).map(
        lambda found: (
            pa.list_(pa.field("element", found[1][0], nullable=found[0])),
            st.lists((st.none() | found[1][1]) if found[0] else found[1][1], max_size=2),
        )
    )


def _maps(parts):
    return st.tuples(st.booleans(), parts).map(
        lambda found: (
            pa.map_(pa.string(), pa.field("value", found[1][0], nullable=found[0])),
            st.lists(
                st.tuples(
                    st.sampled_from("xyz"), (st.none() | found[1][1]) if found[0] else found[1][1]
                ),
                max_size=2,
                unique_by=lambda pair: pair[0],
            ),
        )
    )


KINDS = st.recursive(
    st.sampled_from([*LEAVES.items()]),
    lambda parts: _structs(parts) | _lists(parts) | _maps(parts),
    max_leaves=6,
)


@given(_structs(KINDS), st.data())
@settings(max_examples=150, deadline=None)
def test_what_is_written_is_read_whatever_is_null(made, data):
    kind, values = made
    rows = data.draw(st.lists(st.none() | values, min_size=1, max_size=5))
    cut = data.draw(st.integers(0, len(rows) - 1))
    column = pa.array(rows, kind).slice(cut)
    # As a decoder spreads values over their records.
    spread = column.take(pa.array([*range(len(column)), None], pa.int64()))
    for each, wanted in ((column, rows[cut:]), (spread, [*rows[cut:], None])):
        out = io.BytesIO()
        made_table = pa.Table.from_arrays([with_required(each)], schema=pa.schema([("c", kind)]))
        pq.write_table(made_table, out)
        found = pq.read_table(io.BytesIO(out.getvalue()))["c"].to_pylist()
        assert found == pa.array(wanted, kind).to_pylist()


def test_a_required_field_that_is_null_in_a_record_is_still_refused():
    kind = pa.struct([pa.field("id", pa.int32(), nullable=False)])
    column = with_required(pa.array([{"id": 1}, {"id": None}, None], kind))
    with pytest.raises(pa.ArrowInvalid, match="non-nullable"):
        pq.write_table(pa.table({"c": column}), io.BytesIO())


SOURCE = {"source": {"version": "1"}}
CHANGES = [
    {"before": None, "after": {"id": 1}, **SOURCE},
    {"before": {"id": 1}, "after": {"id": 2}, **SOURCE},
    None,
    {"before": {"id": 2}, "after": None, **SOURCE},
]


@pytest.mark.parametrize("made", [DatumColumns, DocumentColumns])
def test_envelopes_of_changes_are_rows_and_so_are_tombstones(made):
    """Each insert has `before` null: it stopped its loader for ever."""
    known = KnownSchemas({"t.avsc": json.dumps(ENVELOPE).encode()})
    of_json = made is DocumentColumns
    values = [
        None if each is None else json.dumps(each).encode() if of_json else encoded(ENVELOPE, each)
        for each in CHANGES
    ]
    writer = TypedParquet(made(known, "t"), "t", 0, columns=["offset"], codec="none")
    found = pq.read_table(io.BytesIO(file_of(writer, slice_of(values)))).to_pylist()
    nothing = {"before": None, "after": None, "source": None}
    assert [{name: row[name] for name in nothing} for row in found] == [
        each or nothing for each in CHANGES
    ]
