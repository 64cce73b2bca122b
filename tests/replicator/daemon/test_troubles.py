"""Troubles that stay, change, alternate and end."""

from __future__ import annotations

from replicator.daemon.troubles import AGAIN_SECONDS, TEXTS_MAX, Troubles

WEST, EAST = OSError("west is away"), OSError("east is away")


def test_one_that_stays_is_told_once():
    troubles = Troubles()
    assert [troubles.begins(WEST, now) for now in (0, 1, 2 * AGAIN_SECONDS)] == [True, False, False]


def test_another_of_the_same_kind_is_told_too():
    troubles = Troubles()
    assert troubles.begins(WEST, 0)
    assert troubles.begins(EAST, 1)
    assert troubles.begins(KeyError("east is away"), 2)


def test_two_that_alternate_are_told_once_a_minute_each():
    troubles = Troubles()
    told = [troubles.begins(WEST if now % 2 else EAST, now) for now in range(120)]
    assert sum(told) == 4


def test_texts_that_differ_each_time_are_told_a_few_times_a_minute():
    troubles = Troubles()
    assert sum(troubles.begins(OSError(f"at {now}"), now) for now in range(60)) == TEXTS_MAX


def test_how_long_somebody_waited_makes_it_no_other():
    troubles = Troubles()
    assert troubles.begins(OSError("10.0.0.1:9092: timed out after 5003ms"), 0)
    assert not troubles.begins(OSError("10.0.0.1:9092: timed out after 5.1 s"), 1)
    assert not troubles.begins(OSError("10.0.0.1:9092: timed out after 4998ms"), 2)
    assert troubles.begins(OSError("10.0.0.2:9092: timed out after 4998ms"), 3)


def test_what_begins_again_after_its_end_is_told_again():
    troubles = Troubles()
    assert not troubles.end()
    assert troubles.begins(WEST, 0)
    assert troubles.end()
    assert not troubles.end()
    assert troubles.begins(WEST, 1)
