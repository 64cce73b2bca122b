"""Typed Parquet files: columns of values, and of records, in files that are the same whenever they
are written again."""

from __future__ import annotations

import io
import json

import polars as pl
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.files.datum_columns import DatumColumns
from aggregator.files.document_columns import DocumentColumns
from aggregator.files.typed_parquet import TypedParquet
from aggregator.schemas.known_schemas import KnownSchemas
from tests.aggregator.files.schema_records import FIRST, KNOWN, admitted, file_of, row, value
from tests.aggregator.files.written_files import CUTS
from tests.aggregator.formats.slices import slice_of


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
