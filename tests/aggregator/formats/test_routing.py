"""Routing of records to tables."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.formats.record_fields import split
from aggregator.formats.routing import NO_TABLE, by_table
from aggregator.intents.intent import fits
from aggregator.intents.table_range import KeeperMoment, TableRange
from replicator.batches.batch import BrokenBatch
from tests.aggregator.formats.slices import slice_of
from tests.aggregator.formats.test_record_fields import records_of

header = st.tuples(
    st.sampled_from(["table", "tabl", "tables", "trace", ""]),
    st.sampled_from([None, b"", b"flights", b"delays", b"\xff", "Flüge".encode()]),
)

LARGEST = TableRange(0, 1 << 40, 1 << 20, "0" * 8, 1 << 43, KeeperMoment(1 << 40, 1 << 40))


def naive(headers):
    values = [value for name, value in headers if name == "table"]
    try:
        return (values[-1] or b"").decode() if values else NO_TABLE
    except UnicodeDecodeError:
        return NO_TABLE


@given(st.lists(st.lists(header, max_size=4).map(tuple), min_size=1, max_size=12))
def test_the_last_value_of_the_header_is_the_table(headers):
    records = slice_of([b"%d" % at for at in range(len(headers))], headers=headers, first=5)
    expected = {}
    for at, each in enumerate(headers):
        expected.setdefault(naive(each), []).append(5 + at)
    found = by_table(records, topic="t", header="table")
    assert {table: part.offset.tolist() for table, part in found.items()} == expected


@pytest.mark.parametrize("last", ["z", "\U0001f6ff", "\1"])
@pytest.mark.parametrize("length", [20, 63, 200, 255, 2000, 5000])
def test_whatever_a_header_names_an_intent_has_room_for_its_block(length, last):
    """A name of 4 KB needed more than an intent holds: no block was sealed, and its partition stood
    still for ever."""
    dice = random.Random(length)
    name = "".join(chr(dice.randint(max(1, ord(last) - 50), ord(last))) for _ in range(length))
    records = slice_of([b"1"], headers=[(("table", name.encode()),)])
    [table] = by_table(records, topic="t", header="table")
    assert table in (name, NO_TABLE)
    assert fits({table: LARGEST, **{f"table-{at}": TableRange(7, 7) for at in range(50)}})


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("t" * 255, True), ("t" * 256, False), ("ü" * 127, True), ("ü" * 128, False),
     ("\n" * 127, True), ("\n" * 128, False), ("\1" * 43, False)],
)  # fmt: skip
def test_a_name_that_no_table_can_have_names_none(name, is_one):
    records = slice_of([b"1"], headers=[(("table", name.encode()),)])
    assert list(by_table(records, topic="t", header="table")) == [name if is_one else NO_TABLE]


def test_records_of_a_single_table_are_not_copied():
    records = slice_of([b"1", b"2"], headers=[(("table", b"a"),), (("x", b""), ("table", b"a"))])
    assert by_table(records, topic="t", header="table")["a"] is records


def test_without_a_header_the_topic_is_the_table():
    records = slice_of([b"1", b"2"])
    assert by_table(records, topic="flights", header=None) == {"flights": records}


def test_no_records_have_no_table():
    assert by_table(slice_of([b"1"]).at(np.empty(0, np.int64)), topic="t", header=None) == {}


def test_a_header_whose_length_is_wrong_is_a_broken_batch():
    # One header; its key has 2 bytes, its value ends one byte before the record does.
    records = split(records_of(b"\x01\x01\x02\x04ab\x02cd"))
    with pytest.raises(BrokenBatch):
        by_table(records, topic="t", header="table")
