"""Partitions that bring nothing: each is reported once, and so is the end of its stall."""

from replicator.kafka.tail.stall import PAUSE_SECONDS, STALL_SECONDS, StallWatch

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
