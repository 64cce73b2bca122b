"""Troubles that stay, change, alternate and end."""

from __future__ import annotations

from replicator.runtime.report_once import AGAIN_SECONDS, Troubles

WEST, EAST = OSError("west is away"), OSError("east is away")


def test_one_that_stays_is_told_once():
    troubles = Troubles()
    assert [troubles.begins(WEST, now) for now in (0, 1, 2 * AGAIN_SECONDS)] == [True, False, False]


def test_one_of_another_kind_is_told_at_once():
    troubles = Troubles()
    assert troubles.begins(WEST, 0)
    assert troubles.begins(KeyError("west is away"), 1)
    assert troubles.begins(WEST, 2)


def test_a_second_server_that_is_away_is_told_within_a_minute():
    troubles = Troubles()
    assert troubles.begins(WEST, 0)
    told = [now for now in range(1, 200) if troubles.begins(OSError(f"{WEST}; {EAST}"), now)]
    assert told == [AGAIN_SECONDS]


def test_texts_that_are_never_the_same_are_told_once_a_minute():
    troubles = Troubles()
    assert sum(troubles.begins(OSError(f"at {now}"), now) for now in range(180)) == 3


def test_how_long_somebody_waited_makes_it_no_other():
    troubles = Troubles()
    assert troubles.begins(OSError("10.0.0.1:9092: timed out after 5003ms"), 0)
    for now, text in ((60, "4998ms"), (120, "5.1 s")):
        assert not troubles.begins(OSError(f"10.0.0.1:9092: timed out after {text}"), now)
    assert troubles.begins(OSError("10.0.0.2:9092: timed out after 5003ms"), 180)


def test_what_begins_again_after_its_end_is_told_again():
    troubles = Troubles()
    assert not troubles.end()
    assert troubles.begins(WEST, 0)
    assert troubles.end()
    assert not troubles.end()
    assert troubles.begins(WEST, 1)
