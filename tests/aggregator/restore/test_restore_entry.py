"""Restore entry: a job goes on exactly behind what is committed, and no other job goes on there."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.restore.restore_entry import (
    by_number,
    claim,
    decode,
    encode,
    resumed,
)
from aggregator.restore.restore_plan import CannotRestore, PartitionPlan
from balancer.topic_partition import TopicPartition
from replicator.mirror.ledger.entry import METADATA_BYTES_MAX

PLAN = PartitionPlan(3, 100, 500, ())
CLAIM = claim("job", "west aggregate t of feed lake", PLAN, 7, "sluice.restore.ff")
NUMBERS = st.integers(0, 2**62)


@given(st.text(), NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_an_entry_is_read_as_it_was_committed_and_fits(text, begin, end, position, records):
    entry = replace(
        claim("0123456789abcdef", text, PartitionPlan(0, begin, end, ()), 2**62, "id"),
        position=position,
        records=records,
    )
    offset, metadata = encode(entry)
    assert decode(offset, metadata) == entry
    assert offset == position
    assert len(metadata) <= METADATA_BYTES_MAX


def test_an_entry_of_any_text_fits_into_the_metadata_of_a_broker():
    for text in ("🛶" * 1000, '"' * 1000, "\0" * 1000):
        entry = claim("0" * 16, text, PartitionPlan(0, 0, 2**62, ()), 2**62, "i" * 60)
        assert len(encode(entry)[1].encode()) <= METADATA_BYTES_MAX


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 5))))
def test_a_job_goes_on_behind_its_last_transaction_wherever_it_was_killed(steps):
    """The target holds what was committed, and behind it what was not: that is aborted."""
    entry, sent = CLAIM, 0
    for skipped, records in steps:
        position = min(entry.end, entry.position + skipped + records)
        entry, sent = entry.passed(position, records), sent + records
        kept = decode(*encode(entry))
        found = resumed("job", PLAN, {3: kept}, target_end=7 + sent + 2)
        assert (found.position, found.records) == (position, sent)
        assert found.is_done == (position == 500)


@pytest.mark.parametrize(
    ("entries", "end", "text"),
    [
        ({}, 7, "its entry is gone"),
        ({4: replace(CLAIM, job="other")}, 7, r"another restore \(west aggregate t of feed lake\)"),
        ({3: replace(CLAIM, end=501)}, 7, "another run has just begun"),
        ({3: replace(CLAIM, records=20)}, 26, "ends at 26, and had records up to 27"),
        ({3: decode(5, "{}")}, 7, "another restore .an entry that this version cannot read"),
        ({3: decode(5, '{"v":2}')}, 7, "version 2"),
    ],
)
def test_a_topic_with_another_content_is_refused(entries, end, text):
    with pytest.raises(CannotRestore, match=text):
        resumed("job", PLAN, entries, end)


def test_entries_are_found_by_the_number_of_their_partition():
    assert by_number({TopicPartition("t", 3): CLAIM}) == {3: CLAIM}
