"""Checks of single documents, and the search for those that need one."""

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.formats.json_check import JsonCheck
from aggregator.tables.column_type import column_type

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
