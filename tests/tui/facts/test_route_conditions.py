"""Conditions of a route: what each says about partitions, topics and the whole."""

from replicator.notices.condition import Condition, Kind
from tests.tui.facts.route_records import NOW, ROUTE, condition
from tui.facts.health import Health
from tui.facts.route_conditions import EFFECTS, RouteConditions, route_conditions

PLACE = ("orders", 3)


def found(*conditions: Condition) -> RouteConditions:
    return route_conditions(ROUTE, conditions, NOW)


def waits(
    conditions: RouteConditions,
    carrier: int | None = None,
    is_known: bool = False,
    is_begun: bool = True,
) -> str | None:
    return conditions.waits(PLACE, carrier=carrier, is_known=is_known, is_begun=is_begun)


def test_each_kind_says_what_it_does_to_a_route() -> None:
    assert set(EFFECTS) == set(Kind)


def test_a_kind_of_a_later_version_makes_wait_what_its_subject_names() -> None:
    assert found(condition("solar-flare", "x")).whole
    assert found(condition("solar-flare", "x", topic="orders")).topics.keys() == {"orders"}
    assert found(condition("solar-flare", "x", topic="orders", partition=3)).partitions


def test_no_condition_is_no_reason() -> None:
    assert found().is_empty
    assert waits(found()) is None


def test_conditions_of_feeds_of_other_routes_and_of_other_clusters_are_left_out() -> None:
    others = found(
        condition("loader-waits", "x", feed="trades", cluster="east aggregate"),
        condition("paused", "x", route="north>east", topic="orders"),
        condition("source-silent", "x", cluster="north regional"),
    )
    assert others == found()


def test_a_silent_source_is_why_nothing_fresh_is_known() -> None:
    silent = found(condition("source-silent", "connection refused", cluster="west regional"))
    text = "west regional does not answer since 00:15:40Z: connection refused"
    assert silent.whole == [(Health.WAITS, text)]
    assert waits(silent) == text
    assert waits(silent, is_known=True) is None


def test_a_refused_topic_keeps_what_is_carried_of_it_going() -> None:
    refused = found(condition("topic-refused", "too many partitions", topic="orders"))
    assert refused.new_topics == {"orders": "too many partitions, since 00:15:40Z"}
    assert waits(refused, is_known=True) is None
    assert waits(refused) == refused.new_topics["orders"]


def test_not_adopted_are_the_partitions_from_the_named_one_on() -> None:
    text = 'not adopted since 00:15:40Z: the target holds records; see "Adding a route"'
    one = condition(
        "not-adopted", "the target holds records", route="west>east", topic="orders", partition=3
    )
    assert waits(found(one), is_begun=False) == text
    assert waits(found(one), is_begun=True) is None
    assert found(one).waits(("orders", 2), carrier=None, is_known=False, is_begun=False) is None


def test_a_carrier_that_waits_is_a_reason_for_its_partitions_alone() -> None:
    who = "carrier 7 of west>east"
    one = condition("carrier-waits", "no answer", who, route="west>east", carrier=7)
    text = "carrier 7 of west>east waits: no answer, since 00:15:40Z"
    assert waits(found(one), carrier=7) == text
    assert waits(found(one), carrier=2) is None
    assert waits(found(one), carrier=None) == text
    assert waits(found(one), carrier=None, is_known=True) is None
    # Names are for people: a carrier of another version does not say its number.
    unnumbered = condition("carrier-waits", "no answer", who, route="west>east")
    assert waits(found(unnumbered), carrier=7) is None
    assert waits(found(unnumbered), carrier=None) == text


def test_a_partition_waits_for_the_reason_of_its_carrier() -> None:
    one = condition(
        "waiting",
        "not enough replicas",
        "carrier 7 of west>east",
        route="west>east",
        topic="orders",
        partition=3,
    )
    assert waits(found(one), is_known=True) == "waits: not enough replicas, since 00:15:40Z"


def test_who_paused_a_topic_or_a_partition_is_told() -> None:
    topic = condition("paused", "paused by alice: load test", route="west>east", topic="orders")
    text = "paused by alice: load test, since 00:15:40Z"
    assert found(topic).paused(PLACE) == f"{text}, topic"
    one = condition(
        "paused",
        "paused by alice: load test",
        route="west>east",
        topic="orders",
        partition=3,
    )
    assert found(one).paused(PLACE) == text
    assert found(one).paused(("orders", 4)) is None
    assert not found(one).is_empty


def test_a_parked_partition_is_known_without_ledger_and_reports() -> None:
    one = condition("parked", "retention passed", route="west>east", topic="orders", partition=3)
    assert found(one).parked == {PLACE: "retention passed"}


def test_conditions_of_later_versions_hold_for_what_they_name() -> None:
    later = found(
        condition("later", "for the topic", route="west>east", topic="orders"),
        condition("later", "for all", route="west>east"),
    )
    assert later.whole == [(Health.WAITS, "for all, since 00:15:40Z")]
    assert waits(later, is_known=True) == "for the topic, since 00:15:40Z"
