"""Conditions survive the way to Redis, also between versions."""

import json

import pytest

from replicator.notices.condition import Condition, Kind, Subject, from_json, to_json

WAITS = Condition(
    kind="waiting",
    who="carrier 3 of west>east",
    text="no leader",
    since_ms=1000,
    route="west>east",
    topic="orders",
    partition=0,
)


def test_conditions_are_read_as_they_were_written():
    assert from_json(to_json([WAITS])) == [WAITS]
    assert from_json(to_json([])) == []


def test_the_subject_is_what_it_was_made_of():
    subject = Subject("west>east", topic="orders", partition=0)
    assert Condition.of(Kind.WAITING, subject, "no leader", WAITS.who, 1000) == WAITS
    assert WAITS.subject == subject


def test_fields_of_a_later_version_are_left_out():
    later = json.loads(to_json([WAITS]))
    later[0]["colour"] = "red"
    assert from_json(json.dumps(later)) == [WAITS]


NO_TIME = '[{"kind":"waiting","who":"x","text":"y","since_ms":null}]'


@pytest.mark.parametrize("text", ["[7]", "[{}]", '[{"kind":"waiting"}]', "no json", NO_TIME])
def test_another_form_is_refused(text):
    with pytest.raises(ValueError, match="validation error"):
        from_json(text)
