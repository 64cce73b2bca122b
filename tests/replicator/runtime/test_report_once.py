"""Subjects and troubles that stay, change, alternate and end."""

from __future__ import annotations

from replicator.runtime.report_once import AGAIN_SECONDS, ReportOnce, Troubles

WEST, EAST = OSError("west is away"), OSError("east is away")


def test_a_subject_is_news_once_and_again_with_another_text():
    once = ReportOnce()
    assert [once.is_news("west", text) for text in ("away", "away", "slow", "away")] == [
        True,
        False,
        True,
        True,
    ]
    assert once.is_news("east", "away")


def test_a_settled_subject_is_news_again():
    once = ReportOnce()
    assert not once.settle("west")
    assert once.is_news("west")
    assert not once.is_news("west")
    assert once.settle("west")
    assert not once.settle("west")
    assert once.is_news("west")


def test_a_trouble_that_stays_is_reported_once():
    troubles = Troubles()
    assert [troubles.begins(WEST, now) for now in (0, 1, 2 * AGAIN_SECONDS)] == [True, False, False]


def test_a_trouble_of_another_type_is_reported_at_once():
    troubles = Troubles()
    assert troubles.begins(WEST, 0)
    assert troubles.begins(KeyError("west is away"), 1)
    assert troubles.begins(WEST, 2)


def test_a_second_server_that_is_away_is_reported_within_a_minute():
    troubles = Troubles()
    assert troubles.begins(WEST, 0)
    reported = [now for now in range(1, 200) if troubles.begins(OSError(f"{WEST}; {EAST}"), now)]
    assert reported == [AGAIN_SECONDS]


def test_texts_that_are_never_the_same_are_reported_once_a_minute():
    troubles = Troubles()
    assert sum(troubles.begins(OSError(f"at {now}"), now) for now in range(180)) == 3


def test_another_waiting_time_is_no_news():
    troubles = Troubles()
    assert troubles.begins(OSError("10.0.0.1:9092: timed out after 5003ms"), 0)
    for now, text in ((60, "4998ms"), (120, "5.1 s")):
        assert not troubles.begins(OSError(f"10.0.0.1:9092: timed out after {text}"), now)
    assert troubles.begins(OSError("10.0.0.2:9092: timed out after 5003ms"), 180)


def test_a_trouble_that_begins_again_after_its_end_is_reported_again():
    troubles = Troubles()
    assert not troubles.end()
    assert troubles.begins(WEST, 0)
    assert troubles.end()
    assert not troubles.end()
    assert troubles.begins(WEST, 1)
