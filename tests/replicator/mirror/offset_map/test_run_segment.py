"""Run buffer: it holds exactly the runs that landed, in the fewest runs."""

import pytest

from replicator.mirror.offset_map.run_segment import LandedOutOfOrder, Run, RunBuffer, RunSegment


def test_adjacent_batches_are_one_run():
    buffer = RunBuffer(0)
    buffer.land(10, 110, 5)
    buffer.land(15, 115, 5)
    assert buffer.take() == [RunSegment(0, 20, (Run(10, 110, 10),))]


def test_a_gap_on_either_side_begins_a_run():
    buffer = RunBuffer(10)
    buffer.land(10, 110, 5)
    buffer.land(16, 115, 1)
    buffer.land(17, 200, 1)
    (segment,) = buffer.take()
    assert segment.runs == (Run(10, 110, 5), Run(16, 115, 1), Run(17, 200, 1))


def test_consecutive_segments_touch():
    buffer = RunBuffer(7)
    buffer.land(10, 110, 5)
    (first,) = buffer.take()
    buffer.land(20, 120, 5)
    (second,) = buffer.take()
    assert (first.source_begin, first.source_end) == (7, 15)
    assert (second.source_begin, second.source_end) == (15, 25)


def test_without_landed_records_there_is_no_segment():
    buffer = RunBuffer(7)
    assert buffer.take() == []
    buffer.land(7, 7, 1)
    buffer.take()
    assert buffer.take() == []


def test_offsets_passed_over_are_covered_without_a_run():
    buffer = RunBuffer(7)
    buffer.pass_over(9)
    assert buffer.take() == [RunSegment(7, 9, ())]
    buffer.land(9, 9, 1)
    buffer.pass_over(12)
    buffer.land(12, 10, 1)
    assert buffer.take() == [RunSegment(9, 13, (Run(9, 9, 1), Run(12, 10, 1)))]


def test_a_merged_batch_lands_its_spans_at_consecutive_target_offsets():
    buffer = RunBuffer(0)
    buffer.land_all(100, ((5, 2), (9, 1), (10, 3)))
    (segment,) = buffer.take()
    assert segment.runs == (Run(5, 100, 2), Run(9, 102, 4))


def test_a_long_segment_is_split_into_parts_that_touch():
    buffer = RunBuffer(0)
    for source in range(1, 10, 2):
        buffer.land(source, source, 1)
    segments = buffer.take(runs_max=2)
    assert [(part.source_begin, part.source_end) for part in segments] == [(0, 5), (5, 9), (9, 10)]
    assert [len(part.runs) for part in segments] == [2, 2, 1]


@pytest.mark.parametrize(("source", "target"), [(14, 200), (20, 114)])
def test_a_record_that_landed_after_a_later_one_is_refused(source, target):
    buffer = RunBuffer(0)
    buffer.land(10, 110, 5)
    with pytest.raises(LandedOutOfOrder, match="behind source offset 14"):
        buffer.land(source, target, 1)
