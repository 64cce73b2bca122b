"""Rows of tables: faults that a second reader of records sees, and digests of those that differ."""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.store.recognition import Identities
from aggregator.tables.table_schema import Column, TableSchema
from aggregator.verifier.plain_records import AvroRows, json_rows
from aggregator.verifier.row_digest import (
    CHUNK_OFFSETS,
    Digest,
    chunks,
    difference,
    digest,
    ranges,
)
from aggregator.verifier.row_values import DIFFERENCES_MAX, RowValues
from replicator.config.schema_folder import SchemaFolder
from tests.aggregator.formats.datums import encoded, logical, record_of
from tests.aggregator.formats.slices import slice_of, table

# -- Row values: faults of loaders' decoders are seen by a second reader of the records.

PRICES = table(n="UInt8", prices="Array(Decimal(38, 4))", at="DateTime64(9)")


def document(**row):
    return json.dumps(row).encode()


def compared(schema, values, rows, read=json_rows, surplus=()):
    found = RowValues(schema, read)
    expected = {(offset, row) for offset, row, _ in rows} - {*surplus}
    found.compare(slice_of(values, first=10), expected, rows)
    return found


def test_a_decimal_that_went_through_a_double_is_named():
    value = b'{"n": 1, "prices": [12345678901234567890.1234], "at": 1577836800.123456789}'
    right = {"n": 1, "prices": [Decimal("12345678901234567890.1234")]}
    at = Decimal("1577836800.123456789")
    assert compared(PRICES, [value], [(10, 0, {**right, "at": at})]).differences == []
    wrong = {"n": 1, "prices": [Decimal("12345678901234567000.0000")], "at": at}
    [(offset, text)] = compared(PRICES, [value], [(10, 0, wrong)]).differences
    assert offset == 10 and text.startswith("prices: the record has [Decimal('1234567890123456789")
    cut = {**right, "at": Decimal("1577836800.123456700")}
    [(_, text)] = compared(PRICES, [value], [(10, 0, cut)]).differences
    assert text == (
        "at: the record has 1577836800123456789, and the table Decimal('1577836800.123456700')"
    )


def test_a_null_that_became_a_default_is_named():
    columns = (Column("a", "UInt8"), Column("b", "Nullable(UInt8)", "DEFAULT", "5"))
    schema = TableSchema("t", columns)
    found = compared(schema, [document(a=None, b=None)], [(10, 0, {"a": 0, "b": 5})])
    assert [text for _, text in found.differences] == [
        "a: null is no UInt8, and the table has 0",
        "b: the record has None, and the table 5",
    ]
    # A missing field has the default, whatever that is.
    assert compared(schema, [b"{}"], [(10, 0, {"a": 0, "b": 5})]).differences == []


def test_a_row_that_only_the_loaders_decoder_forms_is_named():
    found = compared(table(a="UInt8"), [document(a=1)], [(9, 0, {"a": 7}), (10, 1, {"a": 1})])
    assert found.differences == [(10, "it is row 1, and the record has 1 rows")]


def test_surplus_and_doubled_rows_are_passed():
    rows = [(10, 0, {"a": 7}), (10, 0, {"a": 1}), (10, 1, {"a": 7})]
    found = compared(table(a="UInt8"), [document(a=1)], rows, surplus=[(10, 1)])
    assert (found.differences, found.doubts) == ([], [])


def test_a_column_that_was_added_later_is_a_doubt_until_a_row_has_it():
    schema = table(a="UInt8")
    values = [document(a=each) for each in (1, 2, 3, 4)]
    rows = [(10 + at, 0, {"a": held}) for at, held in enumerate((0, 0, 3, 0))]
    found = compared(schema, values, rows)
    assert found.differences == [(13, "a: the record has 4, and the table 0")]
    assert found.doubts == [
        "a has its default in rows whose records have values: was it added later?"
    ]


def test_a_record_that_the_second_reader_cannot_read_is_a_doubt():
    found = compared(table(a="UInt8"), [b"{"], [(10, 0, {"a": 1})])
    assert found.doubts == ["1 records with rows cannot be read by a second reader"]


def test_only_the_first_differences_are_told():
    values = [document(a=2)] * 9
    rows = [(10 + at, 0, {"a": 1}) for at in range(9)]
    assert len(compared(table(a="UInt8"), values, rows).differences) == DIFFERENCES_MAX


@pytest.mark.parametrize("base", ["bytes", {"type": "fixed", "name": "f", "size": 12}])
def test_a_logical_decimal_of_avro_is_compared_digit_by_digit(base):
    kind = logical("bytes", "decimal", precision=25, scale=4)
    if isinstance(base, dict):
        kind = {**base, "logicalType": "decimal", "precision": 25, "scale": 4}
    schema = record_of(["int", {"type": "array", "items": ["null", kind]}])
    price = Decimal("12345678901234567.8912")
    read = AvroRows(SchemaFolder(Path("schemas"), {"t.avsc": json.dumps(schema).encode()}))
    columns = table(f0="Int32", f1="Array(Nullable(Decimal(25, 4)))")
    datum = encoded(schema, {"f0": 1, "f1": [None, price]})
    right = {"f0": 1, "f1": [None, price]}
    assert compared(columns, [datum], [(10, 0, right)], read).differences == []
    wrong = {"f0": 1, "f1": [None, price + Decimal("0.0001")]}
    assert len(compared(columns, [datum], [(10, 0, wrong)], read).differences) == 1


# -- Digests and differences of rows: as a multiset of identities would have them.

identities = st.tuples(st.integers(0, 30), st.integers(0, 2))
unique = st.sets(identities, max_size=30)
any_offset = st.tuples(st.integers(0, 2**63 - 1), st.integers(0, 2**32 - 1))


def rows(pairs):
    found = list(pairs)
    return Identities(
        np.array([offset for offset, _ in found], np.int64),
        np.array([row for _, row in found], np.int64),
    )


@given(unique, st.lists(identities, max_size=40))
def test_differences_are_those_of_multisets(expected, found):
    counted = Counter(found)
    differing = difference(rows(sorted(expected)), rows(found))
    assert sorted(differing.missing.tolist()) == sorted(o for o, _ in expected - counted.keys())
    assert sorted(differing.surplus.tolist()) == sorted(o for o, _ in counted.keys() - expected)
    doubled = sorted(offset for (offset, _), count in counted.items() if count > 1)
    assert sorted(differing.doubled.tolist()) == doubled


@given(st.lists(any_offset, max_size=20), st.randoms())
def test_a_digest_does_not_depend_on_the_order(found, random):
    shuffled = list(found)
    random.shuffle(shuffled)
    assert digest(rows(found)) == digest(rows(shuffled))


@given(st.lists(identities, max_size=20), st.lists(identities, max_size=20))
def test_digests_are_equal_for_equal_multisets_only(one, other):
    assert (digest(rows(one)) == digest(rows(other))) == (Counter(one) == Counter(other))


def test_nothing_has_the_digest_of_a_chunk_that_the_table_does_not_have():
    assert digest(Identities()) == Digest()


@given(st.integers(0, 5 * CHUNK_OFFSETS), st.integers(0, 3 * CHUNK_OFFSETS))
def test_chunks_cover_a_range_once_and_keep_within_their_number(begin, length):
    at = begin
    for number, first, last in chunks(begin, begin + length):
        assert first == at < last
        assert number == first // CHUNK_OFFSETS == (last - 1) // CHUNK_OFFSETS
        at = last
    assert at == begin + length


def test_ranges_are_short_however_many_there_are():
    assert ranges(np.array([], np.int64)) == "none"
    assert ranges(np.array([9, 5, 6, 7, 7])) == "5..7, 9"
    assert ranges(np.arange(0, 20, 2)) == "0, 2, 4, 6, 8 and 5 more ranges"
