"""Conditions and their acknowledgements: as they are found, and as Redis keeps them."""

import json

import pytest

from replicator.notices.acknowledgement import HOLDS_MS, Acknowledgement
from replicator.notices.condition import Condition, Kind, Subject, from_json, to_json
from replicator.notices.conditions import OF_A_KIND_MAX, Conditions

# -- Conditions of one finder: they hold until they are no longer found, and remember since when.

ORDERS, TRADES = Subject(topic="orders"), Subject(topic="trades")


class Clock:
    """Clock that stands until it is set."""

    now_ms = 1000

    def __call__(self):
        return self.now_ms


def found(conditions):
    return {(each.kind, each.topic): each.since_ms for each in conditions.current}


def test_a_condition_keeps_its_beginning_while_it_is_found_again():
    clock = Clock()
    conditions = Conditions("replicate east", clock)
    conditions.replace(Kind.TOPIC_REFUSED, {ORDERS: "one"})
    clock.now_ms = 2000
    conditions.replace(Kind.TOPIC_REFUSED, {ORDERS: "two", TRADES: "new"})
    assert found(conditions) == {
        ("topic-refused", "orders"): 1000,
        ("topic-refused", "trades"): 2000,
    }
    assert [each.text for each in conditions.current] == ["two", "new"]
    assert {each.who for each in conditions.current} == {"replicate east"}


def test_what_is_not_found_any_more_is_over_and_other_kinds_stay():
    clock = Clock()
    conditions = Conditions("replicate east", clock)
    conditions.replace(Kind.TOPIC_REFUSED, {ORDERS: "refused"})
    conditions.replace(Kind.PAUSED, {ORDERS: "by ann"})
    conditions.replace(Kind.TOPIC_REFUSED, {})
    assert found(conditions) == {("paused", "orders"): 1000}
    clock.now_ms = 3000
    conditions.replace(Kind.TOPIC_REFUSED, {ORDERS: "again"})
    assert found(conditions)["topic-refused", "orders"] == 3000


def test_a_successor_of_the_same_name_goes_on_with_the_beginnings():
    clock = Clock()
    before = Conditions("carrier 3 of west>east", clock)
    before.replace(Kind.WAITING, {ORDERS: "no leader", TRADES: "no leader"})
    clock.now_ms = 9000
    after = Conditions("carrier 3 of west>east", clock)
    after.replace(Kind.WAITING, {ORDERS: "no leader"})
    after.inherit(before.current)
    assert found(after) == {("waiting", "orders"): 1000}
    after.replace(Kind.WAITING, {ORDERS: "no leader", TRADES: "no leader"})
    assert found(after) == {("waiting", "orders"): 1000, ("waiting", "trades"): 9000}


def test_beginnings_hold_also_if_they_come_before_the_first_finding():
    clock = Clock()
    before = Conditions("carrier", clock)
    before.replace(Kind.WAITING, {ORDERS: "no leader"})
    clock.now_ms = 9000
    after = Conditions("carrier", clock)
    after.inherit(before.current)
    assert after.current == before.current, "nobody has looked since"
    after.replace(Kind.WAITING, {ORDERS: "no leader"})
    assert found(after) == {("waiting", "orders"): 1000}
    after.replace(Kind.WAITING, {})
    assert after.current == ()


def test_thousands_of_one_kind_are_cut():
    conditions = Conditions("replicate east")
    some = {Subject(topic=f"t{number}"): "refused" for number in range(OF_A_KIND_MAX + 5)}
    conditions.replace(Kind.TOPIC_REFUSED, some)
    assert len(conditions.current) == OF_A_KIND_MAX


# -- Conditions survive the way to Redis, also between versions.

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
def test_another_form_of_a_condition_is_refused(text):
    with pytest.raises(ValueError, match="validation error"):
        from_json(text)


# -- Acknowledgements as values: when they are over, and the way to Redis between versions.

SEEN = Acknowledgement(key="parked/west>east/orders/", who="ann@ops", why="looking", at_ms=1000)
SILENT = Acknowledgement(key="copies/east", who="bob@ops", why="move", at_ms=1000, until_ms=5000)


def test_an_acknowledgement_holds_for_a_week_at_most():
    assert not SEEN.is_over(1000 + HOLDS_MS - 1)
    assert SEEN.is_over(1000 + HOLDS_MS)


def test_a_silence_holds_until_its_end():
    assert not SILENT.is_over(4999)
    assert SILENT.is_over(5000)


@pytest.mark.parametrize("given", [SEEN, SILENT])
def test_it_is_read_as_it_was_written_and_later_fields_are_left_out(given):
    assert Acknowledgement.from_json(given.to_json()) == given
    assert Acknowledgement.from_json(given.to_json()[:-1] + ',"colour":"red"}') == given


@pytest.mark.parametrize("text", ["7", "{}", "no json"])
def test_another_form_of_an_acknowledgement_is_refused(text):
    with pytest.raises(ValueError, match="validation error"):
        Acknowledgement.from_json(text)
