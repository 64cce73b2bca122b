"""Restored runs: a group of the source goes on at the first record that it has not read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aggregator.restore.restore_entry import claim
from aggregator.restore.restore_plan import PartitionPlan
from aggregator.restore.restored_runs import position_of, runs_record
from balancer.topic_partition import TopicPartition
from replicator.mirror.offset_map.offset_map import OffsetMap
from replicator.mirror.offset_map.run_segment import RunBuffer
from replicator.mirror.offset_map.runs_topic import decode

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
            key, piece = decode(record.key, record.value)
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
