"""Offset map against its log: exact where runs are known, never past the truth elsewhere."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.mirror.offset_map.offset_map import OffsetMap
from replicator.mirror.offset_map.packed_map import Edge, pack, unpack
from replicator.mirror.offset_map.run_columns import RunsContradict
from replicator.mirror.offset_map.run_segment import Run, RunSegment
from replicator.mirror.offset_map.spans import Span, Spans
from tests.replicator.mirror.offset_map.lives import CUT_LIVES, LIVES, check_life, part_of
from tests.replicator.mirror.offset_map.told_logs import (
    ASKED,
    TOLD,
    alone,
    before,
    check_floors,
    is_complete,
    learn,
    learned,
    runs_of,
    target_of,
)


@given(TOLD)
def test_a_published_record_is_found_on_both_sides_and_no_other_is(published):
    log, segments = published
    offset_map = learned(segments)
    for asked in ASKED:
        assert target_of(offset_map, asked) == dict(log).get(asked)
        assert offset_map.source_of(asked) == {target: source for source, target in log}.get(asked)


@given(TOLD)
def test_adjacent_runs_are_one(published):
    runs = runs_of(learned(published[1]))
    for left, right in pairwise(runs):
        assert (left.source_end, left.target_end) != (right.source_offset, right.target_offset)


@given(TOLD, st.randoms())
def test_order_and_repetition_never_matter(published, random):
    segments = published[1]
    shuffled = random.sample(segments * 2, len(segments) * 2)
    assert learned(shuffled) == learned(segments)


@given(TOLD, st.randoms())
def test_segments_joined_in_packed_form_make_the_same_map(published, random):
    segments = published[1]
    pieces = [unpack(pack(learned([segment]).piece())) for segment in segments]
    random.shuffle(pieces)
    joined = OffsetMap()
    half = len(pieces) // 2
    joined.join(pieces[:half])
    joined.join(pieces[half:])
    assert joined == learned(segments)


@given(TOLD, st.integers(1, 3))
def test_a_map_in_pieces_joins_to_itself(published, runs_max):
    offset_map = learned(published[1])
    joined = OffsetMap()
    joined.join(unpack(pack(piece)) for piece in offset_map.pieces(runs_max))
    assert joined == offset_map


@given(TOLD)
def test_runs_without_the_spans_between_them_map_the_same_records(published):
    whole = learned(published[1])
    offset_map = learned(alone(run) for segment in reversed(published[1]) for run in segment.runs)
    assert runs_of(offset_map) == runs_of(whole)
    check_floors(offset_map, published[0])


@given(TOLD)
def test_a_map_of_all_runs_is_complete_and_its_answers_are_exact(published):
    log, segments = published
    offset_map = learned(segments)
    assert is_complete(offset_map)
    check_floors(offset_map, log)
    for source, target in log:
        assert offset_map.target_floor(source) == (target, "exact")
        assert before(offset_map.source_floor(target)) <= source
        assert offset_map.source_floor(target + 1) == (source + 1, "exact")


@given(TOLD, st.data())
def test_a_missing_segment_never_skips_a_record_and_never_moves_an_answer_forward(published, data):
    log, segments = published
    kept = [segment for segment in segments if data.draw(st.booleans())]
    whole, part = learned(segments), learned(kept)
    check_floors(part, log)
    for asked in ASKED:
        assert before(part.source_floor(asked)) <= before(whole.source_floor(asked))
        assert before(part.target_floor(asked)) <= before(whole.target_floor(asked))


@given(TOLD, st.data())
def test_a_missing_segment_before_the_last_shows(published, data):
    _, segments = published
    kept = [segment for segment in segments[:-1] if data.draw(st.booleans())] + segments[-1:]
    lost = [Span(it.source_begin, it.source_end) for it in segments if it not in kept]
    assert learned(kept).missing == Spans(*lost)
    assert is_complete(learned(kept)) == (not lost)


@given(TOLD, st.integers(0, 60))
def test_trimming_drops_runs_below_the_log_start_and_no_others(published, log_start):
    log, segments = published
    offset_map = learned(segments)
    offset_map.trim(log_start)
    left = [(source, target) for source, target in log if target >= log_start]
    assert [
        (run.source_offset + at, run.target_offset + at)
        for run in runs_of(offset_map)
        for at in range(run.records)
    ] == left
    assert offset_map.source_end == learned(segments).source_end
    assert is_complete(offset_map)
    whole = learned(segments)
    for asked in range(log_start, 90):
        assert offset_map.source_floor(asked) == whole.source_floor(asked)
    for source, target in left:
        assert offset_map.target_floor(source) == (target, "exact")


@given(TOLD, st.integers(0, 60), st.data())
def test_trimmed_runs_stay_dropped_when_they_arrive_late(published, log_start, data):
    segments = published[1]
    offset_map = learned(segments)
    offset_map.trim(log_start)
    again = learned(segments)
    again.trim(log_start)
    for segment in data.draw(st.permutations(segments)):
        learn(again, segment)
    assert again == offset_map
    joined = learned(segments)
    joined.join([offset_map.piece()])
    assert joined == offset_map


@given(TOLD, st.integers(0, 60), st.data())
def test_a_late_run_below_the_log_start_is_gone_after_the_next_trim(published, log_start, data):
    segments = published[1]
    early = [segment for segment in segments if data.draw(st.booleans())]
    offset_map = learned(early)
    offset_map.trim(log_start)
    learn(offset_map, *segments)
    offset_map.trim(log_start)
    whole = learned(segments)
    whole.trim(log_start)
    assert offset_map == whole


@given(TOLD, st.integers(0, 6))
def test_a_thinned_map_keeps_its_cap_names_the_dropped_offsets_and_never_skips(published, runs_max):
    log, segments = published
    whole, thin = learned(segments), learned(segments)
    dropped = thin.thin(runs_max)
    assert len(thin) <= runs_max or not dropped
    assert len(thin) == len(whole) - dropped
    gone = set(runs_of(whole)) - set(runs_of(thin))
    dropped_spans = Spans(*(Span(run.source_offset, run.source_end) for run in gone))
    assert [*zip(*thin.piece().thinned, strict=True)] == [*dropped_spans]
    assert not len(thin.missing)
    assert is_complete(thin) == (not dropped)
    check_floors(thin, log)
    for run in runs_of(thin):
        assert thin.target_floor(run.source_offset) == (run.target_offset, "exact")


@given(TOLD, st.integers(0, 6))
def test_a_thinned_map_that_gets_all_runs_again_is_whole(published, runs_max):
    segments = published[1]
    offset_map = learned(segments)
    offset_map.thin(runs_max)
    learn(offset_map, *segments)
    assert offset_map == learned(segments)


@given(TOLD, st.integers(0, 6), st.integers(0, 60))
def test_a_thinned_and_trimmed_map_survives_being_packed(published, runs_max, log_start):
    offset_map = learned(published[1])
    offset_map.thin(runs_max)
    offset_map.trim(log_start)
    joined = OffsetMap()
    joined.join([unpack(pack(offset_map.piece()))])
    assert joined == offset_map


@given(TOLD, st.data())
def test_a_record_at_two_target_offsets_is_refused_with_both_runs(published, data):
    log, segments = published
    if not log:
        return
    source, target = data.draw(st.sampled_from(log))
    wrong = Run(source, target + data.draw(st.integers(1, 9)), 1)
    for offset_map in (learned(segments), learned(segments[:1])):
        known = runs_of(offset_map)
        if target_of(offset_map, source) is None:
            continue
        named = rf"source offsets {source}\.\.{source} landed at {wrong.target_offset}\.\."
        with pytest.raises(RunsContradict, match=named):
            learn(offset_map, alone(wrong))
        assert runs_of(offset_map) == known


@given(TOLD, st.data())
def test_a_target_offset_of_two_records_is_refused(published, data):
    log, segments = published
    if not log:
        return
    source, target = data.draw(st.sampled_from(log))
    with pytest.raises(RunsContradict):
        learn(learned(segments), alone(Run(source + data.draw(st.integers(1, 9)), target, 1)))


def test_a_contradiction_names_both_runs():
    offset_map = learned([alone(Run(0, 0, 10))])
    with pytest.raises(RunsContradict, match=r"0\.\.9 landed at 0\.\.9, but .* 5\.\.6 .* 7\.\.8"):
        learn(offset_map, alone(Run(5, 7, 2)))


@given(TOLD, TOLD, st.integers(0, 30), st.integers(0, 30))
def test_after_an_accepted_loss_the_newer_runs_hold_and_older_ones_only_below_them(
    published, newly_published, source_shift, target_shift
):
    older = learned(published[1])
    newer_log = [
        (source + source_shift, target + target_shift) for source, target in newly_published[0]
    ]
    older.join_newer(learned(alone(Run(source, target, 1)) for source, target in newer_log))
    source_begin, target_begin = newer_log[0] if newer_log else (80, 80)
    kept = [it for it in published[0] if it[0] < source_begin and it[1] < target_begin]
    held = dict(kept + newer_log)
    assert {asked: target_of(older, asked) for asked in ASKED if asked in held} == held
    assert [asked for asked in ASKED if target_of(older, asked) is None] == [
        asked for asked in ASKED if asked not in held
    ]


@given(LIVES, st.data())
def test_after_losses_at_the_source_no_floor_is_too_high_and_exact_answers_are_right(life, data):
    kept = [part_of(segments, data) for segments in life.published]
    log_starts = [data.draw(st.integers(0, life.end[1] + 2))] * len(kept)
    if data.draw(st.booleans()):
        # The runs topic has restored some of the trimmed runs.
        log_starts = [log_start if data.draw(st.booleans()) else 0 for log_start in log_starts]
    check_life(life.whole(kept, log_starts), life, log_starts, is_exact=True)


@given(CUT_LIVES, st.data())
def test_after_losses_at_either_end_no_floor_is_too_high(life, data):
    kept = []
    for segments in life.published:
        # A cut of the target shows as soon as anything has landed since.
        landed = [segment for segment in segments if segment.runs][-1:]
        part = part_of(segments, data)
        kept.append([it for it in segments if it in part or it in landed])
    check_life(life.whole(kept, [0] * len(kept)), life, [0], is_exact=False)


@given(LIVES)
def test_a_map_of_all_runs_answers_exactly_also_after_losses(life):
    whole = life.whole(life.published, [0] * len(life.published))
    for source, target in life.log:
        assert whole.target_floor(source) == (target, "exact")
        assert whole.source_floor(target + 1) == (source + 1, "exact")


def after_a_cut(log_start: int = 0, *newer: RunSegment) -> OffsetMap:
    """Returns the map of source offsets 0..4999, cut to 4000, with the newer segments behind."""
    older, map_since = learned([RunSegment(0, 5000, (Run(0, 0, 5000),))]), learned(newer)
    older.trim(log_start)
    map_since.trim(log_start)
    older.join_newer(map_since)
    return older


def test_an_older_edge_past_a_loss_is_moved_back_to_it():
    whole = after_a_cut(4500, RunSegment(4000, 4400, (Run(4000, 5001, 400),)))
    assert whole.target_floor(4100) == (5101, "exact")
    assert whole.source_floor(4500) == (4000, "exact")
    assert whole.source_floor(4499) is None
    assert whole.trimmed == Edge(4000, 4500)
    assert is_complete(whole)


def test_a_hole_in_the_newer_runs_is_missing_although_older_runs_covered_it():
    newer = (
        RunSegment(4000, 4200, (Run(4000, 5001, 200),)),
        RunSegment(4300, 4400, (Run(4300, 5301, 100),)),
    )
    whole = after_a_cut(0, *newer)
    assert whole.missing == Spans(Span(4200, 4300))
    assert whole.target_floor(4250) == (5201, "floor")


def test_a_loss_holds_before_anything_has_landed_behind_it():
    whole = after_a_cut(0, RunSegment(4000, 4100, ()))
    assert whole.source_floor(4700) == (4000, "floor")
    assert whole.target_floor(4700) == (4000, "floor")
    assert whole.source_end == 4100


def test_once_retention_has_passed_the_loss_only_the_newer_runs_count():
    newer = learned([RunSegment(4000, 4400, (Run(4000, 5001, 400),))])
    newer.trim(5101)
    older = learned([RunSegment(0, 5000, (Run(0, 0, 5000),))])
    older.join_newer(newer)
    assert older == newer


def test_an_edge_of_the_target_before_it_was_cut_trims_nothing_that_landed_since():
    older = learned([RunSegment(0, 5000, (Run(0, 0, 5000),))])
    older.trim(4500)
    older.join_newer(learned([RunSegment(5000, 9000, (Run(5000, 0, 4000),))]))
    assert older.target_floor(5010) == (10, "exact")
    assert older.target_floor(4100) == (0, "exact")
    assert older.source_floor(50) == (5050, "exact")


def test_runs_missing_before_the_first_newer_one_put_all_older_ones_in_doubt():
    newer = (RunSegment(5000, 5001, ()), RunSegment(5100, 5200, (Run(5100, 4100, 100),)))
    whole = after_a_cut(0, *newer)
    assert whole.target_floor(4050) is None
    assert whole.missing == Spans(Span(0, 5000), Span(5001, 5100))


def test_a_group_between_two_runs_has_consumed_the_first_and_nothing_of_the_second():
    offset_map = learned([RunSegment(0, 20, (Run(0, 100, 10), Run(10, 150, 10)))])
    assert offset_map.source_floor(120) == (10, "exact")
    assert offset_map.source_floor(100) == (0, "exact")
    assert offset_map.source_floor(155) == (15, "exact")


def test_past_the_last_run_the_answer_is_a_floor():
    offset_map = learned([RunSegment(0, 10, (Run(0, 100, 10),))])
    assert offset_map.source_floor(110) == (10, "exact")
    assert offset_map.source_floor(111) == (10, "floor")
    assert offset_map.target_floor(10) == (110, "floor")


def test_an_empty_map_knows_nothing():
    offset_map = OffsetMap()
    assert offset_map.target_floor(0) is None
    assert offset_map.source_floor(0) is None
    assert is_complete(offset_map)
    assert (len(offset_map), offset_map.source_end, offset_map.target_end) == (0, 0, 0)


def test_a_group_below_the_trimmed_part_gets_no_answer():
    offset_map = learned([RunSegment(0, 20, (Run(0, 100, 10), Run(10, 150, 10)))])
    offset_map.trim(120)
    assert offset_map.trimmed == Edge(10, 110)
    assert offset_map.source_floor(109) is None
    assert offset_map.source_floor(110) == (10, "exact")
    assert offset_map.target_floor(3) == (150, "exact")
