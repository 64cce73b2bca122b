"""Reading of documents by polars, and by halves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.formats import json_reader
from aggregator.formats.json_lines import json_lines
from aggregator.formats.json_reader import JsonReader
from aggregator.tables.column_type import column_type
from tests.aggregator.formats.slices import slice_of

READER = JsonReader(
    {
        name: column_type(kind)
        for name, kind in {"a": "UInt64", "b": "UInt8", "c": "Nullable(UInt8)"}.items()
    }
)


def read(*values):
    documents, reasons = json_lines([slice_of(values)])
    assert not reasons
    return READER.read(documents)


def test_booleans_and_numbers_of_a_uint8_are_read_in_their_order():
    values = [b'{"b":true}', b'{"b":7,"c":false}', b'{"a":1}', b'{"b":false,"c":5}']
    found = read(*values)
    assert found.columns["b"].to_pylist() == [1, 7, None, 0]
    assert found.columns["c"].to_pylist() == [None, 0, None, 5]
    assert found.refused == {}


def test_what_only_polars_refuses_is_found_by_halves():
    values = [b'{"a":%d}' % at for at in range(9)]
    values[4] = b'{"a":4,"x":1e400}'
    values[7] = b'{"a":7,"x":1e400}'
    found = read(*values)
    assert found.documents.record.tolist() == [0, 1, 2, 3, 5, 6, 8]
    assert found.columns["a"].to_pylist() == [0, 1, 2, 3, 5, 6, 8]
    assert sorted(found.refused) == [4, 7]
    assert "InvalidNumber" in found.refused[4]


@given(
    st.lists(
        st.sampled_from([b'{"a":1}', b'{"a":"x"}', b'{"b":true}', b'{"b":2}', b"{}}"]), min_size=1
    )
)
def test_parts_of_any_size_give_the_same(values):
    whole = read(*values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_reader, "EXAMINED_MAX", 1)
        found = read(*values)
    assert found.documents.record.tolist() == whole.documents.record.tolist()
    assert found.refused == whole.refused
    names = found.columns.keys() | whole.columns.keys()
    for name in names:
        assert found.columns[name].to_pylist() == whole.columns[name].to_pylist()


def test_no_documents_are_no_columns():
    documents, _ = json_lines([])
    found = READER.read(documents)
    assert (len(found.documents), dict(found.columns)) == (0, {})


def test_documents_of_a_table_without_columns_are_checked_too():
    documents, _ = json_lines([slice_of([b'{"x":1}', b'{"x"1}'])])
    found = JsonReader({}).read(documents)
    assert found.documents.record.tolist() == [0]
    assert list(found.refused) == [1]
