"""Records of primary regions: how they are joined, written and read."""

from __future__ import annotations

import json
import logging
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.groups.membership.primary_reader import PrimaryReader
from replicator.groups.membership.primary_region import (
    PrimaryRegion,
    UnreadableRecord,
    decided,
    decode,
    encode,
    encode_key,
    joined,
    newer,
    regions,
)

# -- Records of primary regions: how they are joined, written and read.

REGIONS = st.sampled_from(["west", "east", None])
RECORDS = st.builds(
    PrimaryRegion,
    group=st.just("orders"),
    region=REGIONS,
    generation=st.integers(1, 3),
    at_ms=st.integers(0, 3),
    who=st.sampled_from(["ann@ops", "bob@ops"]),
    why=st.text(max_size=5),
    plan_id=st.none() | st.just("plan-1"),
    previous=REGIONS,
)
FIRST = PrimaryRegion("orders", "west", 1, 1000, "ann@ops", "lives here")


@given(RECORDS, RECORDS)
def test_of_two_records_the_same_one_counts_whichever_is_heard_first(one, other):
    assert newer(one, other) == newer(other, one)


@given(RECORDS, RECORDS, RECORDS)
def test_the_record_that_counts_does_not_depend_on_the_order_of_joining(one, two, three):
    assert newer(newer(one, two), three) == newer(one, newer(two, three))


@given(RECORDS)
def test_a_record_heard_twice_is_itself(record):
    assert newer(record, record) == record


@given(st.lists(RECORDS, min_size=1, max_size=6), st.randoms())
def test_shuffled_and_repeated_records_join_to_the_same(records, random):
    again = [*records, *random.choices(records, k=3)]
    random.shuffle(again)
    assert joined(again) == joined(records) == {"orders": reduce(newer, records)}


def test_a_larger_generation_counts_however_early_it_was_decided():
    later = decided(FIRST, "orders", "east", at_ms=5, who="bob@ops", why="west is gone")
    assert (later.generation, later.previous) == (2, "west")
    assert newer(FIRST, later) is later


def test_the_first_decision_about_a_group_has_generation_1_and_nothing_before_it():
    first = decided(None, "orders", "west", at_ms=1000, who="ann@ops", why="lives here")
    assert first == FIRST


def test_a_group_may_live_in_no_region_in_particular_again():
    free = decided(FIRST, "orders", None, at_ms=2000, who="ann@ops", why="both")
    assert joined([FIRST, free]) == {"orders": free}
    assert regions({"orders": free, "bills": FIRST}) == {"bills": "west"}


@given(RECORDS)
def test_a_record_comes_back_as_it_was_written(record):
    assert decode(encode(record)) == record
    assert decode(encode(record).encode()) == record


@given(RECORDS, RECORDS)
def test_records_that_decide_otherwise_have_keys_of_their_own(one, other):
    assert encode_key(one) != encode_key(other) or one.region == other.region


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
SPOILED = st.tuples(st.sampled_from(["group", "generation", "at_ms", "region", "who"]), ANYTHING)


@given(st.text() | st.binary() | ANYTHING.map(json.dumps))
def test_foreign_text_is_no_record(text):
    with pytest.raises(UnreadableRecord, match="no record of a primary region|of format"):
        decode(text)


@given(SPOILED)
def test_a_record_with_a_spoiled_field_is_read_as_it_is_or_not_at_all(spoiled):
    fields = json.loads(encode(FIRST)) | dict([spoiled])
    try:
        record = decode(json.dumps(fields))
    except UnreadableRecord:
        return
    assert json.loads(encode(record)) == fields


def test_a_record_of_a_later_version_is_named_as_that():
    later = encode(FIRST).replace('"sluice":1', '"sluice":2')
    with pytest.raises(UnreadableRecord, match="of format 2; this Sluice reads 1"):
        decode(later)


# -- Invalid records are left out, and logged once.

RECORD = PrimaryRegion("orders", "west", 1, 1000, "ann@ops", "lives here")


def test_each_kind_of_unreadable_record_is_logged_once_with_its_first_position(caplog):
    reader = PrimaryReader("west aggregate")
    later = encode(RECORD).replace('"sluice":1', '"sluice":2')
    with caplog.at_level(logging.WARNING):
        for offset, text in enumerate(["{}", "x", later, later, "[1]"]):
            assert reader.read(text, f"at {offset}") is None
        assert reader.read(encode(RECORD), "at 5") == RECORD
    said = [record.getMessage() for record in caplog.records]
    assert [line.split(": ")[1] for line in said] == ["at 0", "at 2"]
    assert all(line.startswith("event=decision-unreadable west aggregate") for line in said)
