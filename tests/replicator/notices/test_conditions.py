"""Conditions of one finder: they hold until they are no longer found, and remember since when."""

from replicator.notices.condition import Kind, Subject
from replicator.notices.conditions import OF_A_KIND_MAX, Conditions

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
