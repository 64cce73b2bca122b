"""Null fields of documents, whatever else the documents hold."""

import json

import pyarrow as pa
import pytest

from aggregator.formats.json_depth import DEPTH_MAX
from aggregator.formats.json_nulls import TOO_DEEP, null_fields


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
