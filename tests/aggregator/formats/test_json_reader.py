"""JSON reader: values of columns, their nulls, and what a look at them finds."""

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.formats import json_reader
from aggregator.formats.json_check import JsonCheck
from aggregator.formats.json_depth import DEPTH_MAX
from aggregator.formats.json_lines import read_json_lines
from aggregator.formats.json_nulls import TOO_DEEP, null_fields
from aggregator.formats.json_reader import JsonReader
from aggregator.tables.column_type import column_type
from tests.aggregator.formats.slices import slice_of

# -- Reading of documents by polars, and by halves.

READER = JsonReader(
    {
        name: column_type(kind)
        for name, kind in {"a": "UInt64", "b": "UInt8", "c": "Nullable(UInt8)"}.items()
    }
)


def read(*values):
    documents, reasons = read_json_lines([slice_of(values)])
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
    documents, _ = read_json_lines([])
    found = READER.read(documents)
    assert (len(found.documents), dict(found.columns)) == (0, {})


def test_documents_of_a_table_without_columns_are_checked_too():
    documents, _ = read_json_lines([slice_of([b'{"x":1}', b'{"x"1}'])])
    found = JsonReader({}).read(documents)
    assert found.documents.record.tolist() == [0]
    assert list(found.refused) == [1]


# -- Null fields of documents, whatever else the documents hold.


def of(*documents, names=("a", "b"), columns=None):
    texts = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in documents]
    nulls, refused = null_fields(pa.array(texts, pa.binary()), columns or {}, names)
    return {name: rows.tolist() for name, rows in nulls.items()}, refused


def test_null_is_told_from_a_missing_field_of_each_document():
    assert of({"a": None}, {}, {"a": 1}, {"b": None, "a": None}) == (
        {"a": [True, False, False, True], "b": [False, False, False, True]},
        {},
    )


@pytest.mark.parametrize(
    ("document", "is_null"),
    [
        (b'{"a":null}', True),
        (b'{"a" :\t null}', True),
        (b'{"\\u0061": null}', True),
        (b'{"a": null, "a": 1}', True),
        (b'{"a": 1, "a": null}', False),
        (b'{"c": {"a": null}}', False),
        (b'{"c": [{"a": null}], "a": 1}', False),
        (b'{"c": "\\"a\\":null"}', False),
        (b'{"c": 1%s, "a": null}' % (b"0" * 5000), True),
    ],
)
def test_only_a_field_of_the_document_itself_counts_and_of_repeated_ones_the_first(
    document, is_null
):
    assert of(document) == ({"a": [True]} if is_null else {}, {})


def test_a_field_that_has_a_value_everywhere_is_not_looked_for():
    assert of({"a": 1}, {"a": 2, "c": {"a": None}}, columns={"a": pa.array([1, 2])}) == ({}, {})


def test_a_name_with_signs_of_patterns_is_found():
    assert of({"a.(b": None}, {"axxb": None}, names=["a.(b"]) == ({"a.(b": [True, False]}, {})


def test_a_document_that_is_nested_too_deep_for_the_second_look_is_refused():
    deep = b'{"a": null, "c": %s%s}' % (b"[" * DEPTH_MAX, b"]" * DEPTH_MAX)
    assert of({"a": None}, deep) == ({"a": [True, False]}, {1: TOO_DEEP})


# -- Checks of single documents, and the search for those that need one.

CHECK = JsonCheck(
    {
        name: column_type(kind)
        for name, kind in {"a": "String", "b": "UInt8", "c": "Array(String)"}.items()
    }
)


def suspicious(*documents, **columns):
    """Returns the indexes of suspicious documents, given what polars would have read."""
    lines = [document + b"\n" for document in documents]
    begins = np.cumsum([0, *map(len, lines)])[:-1]
    types = {"a": pa.large_string(), "c": pa.large_list(pa.large_string())}
    arrays = {name: pa.array(values, types[name]) for name, values in columns.items()}
    return CHECK.suspicious(b"".join(lines), begins, arrays).tolist()


def test_documents_with_texts_only_are_not_suspicious():
    assert suspicious(b'{"a":"5"}', b'{"a": "true"}', b'{"a":null}', a=["5", "true", None]) == []


@pytest.mark.parametrize(
    "document",
    [
        b'{"a":5}',
        b'{"a" : true}',
        b'{"x":1,"a":\t-1}',
        b'{"a":[1]}',
        b'{"a":{}}',
        b'{"\\u0061":5}',
        b'{"a":["x"]}',
    ],
)
def test_a_value_without_quotes_is_suspicious(document):
    assert suspicious(b'{"a":"x"}', document, b'{"a":"6"}', a=["x", "5", "6"]) == [1]


@pytest.mark.parametrize(
    "document", [b'{"c":[1]}', b'{"c":["x", null,\t2]}', b'{"c":["\\"]", true]}', b'{"c":5}']
)
def test_an_element_without_quotes_is_suspicious(document):
    cells = [["5"], ["1", '"]']]
    assert suspicious(b'{"c":["5", null]}', document, c=cells) == [1]


def test_half_a_surrogate_pair_is_suspicious():
    assert suspicious(b'{"a":"\\u00e9"}', b'{"x":"\\ud800"}', a=["é", None]) == [1]


@given(
    st.dictionaries(
        st.sampled_from(["a", "b", "c", "x"]),
        st.one_of(
            st.none(),
            st.booleans(),
            st.integers(-5, 300),
            st.text(max_size=3),
            st.lists(st.text(max_size=2) | st.integers(), max_size=2),
        ),
    )
)
def test_a_document_is_examined_by_the_types_of_its_columns(document):
    def is_right(name, value):
        if value is None or name == "x":
            return True
        if name == "a":
            return type(value) is str
        if name == "b":
            return type(value) is bool or (type(value) is int and 0 <= value <= 255)
        return type(value) is list and all(type(each) is str for each in value)

    reason, flags = CHECK.examine(json.dumps(document).encode())
    assert (reason is None) == all(is_right(*pair) for pair in document.items())
    if reason is None:
        assert flags == ({"b"} if type(document.get("b")) is bool else set())


def test_the_first_of_repeated_fields_is_examined():
    assert CHECK.examine(b'{"a":"x","a":5}') == (None, frozenset())
    assert CHECK.examine(b'{"a":5,"a":"x"}')[0]
    assert CHECK.examine(b'{"b":1,"b":256}') == (None, frozenset())
    assert CHECK.examine(b'{"b":1,"b":true}') == (None, frozenset())
