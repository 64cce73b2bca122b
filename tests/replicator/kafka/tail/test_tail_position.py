"""Portions of a tailed log, and partitions that bring nothing."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from replicator.kafka.tail.stall import PAUSE_SECONDS, STALL_SECONDS, StallWatch
from replicator.kafka.tail.tail_position import (
    Portion,
    Reading,
    TailPosition,
    Version,
    VersionedRecord,
    beginnings,
)

# -- Portions of a tailed log, however many records each of them holds.

BEGIN = TailPosition("topic", 0)
ERAS = st.integers(0, 5)
POSITIONS = st.builds(TailPosition, st.sampled_from(["topic", "former"]), ERAS, st.integers(0, 99))


@st.composite
def logs(draw) -> list[tuple[int, str | None]]:
    """Draws records by their offsets, with holes; None carries nothing relevant."""
    records, offset = [], 0
    for _ in range(draw(st.integers(0, 20))):
        offset += draw(st.integers(1, 3))
        records.append((offset, draw(st.none() | st.sampled_from("abc"))))
    return records


def portions_of(log, cuts) -> list[Portion]:
    """Returns the portions of a log read from its beginning, with a take() after each of `cuts`."""
    reading, taken = Reading(BEGIN), []
    for number, (offset, record) in enumerate(log):
        reading.read(offset, 7, record)
        if number in cuts:
            taken.append(reading.take())
    return [portion for portion in (*taken, reading.take()) if portion]


@given(logs(), st.sets(st.integers(0, 20)))
def test_portions_follow_each_other_and_together_hold_all_that_was_read(log, cuts):
    portions = portions_of(log, cuts)
    assert all(one.end == next_one.begin for one, next_one in pairwise(portions))
    told = [each for portion in portions for each in portion.told]
    assert told == [VersionedRecord(Version(0, offset), record) for offset, record in log if record]
    if log:
        assert portions[0].begin == BEGIN
        assert portions[-1].end == TailPosition("topic", 0, log[-1][0] + 1, 7)


def test_there_is_no_portion_without_anything_new():
    assert Reading(BEGIN).take() is None


def test_the_begin_of_reading_is_no_news():
    assert not Portion(BEGIN, BEGIN).is_news
    assert Portion(BEGIN, BEGIN, caught_up_ms=1).is_news
    assert Portion(BEGIN, TailPosition("topic", 0, 1)).is_news


# Catching up


def test_the_end_that_was_asked_for_has_to_be_reached_and_the_time_is_that_of_the_question():
    reading = Reading(BEGIN)
    reading.expect(3, at_ms=1000)
    reading.read(1, 0, "a")
    assert reading.take().caught_up_ms is None
    reading.read(2, 0, "a")
    assert reading.take().caught_up_ms == 1000
    reading.reach(3)
    assert reading.take() is None


def test_markers_at_the_end_hold_nothing_up():
    reading = Reading(BEGIN)
    reading.read(1, 0, "a")
    reading.expect(3, at_ms=1000)
    assert reading.take().caught_up_ms is None
    reading.reach(3)
    assert reading.take() == Portion(
        TailPosition("topic", 0, 2, 0), TailPosition("topic", 0, 2, 0), caught_up_ms=1000
    )


def test_a_log_that_has_not_been_heard_of_was_not_read_to_its_end():
    reading = Reading(TailPosition("topic", 0, 5))
    reading.expect(5, at_ms=1000)
    assert reading.take() is None
    reading.reach(5)
    assert reading.take().caught_up_ms == 1000


def test_behind_an_open_transaction_nothing_is_caught_up_with():
    reading = Reading(BEGIN)
    reading.read(1, 0, "a")
    for at_ms in (1000, 2000, 3000):
        reading.reach(2)  # up to the last stable offset
        reading.expect(9, at_ms)
        portion = reading.take()
        assert portion is None or portion.caught_up_ms is None
    reading.reach(9)
    assert reading.take().caught_up_ms == 1000


def test_a_log_that_is_never_idle_is_caught_up_with_all_the_same():
    reading = Reading(BEGIN)
    heard = []
    for offset in range(100):
        # Each end is known ten records before it is reached.
        reading.expect(offset + 10, at_ms=offset)
        reading.read(offset, 0, "a")
        heard.append(reading.take().caught_up_ms)
    assert [at_ms for at_ms in heard if at_ms is not None] == list(range(0, 100, 10))


# Eras


@given(st.dictionaries(st.integers(0, 5), POSITIONS), st.integers(0, 8))
def test_reading_goes_on_where_the_topic_is_the_same_and_begins_with_a_new_era_elsewhere(
    positions, partitions
):
    begun = beginnings(positions, "topic", range(partitions))
    assert set(begun) == set(range(partitions))
    for number, position in begun.items():
        if number in positions and positions[number].topic_id == "topic":
            assert position == positions[number]
        else:
            assert position == TailPosition("topic", position.era)
            assert all(position.era > former.era for former in positions.values())


@given(POSITIONS, st.integers(0, 120), st.booleans())
def test_an_era_ends_when_the_log_shows_something_before_what_was_read(position, offset, is_end):
    reading = Reading(position)
    if is_end:
        reading.reach(offset)
    else:
        reading.read(offset, 0, "a")
    assert reading.is_cut == (offset < position.offset)
    if reading.is_cut:
        anew = TailPosition(position.topic_id, position.era + 1)
        assert reading.take() == Portion(anew, anew)


def test_after_a_cut_nothing_more_is_told_of_the_old_era():
    reading = Reading(TailPosition("topic", 3, 50))
    reading.read(50, 0, "a")
    reading.read(7, 0, "b")
    reading.read(51, 0, "c")
    reading.expect(0, at_ms=1)
    anew = TailPosition("topic", 4)
    assert reading.take() == Portion(anew, anew)


def test_a_log_whose_beginning_was_deleted_goes_on_in_its_era():
    reading = Reading(TailPosition("topic", 3, 50))
    reading.read(80, 0, "a")
    assert not reading.is_cut


# -- Partitions that bring nothing: each is reported once, and so is the end of its stall.

BEGAN = 1000.0
LATE = BEGAN + STALL_SECONDS


def checked(partitions, until=LATE, since=BEGAN, stalls=None):
    """Calls newly_stalled twice a second, without any news; returns all that it returned."""
    stalls = stalls or StallWatch()
    reported = []
    now = since
    while now < until:
        reported += stalls.newly_stalled(partitions, now)
        now += 0.5
    return stalls, reported


def test_a_partition_that_brings_nothing_is_reported_once():
    stalls, reported = checked([0, 1])
    assert reported == []
    assert stalls.recovered([1]) == []
    assert stalls.newly_stalled([0, 1], LATE) == [0]
    _, reported = checked([0, 1], LATE + 60, LATE + 0.5, stalls)
    assert reported == [1]


def test_a_partition_that_recovers_is_returned_and_may_stall_again():
    stalls, _ = checked([0])
    assert stalls.newly_stalled([0], LATE) == [0]
    assert (stalls.recovered([0]), stalls.recovered([0])) == ([0], [])
    _, reported = checked([0], LATE + 1 + STALL_SECONDS, LATE + 1, stalls)
    assert reported == []
    assert stalls.newly_stalled([0], LATE + 1 + STALL_SECONDS) == [0]


def test_a_time_without_checks_does_not_count_and_ends_no_stall():
    stalls, _ = checked([0, 1])
    stalls.recovered([1])
    assert stalls.newly_stalled([0, 1], LATE) == [0]
    later = LATE + 100 * PAUSE_SECONDS
    assert stalls.newly_stalled([0, 1], later) == []
    assert stalls.recovered([0, 1]) == [0]
