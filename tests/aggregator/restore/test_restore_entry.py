"""Restore entries, and the runs that their records have."""

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
from aggregator.restore.restored_runs import position_of, runs_record
from balancer.topic_partition import TopicPartition
from replicator.mirror.ledger.entry import METADATA_BYTES_MAX
from replicator.mirror.offset_map.offset_map import OffsetMap
from replicator.mirror.offset_map.run_segment import RunBuffer
from replicator.mirror.offset_map.runs_topic import decode as decode_runs

# -- Restore entry: a job goes on exactly behind what is committed, and no other job goes on
# there.

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


# -- Restored runs: a group of the source goes on at the first record that it has not read.

FIRST_END = 5
"""Log end of the target before the restore: it once had records."""


@st.composite
def restores(draw):
    """Draws the restored source offsets by transaction, the position behind each, and markers."""
    begin = draw(st.integers(0, 10))
    at, transactions = begin, []
    for _ in range(draw(st.integers(0, 5))):
        steps = draw(st.lists(st.integers(1, 4), max_size=6))
        offsets = []
        for step in steps:
            at += step
            offsets.append(at - 1)
        at += draw(st.integers(0 if steps else 1, 3))
        transactions.append((offsets, at, draw(st.integers(1, 9))))
    return begin, at + draw(st.integers(0, 3)), transactions


@given(restores(), st.integers(0, 100))
def test_a_group_goes_on_at_its_first_unread_record_or_behind_the_last(restore, committed):
    begin, end, transactions = restore
    plan = PartitionPlan(3, begin, end, ())
    entry = claim("job", "text", plan, FIRST_END, "id")
    runs, target, landed = OffsetMap(), FIRST_END, {}
    for offsets, position, markers in transactions:
        buffer = RunBuffer(0 if entry.position == begin else entry.position)
        for offset in offsets:
            buffer.land(offset, target, 1)
            landed[offset] = target
            target += 1
        buffer.pass_over(position)
        for segment in buffer.take():
            record = runs_record("job", "ff", TopicPartition("t", 3), segment)
            key, piece = decode_runs(record.key, record.value)
            assert (key.topic, key.partition, key.target_topic_id) == ("t", 3, "ff")
            runs.join([piece])
        entry = entry.passed(position, len(offsets))
        target += markers
    found = position_of(3, committed, entry, runs)
    assert (found.partition, found.source_offset) == (3, committed)
    if committed > entry.position and not entry.is_done:
        assert found.target_offset is None
        return
    unread = {at for offset, at in landed.items() if offset >= committed}
    assert {at for at in landed.values() if at >= found.target_offset} == unread
