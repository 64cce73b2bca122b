"""Claims about partitions that bring nothing: each is told once, and its end as well."""

from replicator.copies.standstill import STILL_SECONDS, Standstill

BEGAN = 1000.0
LATE = BEGAN + STILL_SECONDS


def test_a_partition_that_brings_nothing_is_told_once():
    standstill = Standstill([0, 1], BEGAN)
    standstill.hear([1], BEGAN + 1)
    assert standstill.begun(LATE - 0.5) == []
    assert standstill.begun(LATE) == [0]
    assert standstill.begun(LATE + 0.5) == []
    assert standstill.begun(LATE + 1) == [1]


def test_one_that_goes_on_is_told_and_may_stand_still_again():
    standstill = Standstill([0], BEGAN)
    standstill.begun(LATE)
    assert standstill.hear([0], LATE + 5) == [0]
    assert standstill.hear([0], LATE + 6) == []
    assert standstill.begun(LATE + 6) == []
    assert standstill.begun(LATE + 6 + STILL_SECONDS) == [0]
