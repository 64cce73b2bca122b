"""Datum columns: the fields of datums, and what has none."""

import json

from aggregator.files.datum_columns import DatumColumns
from aggregator.schemas.known_schemas import KnownSchemas
from tests.aggregator.files.schema_records import KNOWN, row, value
from tests.aggregator.formats.slices import slice_of


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
