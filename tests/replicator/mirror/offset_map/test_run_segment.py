"""Run buffer: it holds exactly the runs that landed, in the fewest runs."""

import pytest

from replicator.mirror.offset_map.run_segment import LandedOutOfOrder, Run, RunBuffer, RunSegment


def test_adjacent_batches_are_one_run():
    gathering = RunBuffer(0)
    gathering.land(10, 110, 5)
    gathering.land(15, 115, 5)
    assert gathering.take() == [RunSegment(0, 20, (Run(10, 110, 10),))]


def test_a_gap_on_either_side_begins_a_run():
    gathering = RunBuffer(10)
    gathering.land(10, 110, 5)
    gathering.land(16, 115, 1)
    gathering.land(17, 200, 1)
    (told,) = gathering.take()
    assert told.runs == (Run(10, 110, 5), Run(16, 115, 1), Run(17, 200, 1))


def test_segments_taken_one_after_another_touch():
    gathering = RunBuffer(7)
    gathering.land(10, 110, 5)
    (first,) = gathering.take()
    gathering.land(20, 120, 5)
    (second,) = gathering.take()
    assert (first.source_begin, first.source_end) == (7, 15)
    assert (second.source_begin, second.source_end) == (15, 25)


def test_nothing_landed_is_nothing_told():
    gathering = RunBuffer(7)
    assert gathering.take() == []
    gathering.land(7, 7, 1)
    gathering.take()
    assert gathering.take() == []


def test_offsets_passed_over_are_told_without_a_run():
    gathering = RunBuffer(7)
    gathering.pass_over(9)
    assert gathering.take() == [RunSegment(7, 9, ())]
    gathering.land(9, 9, 1)
    gathering.pass_over(12)
    gathering.land(12, 10, 1)
    assert gathering.take() == [RunSegment(9, 13, (Run(9, 9, 1), Run(12, 10, 1)))]


def test_a_parcel_of_several_spans_lands_as_one_piece_of_target_offsets():
    gathering = RunBuffer(0)
    gathering.land_all(100, ((5, 2), (9, 1), (10, 3)))
    (told,) = gathering.take()
    assert told.runs == (Run(5, 100, 2), Run(9, 102, 4))


def test_a_long_segment_is_told_in_parts_that_touch(monkeypatch):
    monkeypatch.setattr("replicator.mirror.offset_map.run_segment.RUNS_PER_SEGMENT_MAX", 2)
    gathering = RunBuffer(0)
    for source in range(1, 10, 2):
        gathering.land(source, source, 1)
    told = gathering.take()
    assert [(part.source_begin, part.source_end) for part in told] == [(0, 5), (5, 9), (9, 10)]
    assert [len(part.runs) for part in told] == [2, 2, 1]


@pytest.mark.parametrize(("source", "target"), [(14, 200), (20, 114)])
def test_a_record_that_landed_behind_a_later_one_is_named(source, target):
    gathering = RunBuffer(0)
    gathering.land(10, 110, 5)
    with pytest.raises(LandedOutOfOrder, match="behind source offset 14"):
        gathering.land(source, target, 1)
