"""Items of arrays and maps."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.formats import avro_items
from aggregator.formats.avro_items import items_of, skip
from aggregator.formats.avro_schema import avro_type
from tests.aggregator.formats.datums import cursors_over, encoded, fields

TEXTS = {"type": "array", "items": "string"}


def parsed(schema):
    return avro_type(json.dumps(schema).encode())


@pytest.fixture(params=[0, 1, 10**9], ids=["in step", "in step to the last", "by bytes"])
def both_ways(request, monkeypatch):
    monkeypatch.setattr(avro_items, "_LOOP_BELOW", max(request.param, 1))


def item_texts(cursors, schema=TEXTS):
    items, owner = items_of(parsed(schema), cursors)
    return [
        (int(at), items.octets[begin:end].tobytes())
        for at, begin, end in zip(owner, items.at, items.end, strict=True)
    ]


@pytest.mark.usefixtures("both_ways")
def test_items_of_several_blocks_are_found():
    blocks = b"\x04\x02a\x02b" + b"\x01\x04\x02c" + b"\x00"
    cursors = cursors_over([blocks, b"\x00", b"\x02\x02d\x00"])
    assert item_texts(cursors) == [(0, b"\x02a"), (0, b"\x02b"), (0, b"\x02c"), (2, b"\x02d")]
    assert (cursors.at == cursors.end).all()


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize(
    "datum",
    [
        b"",
        b"\x02",
        b"\x04\x02a\x00",
        b"\x02\x02a",
        encoded("long", 2**62) + b"\x00" * 9,
        encoded("long", -(2**63)) + b"\x02\x00" * 9,
    ],
)
def test_an_array_that_does_not_end_breaks_its_datum_only(datum):
    cursors = cursors_over([b"\x02\x02a\x00", datum, b"\x02\x02b\x00"])
    texts = item_texts(cursors)
    assert cursors.is_broken.tolist() == [False, True, False]
    assert [each for each in texts if each[0] != 1] == [(0, b"\x02a"), (2, b"\x02b")]


@pytest.mark.usefixtures("both_ways")
@settings(max_examples=30)
@given(
    fields.flatmap(
        lambda field: st.tuples(st.just(field), st.lists(field[1], min_size=1, max_size=3))
    )
)
def test_what_is_passed_in_step_is_passed_by_bytes(drawn):
    (kind, *_), values = drawn
    schema = {"type": "array", "items": kind}
    data = encoded(schema, values)
    cursors = cursors_over([data] * 3)
    items, owner = items_of(parsed(schema), cursors)
    assert (cursors.at == cursors.end).all()
    assert np.bincount(owner).tolist() == [len(values)] * 3
    skip(parsed(kind), items)
    assert (items.at == items.end).all()
    assert not items.is_broken.any()


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize(
    ("item", "bad"),
    [
        ({"type": "enum", "name": "e", "symbols": ["A", "B"]}, b"\x04"),
        ({"type": "enum", "name": "e", "symbols": ["A", "B"]}, b"\x01"),
        ("boolean", b"\x02"),
        ("int", encoded("long", 2**31)),
        ({"type": "array", "items": ["null", "boolean"]}, b"\x04\x00\x02\x05\x00"),
    ],
)
def test_an_item_that_its_type_does_not_have_breaks_its_datum_however_it_is_passed(item, bad):
    good = b"\x00"
    datums = [b"\x04" + each + good + b"\x00" for each in (good, bad, good)]
    cursors = cursors_over(datums)
    skip(parsed({"type": "array", "items": item}), cursors)
    assert cursors.is_broken.tolist() == [False, True, False]
