"""Tests of the cut: the next tick from the tick before and the logs."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.upsert.tick import ROWS_MAX, TICK_MAX, Lane, LaneRange, Stop
from aggregator.upsert.tick_codec import decode, encode
from aggregator.upsert.tick_cut import (
    Cut,
    CutSettings,
    LaneLog,
    OutOfTicks,
    cut,
    fair_shares,
    tick_zero,
)
from replicator.config.settings import BLOCK_ROWS_MAX
from replicator.kafka.client.loss import Loss, LossKind

WEST, EAST = "west aggregate", "east aggregate"
BOTH = (WEST, EAST)
OLD_ID, NEW_ID = UUID(int=1), UUID(int=2)


def lane(partition=0, *, cluster=WEST, topic="orders", topic_id=OLD_ID):
    return Lane(cluster, topic, topic_id, partition)


def next_cut(before, logs, **options):
    """Returns the cut behind a tick; logs are given as the fields of LaneLog."""
    shown = {each: LaneLog(*log) if log else None for each, log in logs.items()}
    found = {"answering": BOTH, "clock_ms": 0, "settings": CutSettings()} | options
    return cut(before, shown, **found)


def next_tick(before, logs, **options):
    tick = next_cut(before, logs, **options).tick
    assert tick is not None
    return tick


def first(logs, **options):
    return next_tick(tick_zero(1), logs, **options)


A, B = lane(0), lane(1)


def test_a_tick_goes_on_where_the_one_before_ended():
    one = first({A: (0, 5), B: (2, 2)})
    two = next_tick(one, {A: (0, 9), B: (2, 3)})
    assert (one.number, two.number) == (1, 2)
    assert one.ranges == (LaneRange(0, 5), LaneRange(2, 2))
    assert two.ranges == (LaneRange(5, 9), LaneRange(2, 3))


def test_nothing_new_gives_no_tick():
    logs = {A: (0, 5)}
    assert next_cut(first(logs), logs) == Cut(None)
    assert next_cut(tick_zero(1), {}) == Cut(None)


def test_a_refresh_gives_a_tick_that_takes_nothing():
    one = first({A: (0, 5)})
    two = next_tick(one, {A: (0, 5)}, is_refresh_due=True, clock_ms=9)
    assert (two.number, two.offsets, two.time_ms) == (2, 0, 9)


def test_time_never_goes_back():
    one = first({A: (0, 5)}, clock_ms=1000)
    assert next_tick(one, {A: (0, 6)}, clock_ms=900).time_ms == 1000
    assert next_tick(one, {A: (0, 6)}, clock_ms=1001).time_ms == 1001


def test_new_partitions_join_behind_the_lanes_that_are_there():
    one = first({B: (0, 5)})
    two = next_tick(one, {A: (3, 7), B: (0, 5), lane(2): (0, 1)})
    assert two.lanes == (B, A, lane(2))
    assert two.ranges == (LaneRange(5, 5), LaneRange(3, 7), LaneRange(0, 1))


def test_a_partition_without_records_joins_so_that_its_losses_are_named():
    one = first({A: (0, 0)})
    assert one.ranges == (LaneRange(0, 0),)
    assert next_cut(one, {A: (0, 0)}) == Cut(None)
    two = next_tick(one, {A: (3, 5)})
    assert two.stops == (Stop(0, Loss(LossKind.RETENTION_PASSED, 0, 3)),)


def test_lanes_keep_their_numbers_for_ever():
    one = first({A: (0, 5), B: (0, 5)})
    two = next_tick(one, {B: (0, 6)})
    three = next_tick(two, {A: (0, 6), B: (0, 6), lane(5, cluster=EAST): (0, 1)})
    assert one.lanes == two.lanes == three.lanes[:2]


def test_a_partition_without_a_leader_joins_when_its_log_can_be_read():
    one = first({A: (0, 5), B: None})
    assert one.lanes == (A,)
    two = next_tick(one, {A: (0, 5), B: (0, 1)})
    assert two.lanes == (A, B)
    assert next_cut(two, {A: (0, 5), B: None}) == Cut(None), "no loss either"


def test_a_cluster_that_is_away_gives_empty_ranges_and_loses_nothing():
    here, there = lane(0), lane(0, cluster=EAST)
    one = first({here: (0, 5), there: (0, 5)})
    two = next_tick(one, {here: (0, 6)}, answering=(WEST,))
    assert two.ranges[one.lanes.index(there)] == LaneRange(5, 5)
    assert two.stops == ()
    three = next_tick(two, {here: (0, 6), there: (0, 8)})
    assert three.ranges[one.lanes.index(there)] == LaneRange(5, 8)


# -- losses

PASSED = Stop(0, Loss(LossKind.RETENTION_PASSED, 5, 8))
CUT = Stop(0, Loss(LossKind.SOURCE_TRUNCATED, 3, 5))
DELETED = Stop(0, Loss(LossKind.SOURCE_DELETED, 5, None, f"topic id {OLD_ID}"))
RECREATED = Stop(
    0, Loss(LossKind.SOURCE_RECREATED, 5, None, f"topic id {NEW_ID} in place of {OLD_ID}")
)
ANEW = lane(0, topic_id=NEW_ID)


@pytest.mark.parametrize(
    ("logs", "stop"),
    [
        ({A: (8, 9)}, PASSED),
        ({A: (0, 3)}, CUT),
        ({}, DELETED),
        ({ANEW: (0, 0)}, RECREATED),
        ({lane(1, topic_id=NEW_ID): (0, 0)}, RECREATED),
    ],
    ids=["retention", "truncated", "deleted", "recreated", "recreated with other partitions"],
)
def test_a_loss_stops_its_lane_by_name_and_range(logs, stop):
    two = next_tick(first({A: (0, 5)}), logs)
    assert two.stops == (stop,)
    assert two.ranges[0] == LaneRange(5, 5)
    assert next_cut(two, logs) == Cut(None, {0: stop.loss}), "no tick, and told as long as it lasts"
    assert next_tick(two, logs, is_refresh_due=True).stops == (stop,)


def test_a_stopped_lane_stops_no_other():
    one = first({A: (0, 5), B: (0, 5)})
    two = next_tick(one, {A: (8, 9), B: (0, 7)})
    assert two.ranges == (LaneRange(5, 5), LaneRange(5, 7))


def test_a_log_that_was_cut_and_has_grown_again_stays_stopped():
    two = next_tick(first({A: (0, 5)}), {A: (0, 3)})
    assert next_cut(two, {A: (0, 9)}) == Cut(None, {0: CUT.loss})
    assert next_tick(two, {A: (0, 9)}, is_refresh_due=True).stops == (CUT,)


def test_a_stop_outlives_a_restart():
    two = next_tick(first({A: (0, 5)}), {A: (0, 3)})
    assert decode(dict(enumerate(encode(two, "id")))) == two


def test_a_topic_that_was_created_anew_is_read_from_its_start_as_other_lanes():
    two = next_tick(first({A: (0, 5)}), {ANEW: (0, 2)})
    assert two.lanes == (A, ANEW)
    assert two.ranges == (LaneRange(5, 5), LaneRange(0, 2))
    assert two.stops == (RECREATED,)


def test_an_accepted_retention_loss_goes_on_at_the_start_of_the_log_as_it_was_seen():
    two = next_tick(first({A: (0, 5)}), {A: (8, 9)})
    three = next_tick(two, {A: (8, 9)}, accepted={0: PASSED.loss})
    assert (three.stops, three.ranges) == ((), (LaneRange(8, 9),))
    again = next_tick(two, {A: (9, 12)}, accepted={0: PASSED.loss})
    assert again.stops == (Stop(0, Loss(LossKind.RETENTION_PASSED, 8, 9)),)


def test_an_accepted_cut_goes_on_with_what_was_written_anew():
    two = next_tick(first({A: (0, 5)}), {A: (0, 3)})
    three = next_tick(two, {A: (0, 9)}, accepted={0: CUT.loss})
    assert (three.stops, three.ranges) == ((), (LaneRange(3, 3),)), "its claim has the end 3"
    assert next_tick(three, {A: (0, 9)}).ranges == (LaneRange(3, 9),)


@pytest.mark.parametrize(("logs", "stop"), [({}, DELETED), ({ANEW: (0, 0)}, RECREATED)])
def test_an_accepted_loss_of_a_topic_is_not_a_loss_any_more(logs, stop):
    two = next_tick(first({A: (0, 5)}), logs)
    three = next_tick(two, logs, accepted={0: stop.loss})
    assert three.stops == (stop._replace(is_accepted=True),)
    assert next_cut(three, logs) == Cut(None)


def test_another_loss_than_the_accepted_one_stays():
    two = next_tick(first({A: (0, 5)}), {A: (0, 3)})
    other = replace(CUT.loss, begin=2)
    assert next_cut(two, {A: (0, 3)}, accepted={0: other, 1: CUT.loss}).tick is None


def test_a_topic_that_a_cluster_did_not_show_for_a_while_goes_on():
    two = next_tick(first({A: (0, 5)}), {})
    assert next_tick(two, {A: (0, 7)}).ranges == (LaneRange(5, 7),)


# -- leader epochs

REGROWN = Stop(0, Loss(LossKind.SOURCE_TRUNCATED, 3, 5, "and written anew"))


def test_a_tick_has_the_leader_epochs_in_which_its_ends_were_told():
    one = first({A: (0, 5, 7), B: (0, 5)})
    assert one.epochs == (7, -1)
    two = next_tick(one, {A: None, B: (0, 9, 2), lane(2): (0, 0, 1)})
    assert two.epochs == (7, 2, 1), "what takes nothing keeps its epoch"
    assert next_tick(two, {A: (0, 5, 8, 5)}, is_refresh_due=True).epochs == (8, 2, 1)
    assert first({A: (0, 5)}).epochs == (), "no epoch is known"


def test_a_log_that_was_cut_and_has_grown_over_the_end_stops_its_lane():
    one = first({A: (0, 5, 7), B: (0, 5, 7)})
    logs = {A: (0, 9, 8, 3), B: (0, 9, 8, 5)}
    two = next_tick(one, logs)
    assert two.stops == (REGROWN,)
    assert two.ranges == (LaneRange(5, 5), LaneRange(5, 9))
    assert two.epochs == (7, 8), "the end of a lane that is stopped is that of its former log"
    accepted = {0: REGROWN.loss}
    three = next_tick(two, {A: (0, 9, 8, 3), B: None}, accepted=accepted)
    assert (three.ranges[0], three.epochs) == (LaneRange(3, 3), (8, 8))
    assert next_tick(three, {A: (0, 9, 8), B: None}).ranges[0] == LaneRange(3, 9)
    # It was cut once more, before the operator had accepted the first cut.
    again = next_tick(two, {A: (0, 9, 9, 2), B: None}, accepted=accepted)
    assert again.stops[0].loss == replace(REGROWN.loss, begin=2, end=3)


def test_what_was_given_up_within_a_tick_is_not_to_be_accepted_again():
    one = first({A: (0, 5, 7)})
    gap = Stop(0, replace(REGROWN.loss, begin=2), is_accepted=True)
    logs = {A: (0, 9, 8, 3)}
    two = next_tick(replace(one, gaps=(gap,)), logs)
    assert (two.stops, two.ranges) == ((), (LaneRange(3, 3),))
    for other in (
        gap._replace(is_accepted=False),
        gap._replace(lane=1),
        gap._replace(loss=replace(gap.loss, begin=4)),
        gap._replace(loss=replace(gap.loss, kind=LossKind.SOURCE_CORRUPT)),
    ):
        assert next_tick(replace(one, gaps=(other,)), logs).stops == (REGROWN,)


def test_behind_what_retention_deleted_the_epoch_of_before_says_nothing():
    two = next_tick(first({A: (0, 5, 7)}), {A: (8, 9, 8, 8)})
    assert two.stops == (PASSED,)
    assert next_tick(two, {A: (8, 9, 8)}, accepted={0: PASSED.loss}).ranges == (LaneRange(8, 9),)


def test_a_cluster_that_went_back_to_older_epochs_stops_its_lane_until_that_is_accepted():
    back = Loss(LossKind.SOURCE_WENT_BACK, 4, 5)
    one = first({A: (0, 5, 7)})
    two = next_tick(one, {A: (0, 9, 3, -1, back)})
    assert (two.stops, two.epochs) == ((Stop(0, back),), (7,))
    three = next_tick(two, {A: (0, 9, 3)}, accepted={0: back})
    assert (three.stops, three.ranges, three.epochs) == ((), (LaneRange(4, 4),), (3,))


class PlayedLog:
    """Log of a partition under leaders that follow each other, with records that are told apart."""

    def __init__(self):
        self.records, self.begun, self.written = [], [(0, 0)], 0

    @property
    def epoch(self):
        return self.begun[-1][0]

    def append(self, count):
        self.records += range(self.written, self.written + count)
        self.written += count

    def elect(self, kept):
        """Has another leader, whose log ends at `kept` at most."""
        epoch = self.epoch + 1
        del self.records[kept:]
        self.begun = [it for it in self.begun if it[1] < len(self.records)]
        self.begun.append((epoch, len(self.records)))

    def seen_from(self, tick):
        """Returns the log as ClusterLogs.behind shows it."""
        epoch = tick.epoch(0) if tick.lanes else -1
        ends = [begin for began, begin in self.begun if began > epoch >= 0]
        return LaneLog(0, len(self.records), self.epoch, min(ends, default=-1))


@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.none() | st.integers(0, 20), st.booleans()), max_size=12
    ),
    st.integers(1, 9),
)
def test_each_record_that_a_log_has_in_the_end_is_taken_once_whatever_leaders_have_cut(
    history, most
):
    """Each record that was taken of a log of before is in a loss that was accepted."""
    log, before, taken, given_up = PlayedLog(), tick_zero(1), [], set()
    settings = CutSettings(records_max=most)
    for count, kept, is_looked_at in [*history, *[(0, None, True)] * 60]:
        if kept is not None:
            log.elect(kept)
        log.append(count)
        if not is_looked_at:
            continue
        accepted = {each.lane: each.loss for each in before.stops}
        for loss in accepted.values():
            given_up |= set(range(loss.begin, loss.end))
        shown = {A: log.seen_from(before)}
        tick = cut(before, shown, BOTH, 0, settings, accepted=accepted).tick
        if tick is not None:
            before = tick
            taken += [(at, log.records[at]) for at in range(*tick.ranges[0])]
    whole = set(enumerate(log.records))
    assert sorted(each for each in taken if each in whole) == sorted(whole)
    assert {at for at, _ in set(taken) - whole} <= given_up


# -- how much a tick takes


def test_a_backlog_is_taken_in_several_ticks():
    settings = CutSettings(records_max=10)
    found = next_cut(tick_zero(1), {A: (0, 25)}, settings=settings)
    assert (found.tick.ranges, found.left) == ((LaneRange(0, 10),), 15)


def test_all_rows_of_a_tick_have_numbers():
    settings = CutSettings(records_max=1 << 40, rows_per_record=4096)
    tick = first({A: (0, 1 << 40), B: (0, 1 << 40)}, settings=settings)
    assert tick.row_numbers == ROWS_MAX
    assert tick.row_id(1, tick.ranges[1].end - 1, 4095) == (tick.number + 1 << 32) - 1
    assert tick.rows_per_record == 4096


def test_a_large_backlog_does_not_starve_small_ones():
    assert fair_shares([1000, 3, 5], 20) == [12, 3, 5]
    assert fair_shares([1000, 1000, 5], 20) == [8, 7, 5]
    assert fair_shares([1000, 1000, 5], 20, first=1) == [7, 8, 5]
    assert fair_shares([], 20) == []


backlogs = st.lists(st.integers(0, 50), max_size=8)


@given(backlogs, st.integers(0, 100), st.integers(0, 20))
def test_shares_are_as_equal_as_can_be(sizes, most, turn):
    shares = fair_shares(sizes, most, first=turn)
    assert sum(shares) == min(most, sum(sizes))
    assert all(0 <= share <= size for share, size in zip(shares, sizes, strict=True))
    largest = max(shares, default=0)
    for share, size in zip(shares, sizes, strict=True):
        assert share == size or share >= largest - 1


@given(st.lists(st.integers(0, 30), min_size=1, max_size=8), st.integers(1, 9))
def test_each_offset_is_taken_within_a_bounded_number_of_ticks(sizes, most):
    """With fewer offsets in a tick than lanes, too."""
    left = list(sizes)
    waited = [0] * len(sizes)
    for turn in range(60):
        for at, share in enumerate(fair_shares(left, most, first=turn)):
            waited[at] = 0 if share or not left[at] else waited[at] + 1
            left[at] -= share
        assert max(waited) < len(sizes)
        if not any(left):
            break
        left[::2] = [max(each, 20) for each in left[::2]]  # the others must come between these


@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 9), min_size=4, max_size=4), st.integers(1, 4)),
        max_size=8,
    ),
    st.integers(1, 12),
)
def test_each_offset_is_in_one_tick(history, most):
    """Logs grow and partitions are added; ticks take each offset once."""
    ends, before, taken = [0] * 4, tick_zero(1), set()
    rounds = [*history, *[([0] * 4, 4)] * 400]
    for at, (grown, partitions) in enumerate(rounds):
        ends = [end + more for end, more in zip(ends, grown, strict=True)]
        logs = {lane(each): (0, ends[each]) for each in range(partitions)}
        shown = len(before.lanes)
        logs |= {each: (0, ends[each.partition]) for each in before.lanes[:shown]}
        tick = next_cut(before, logs, settings=CutSettings(records_max=most)).tick
        if tick is None and at >= len(history):
            break
        if tick is None:
            continue
        assert tick.number == before.number + 1
        assert tick.offsets <= most
        assert tick.lanes[:shown] == before.lanes
        for each, (begin, end) in zip(tick.lanes, tick.ranges, strict=True):
            offsets = {(each.partition, offset) for offset in range(begin, end)}
            assert not taken & offsets
            taken |= offsets
        before = tick
    assert taken == {(each, offset) for each in range(4) for offset in range(ends[each])}


def test_the_last_number_is_not_passed():
    with pytest.raises(OutOfTicks, match=str(TICK_MAX)):
        next_cut(replace(tick_zero(1), number=TICK_MAX), {A: (0, 5)})


def test_settings_may_change_from_tick_to_tick():
    one = first({A: (0, 5)})
    changed = CutSettings(rows_per_record=3, block_rows=7)
    two = next_tick(one, {A: (0, 9)}, settings=changed)
    assert (two.rows_per_record, two.block_rows) == (3, 21)


@pytest.mark.parametrize(
    ("rows_per_record", "block_rows", "numbers"),
    [
        (1, 65_536, 65_536),
        (1, BLOCK_ROWS_MAX, BLOCK_ROWS_MAX),
        (4096, 65_536, BLOCK_ROWS_MAX),
        (4096, 10, 40_960),
        (3, BLOCK_ROWS_MAX, BLOCK_ROWS_MAX // 3 * 3),
    ],
)
def test_a_block_has_the_numbers_of_whole_records_and_an_insert_takes_all_of_their_rows(
    rows_per_record, block_rows, numbers
):
    settings = CutSettings(rows_per_record=rows_per_record, block_rows=block_rows)
    assert settings.block_numbers == numbers <= BLOCK_ROWS_MAX
    assert numbers % rows_per_record == 0


def test_records_of_many_rows_do_not_become_thousands_of_inserts():
    tick = first({A: (0, 10_000)}, settings=CutSettings(rows_per_record=4096))
    assert tick.blocks == 40
