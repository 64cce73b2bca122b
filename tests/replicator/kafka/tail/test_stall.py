"""Partitions that bring nothing: each is reported once, and so is its end."""

from replicator.kafka.tail.stall import PAUSE_SECONDS, STILL_SECONDS, StallWatch

BEGAN = 1000.0
LATE = BEGAN + STILL_SECONDS


def looked_at(partitions, until=LATE, since=BEGAN, standstill=None):
    """Calls to_tell twice a second between two times, without any news; returns all it reported."""
    standstill = standstill or StallWatch()
    told = []
    now = since
    while now < until:
        told += standstill.to_tell(partitions, now)
        now += 0.5
    return standstill, told


def test_a_partition_that_brings_nothing_is_told_once():
    standstill, told = looked_at([0, 1])
    assert told == []
    assert standstill.hear([1]) == []
    assert standstill.to_tell([0, 1], LATE) == [0]
    _, told = looked_at([0, 1], LATE + 60, LATE + 0.5, standstill)
    assert told == [1]


def test_one_that_goes_on_is_told_and_may_stand_still_again():
    standstill, _ = looked_at([0])
    assert standstill.to_tell([0], LATE) == [0]
    assert (standstill.hear([0]), standstill.hear([0])) == ([0], [])
    _, told = looked_at([0], LATE + 1 + STILL_SECONDS, LATE + 1, standstill)
    assert told == []
    assert standstill.to_tell([0], LATE + 1 + STILL_SECONDS) == [0]


def test_a_time_in_which_nobody_looked_does_not_count_and_takes_nothing_back():
    standstill, _ = looked_at([0, 1])
    standstill.hear([1])
    assert standstill.to_tell([0, 1], LATE) == [0]
    later = LATE + 100 * PAUSE_SECONDS
    assert standstill.to_tell([0, 1], later) == []
    assert standstill.hear([0, 1]) == [0]
