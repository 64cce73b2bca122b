"""The memory of adoptions notes what moved, and never forgets a partition."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

from aggregator.driver.adoption_memory import (
    NOTED_SECONDS,
    SELECTED,
    AdoptionMemory,
    Remembered,
    Selected,
    decode,
    found_first,
    selected,
)
from aggregator.intents.intent import Intent
from balancer.topic_partition import TopicPartition
from replicator.kafka.client.custody import Custody

TOPIC, OTHER = UUID(int=1), UUID(int=2)
PLACE = TopicPartition("hits", 3)
HOUR_MS = round(NOTED_SECONDS * 1000)
INTENT = Intent(
    custody=Custody.RELEASED, offset=10, reference=10, transactional_id="free", topic_id=TOPIC
)


def memory() -> AdoptionMemory:
    cluster: Any = None
    return AdoptionMemory(cluster, "feed")


def test_a_note_survives_its_record():
    later = Remembered(TOPIC, 10, 5, incarnation=9, log_begin=4, former=7)
    for noted in (Remembered(TOPIC, 10, 5), Remembered(None, 0, 0), later):
        assert decode(noted.encode()) == noted


def test_a_partition_is_noted_once_and_again_after_an_hour_in_which_it_moved():
    kept = memory()
    notes = kept.due({PLACE: INTENT}, 1000)
    assert notes == {PLACE: Remembered(TOPIC, 10, 1000)}
    kept.wrote(notes)
    moved = replace(INTENT, offset=20)
    assert kept.due({PLACE: moved}, 1000 + HOUR_MS - 1) == {}
    assert kept.due({PLACE: INTENT}, 1000 + HOUR_MS) == {}
    assert kept.due({PLACE: moved}, 1000 + HOUR_MS) == {
        PLACE: Remembered(TOPIC, 20, 1000 + HOUR_MS)
    }


def test_a_clock_that_went_back_does_not_keep_notes_from_being_written():
    kept = memory()
    kept.wrote({PLACE: Remembered(TOPIC, 10, 1000 + HOUR_MS)})
    assert PLACE in kept.due({PLACE: replace(INTENT, offset=20)}, 1000)


def test_a_partition_of_another_topic_is_noted_at_once():
    kept = memory()
    kept.wrote({PLACE: Remembered(TOPIC, 10, 1000)})
    assert PLACE in kept.due({PLACE: replace(INTENT, topic_id=OTHER)}, 1001)


def test_a_log_that_an_operator_accepted_is_noted_at_once():
    kept = memory()
    kept.wrote({PLACE: Remembered(TOPIC, 10, 1000)})
    for log in ({"incarnation": 9}, {"incarnation": 9, "log_begin": 4, "former": 7}):
        later = replace(INTENT, **log)
        notes = kept.due({PLACE: later}, 1001)
        assert notes == {PLACE: Remembered(TOPIC, 10, 1001, **log)}
        kept.wrote(notes)
        assert kept.due({PLACE: later}, 1002) == {}


def test_an_intent_that_is_gone_is_that_of_the_log_that_was_noted_last():
    kept = memory()
    assert kept.lost_intent(PLACE, "free") is None
    held = replace(INTENT, incarnation=9, log_begin=4, former=7)
    kept.wrote(kept.due({PLACE: held}, 1000))
    assert kept.lost_intent(PLACE, "free") == held


def test_an_acceptance_notes_its_log_where_the_topic_is_there():
    kept = memory()
    assert kept.noting({PLACE: INTENT}, 1000) == []
    kept.is_there = True
    (record,) = kept.noting({PLACE: replace(INTENT, incarnation=9)}, 1000)
    assert record.value is not None and decode(record.value).incarnation == 9


def test_an_intent_that_cannot_be_read_says_nothing():
    assert memory().due({PLACE: replace(INTENT, transactional_id="")}, 1000) == {}


def test_records_read_back_are_what_was_written():
    kept, again = memory(), memory()
    notes = {PLACE: Remembered(TOPIC, 10, 1000), TopicPartition("hits", 4): Remembered(None, 0, 1)}
    records = [*kept.records(notes), kept.whole_record()]
    for each in records:
        again.take(each.key, each.value)
    assert again.is_whole and not kept.is_whole
    assert {place: again.of(place) for place in notes} == notes
    assert again.has_topic("hits", TOPIC) and not again.has_topic("hits", OTHER)


def test_a_former_log_that_a_driver_notes_late_does_not_hide_the_accepted_one():
    """It had read the intent before an operator accepted another log, and noted it behind that."""
    kept, accepted = memory(), Remembered(OTHER, 0, 5, incarnation=9)
    for noted in (accepted, Remembered(TOPIC, 30, 6, incarnation=7), Remembered(TOPIC, 30, 6)):
        kept.take(b"hits/3", noted.encode())
        assert kept.of(PLACE) == accepted
    later = Remembered(OTHER, 40, 7, incarnation=9)
    kept.take(b"hits/3", later.encode())
    assert kept.of(PLACE) == later


def test_a_note_of_a_later_version_is_remembered_without_its_offset(caplog):
    kept = memory()
    kept.take(b"hits/3", b'{"v": 2}')
    kept.take(b"nonsense", b"{}")
    assert PLACE in kept and kept.of(PLACE) is None
    assert caplog.text.count("event=adoption-unreadable") == 2


CHOSEN = Selected(("hits.*", r"clicks\.eu"), ("hits-test",), frozenset({"hits-closed"}))


def test_a_topic_that_the_driver_before_would_have_adopted_was_made_since():
    names = ["hits", "hits-test", "hits-closed", "clicks.eu", "clicksxeu", "other"]
    assert found_first(names, CHOSEN) == {"hits-test", "hits-closed", "clicksxeu", "other"}
    assert found_first(names, None) == {*names}


def test_what_a_driver_selected_survives_its_record_and_one_that_cannot_be_read_says_nothing():
    kept = memory()
    record = kept.selected_record(CHOSEN)
    assert selected(record.value or b"") == CHOSEN
    kept.take(record.key, record.value)
    assert kept.selected == CHOSEN and not kept
    for value in (None, b"", b"{}", b'{"topics":["("],"deny":[],"waiting":[]}', b"[]"):
        kept.take(SELECTED, value)
        assert kept.selected is None
