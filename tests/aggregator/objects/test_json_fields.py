"""JSON fields: the texts that Python's own reader finds, whatever stands beside a record."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aggregator.objects.json_fields import field_texts, path_of
from tests.aggregator.formats.slices import slice_of

NAMES = st.sampled_from(["a", "b", "a b", "é", "f0"])
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
)
DOCUMENTS = st.dictionaries(
    NAMES,
    st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner)),
)
VALUES = st.one_of(
    st.none(),
    st.binary(max_size=8),
    st.sampled_from(
        [
            b"[]",
            b'"a"',
            b" ",
            b'{"a":1',
            b'{"a":1}{"a":2}',
            b'{"a":1,"a":2}',
            b'{"\\u0061" : 1E5 }',
            b'{"a":-0.10}',
            b'{"a":"\\ud83d\\ude00"}',
            b'{"a":{"a":1},"a":{}}',
            b"\n{}",
        ]
    ),
    st.builds(lambda d, asc: json.dumps(d, ensure_ascii=asc).encode(), DOCUMENTS, st.booleans()),
)
PATHS = ["a", "b", "a.a", "a.b", "a b.é", "b.a.b", "é"]


def expected(value, path):
    """Returns the text of a field by Python's reader, which keeps how numbers are written."""
    try:
        found = json.loads(value or b"null", parse_int=str, parse_float=str)
    except ValueError:
        return None
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    if isinstance(found, bool):
        return str(found).lower()
    return found if isinstance(found, str) else None


def texts(values, paths):
    found = field_texts(slice_of(values), [path_of(path) for path in paths])
    return [[each.texts[number] for number in each.number] for each in found]


@given(
    st.lists(VALUES, min_size=1, max_size=12),
    st.lists(st.sampled_from(PATHS), min_size=1, unique=True),
)
@example([b'{"a":{"a":"x","b":1.0}}', None, b"no"], ["a.b", "a", "a.a"])
def test_texts_are_those_that_pythons_reader_finds(values, paths):
    assert texts(values, paths) == [[expected(value, path) for value in values] for path in paths]


@given(st.lists(VALUES, min_size=2, max_size=12))
def test_a_record_has_the_same_texts_whatever_is_beside_it(values):
    together = texts(values, ["a", "a.b"])
    assert together == [[texts([value], [path])[0][0] for value in values] for path in ("a", "a.b")]


@pytest.mark.parametrize(
    ("depth", "text"), [(1, "x"), (299, "x"), (300, None), (2000, None), (100_000, None)]
)
def test_a_document_that_is_nested_too_deeply_has_no_texts(depth, text):
    value = b'{"a":"x","b":' + b"[" * depth + b"]" * depth + b"}"
    assert texts([value, b'{"a":"y"}'], ["a"]) == [[text, "y"]]


def test_many_brackets_beside_each_other_or_in_a_string_are_no_depth():
    values = [
        b'{"a":"x","b":[' + b",".join([b"[]"] * 1000) + b"]}",
        b'{"a":"x","b":"\\"' + b"[" * 1000 + b'"}',
    ]
    assert texts(values, ["a"]) == [["x", "x"]]
