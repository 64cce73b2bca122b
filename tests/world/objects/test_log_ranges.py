"""Objects that the log alone decides."""

from __future__ import annotations

import random
from dataclasses import replace

from tests.world.objects.log_ranges import LogRanges
from tests.world.objects.object_load import Destination, ExpectedRecord, Settings

SETTINGS = replace(Settings.drawn(random.Random(1), True, "field"), records=3, interval_seconds=10)


def ranges(*records: tuple[int, str, int]) -> LogRanges:
    """Returns the ranges of records: offset, folder, and second of each."""
    found = LogRanges(SETTINGS)
    found.add(
        (at, ExpectedRecord(name, Destination.OBJECT, at, 1000 * second))
        for at, name, second in records
    )
    return found


def test_each_folder_counts_its_own_records() -> None:
    found = ranges((0, "a", 0), (1, "b", 0), (2, "a", 1), (5, "a", 2), (6, "b", 3))
    assert found.ended == {("a", 0, 6)}
    assert found.first_open(9) == 1


def test_a_record_of_any_folder_lets_record_time_pass() -> None:
    found = ranges((0, "a", 0), (1, "a", 1), (4, "b", 10))
    assert found.ended == {("a", 0, 2)}
    assert found.first_open(9) == 4


def test_nothing_is_open_behind_the_last_object() -> None:
    assert ranges((0, "a", 0), (1, "a", 1), (2, "a", 2)).first_open(9) == 9
