"""Routing of records to tables."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.formats.record_fields import split
from aggregator.formats.routing import NO_TABLE, by_table
from replicator.batches.batch import BrokenBatch
from tests.aggregator.formats.slices import slice_of
from tests.aggregator.formats.test_record_fields import records_of

header = st.tuples(
    st.sampled_from(["table", "tabl", "tables", "trace", ""]),
    st.sampled_from([None, b"", b"flights", b"delays", b"\xff", "Flüge".encode()]),
)


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
