"""Routes: their view, their facts, what a daemon says of them, and their summary."""

from dataclasses import replace

import pytest

from balancer.topic_partition import TopicPartition
from replicator.config.topology import Route
from replicator.mirror.topics.topic_plan import Note, State, TopicPlan, TopicStatus
from replicator.notices.condition import Condition, Kind
from tests.tui.facts.route_records import (
    ENTRY,
    FACTS,
    LOSS,
    NO_CONDITIONS,
    NOW,
    PARTITION,
    PLAN,
    REPORT,
    ROUTE,
    condition,
)
from tui.facts.health import Health
from tui.facts.route_conditions import EFFECTS, RouteConditions, route_conditions
from tui.facts.route_facts import NO_PAST, Past, RouteFacts
from tui.facts.route_summary import partition_view, route_view, topic_totals
from tui.facts.route_view import PartitionView, TopicView, custody_counts

# --- Views of topics and routes: totals come from the partitions, and unknown stays unknown.


def partition(number: int, **fields: object) -> PartitionView:
    names = ("source_end", "mirrored_to", "lag_records", "lag_seconds", "records_per_second")
    names += ("bytes_per_second", "carrier", "host", "custody", "parked")
    return PartitionView(topic="orders", partition=number, **dict.fromkeys(names) | fields)


def topic(*partitions: PartitionView) -> TopicView:
    return TopicView(
        topic="orders", states=(), notes=(), partitions=partitions, **topic_totals(partitions)
    )


def test_a_topic_without_partitions_known_has_no_totals() -> None:
    empty = topic()
    assert (empty.lag_records, empty.lag_seconds, empty.records_per_second) == (None, None, None)
    assert (empty.unknown_partitions, empty.parked_partitions) == (0, None)


def test_a_topic_adds_up_its_partitions() -> None:
    found = topic(
        partition(0, lag_records=3, lag_seconds=0.5, records_per_second=10.0, drain_seconds=4.0),
        partition(1, lag_records=4, lag_seconds=2.5, records_per_second=5.0, drain_seconds=9.0),
    )
    assert (found.lag_records, found.lag_seconds, found.records_per_second) == (7, 2.5, 15.0)
    assert found.drain_seconds == 9.0


def test_totals_say_how_many_parts_are_unknown() -> None:
    found = topic(partition(0, lag_records=3, custody="held"), partition(1, parked="lost"))
    assert (found.lag_records, found.unknown_partitions, found.parked_partitions) == (None, 1, 1)
    assert custody_counts(found) == "1 ?, 1 held"


def test_the_number_of_parked_partitions_is_unknown_where_neither_ledger_nor_carrier_tell() -> None:
    held, parked = partition(0, custody="held"), partition(1, custody="parked", parked="lost")
    assert topic(held, parked).parked_partitions == 1
    assert topic(held, partition(2, carrier=5)).parked_partitions == 0
    assert topic(held, partition(2, custody="no entry")).parked_partitions == 0
    assert topic(parked, partition(2)).parked_partitions is None


# --- Facts about a route: all partitions that source or ledger know.


def test_partitions_of_source_and_ledger_are_listed_in_order() -> None:
    ends = {TopicPartition("orders", number): 5 for number in (10, 9, 2)}
    bad = {TopicPartition("clicks", 1): "version 9"}
    facts = replace(FACTS, entries={PARTITION: ENTRY}, source_ends=ends, unreadable=bad)
    assert facts.known_partitions() == {
        "orders": [TopicPartition("orders", number) for number in (0, 2, 9, 10)],
        "clicks": [TopicPartition("clicks", 1)],
    }


def test_nothing_known_is_no_partition() -> None:
    assert replace(FACTS, entries=None, source_ends=None).known_partitions() == {}


# --- Past of a route: nothing is known of it at first.


def test_without_earlier_snapshots_no_earlier_lag_is_known() -> None:
    assert NO_PAST.lag_at is None
    assert (NO_PAST.lags, NO_PAST.still, NO_PAST.heard) == ({}, {}, {})


# --- Conditions of a route: what each says about partitions, topics and the whole.

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


# --- Summary of a route: what its facts make of partitions, topics and the whole.


def view(*conditions: Condition, **facts: object) -> PartitionView:
    found = route_conditions(ROUTE, conditions, NOW) if conditions else NO_CONDITIONS
    return partition_view(PARTITION, replace(FACTS, **facts), found, NOW)


def plan(state: State, text: str = "") -> TopicPlan:
    return TopicPlan((), (TopicStatus("orders", (ROUTE,), (Note(state, text),)),), ())


def test_a_partition_shows_what_entry_end_and_report_say() -> None:
    found = view()
    assert (found.source_end, found.mirrored_to, found.lag_records) == (100, 90, 10)
    assert (found.lag_seconds, found.records_per_second, found.carrier) == (0.25, 20.0, 5)
    assert (found.custody, found.parked, found.state) == ("held", None, Health.OK)


def test_without_a_report_rates_and_carrier_are_unknown() -> None:
    found = view(reports=None)
    assert (found.lag_seconds, found.records_per_second, found.carrier) == (None, None, None)


def test_records_that_an_open_transaction_holds_up_are_shown_beside_lag() -> None:
    report = replace(
        REPORT,
        source_high=120,
        written_lag_records=30,
        written_lag_seconds=61.5,
        open_transaction_seconds=61.0,
    )
    found = view(reports={PARTITION: report})
    assert (found.source_high, found.written_lag_records) == (120, 30)
    assert (found.written_lag_seconds, found.open_transaction_seconds) == (61.5, 61.0)


def test_why_a_partition_is_parked_is_shown() -> None:
    found = view(entries={PARTITION: ENTRY.park(LOSS)})
    assert (found.custody, found.parked, found.state) == ("parked", str(LOSS), Health.PARKED)
    found = view(reports={PARTITION: replace(REPORT, parked="the target refuses")})
    assert (found.custody, found.parked) == ("parked", "the target refuses")


def test_a_condition_tells_that_a_partition_is_parked_where_nothing_else_does() -> None:
    one = condition("parked", "retention passed", route="west>east", topic="orders", partition=0)
    assert view(one, entries=None, reports=None).parked == "retention passed"


def test_a_trend_and_the_time_to_drain_come_from_an_earlier_lag() -> None:
    found = view(past=Past(lag_at=NOW - 50, lags={PARTITION: 110}))
    assert (found.lag_per_second, found.drain_seconds) == (-2.0, 5.0)


def test_an_entry_that_cannot_be_read_is_shown_as_that() -> None:
    facts = replace(FACTS, entries={}, reports={}, unreadable={PARTITION: "version 9"})
    (topic,) = route_view(facts, PLAN, NOW).topics or ()
    assert custody_counts(topic) == "1 unreadable"
    assert topic.partitions[0].parked == "version 9"
    assert (topic.state, topic.why) == (Health.PARKED, "partition 0: version 9")


def test_a_routes_totals_are_those_of_its_topics() -> None:
    found = route_view(FACTS, PLAN, NOW)
    assert (found.source, found.target, found.state) == ("west", "east", Health.OK)
    assert (found.lag_records, found.lag_seconds) == (10, 0.25)
    assert (found.records_per_second, found.bytes_per_second) == (20.0, 2000.0)


def test_a_partition_without_known_lag_leaves_the_routes_unknown_and_is_counted() -> None:
    facts = replace(FACTS, source_ends={PARTITION: 100, TopicPartition("orders", 1): 50})
    found = route_view(facts, PLAN, NOW)
    assert (found.lag_records, found.unknown_partitions) == (None, 1)
    assert found.state is Health.UNKNOWN
    assert found.why == "orders: partition 1: not carried yet: it has no ledger entry"


def test_parked_partitions_are_unknown_while_the_ledger_is() -> None:
    silent = {"entries": None, "silence_of_entries": "east aggregate: no answer"}
    found = route_view(replace(FACTS, reports=None, **silent), PLAN, NOW)
    assert found.topics
    assert (found.parked_partitions, found.topics[0].parked_partitions) == (None, None)
    reported = route_view(replace(FACTS, **silent), PLAN, NOW)
    assert reported.parked_partitions == 0
    assert route_view(replace(FACTS, entries={}, reports=None), PLAN, NOW).parked_partitions == 0


def test_a_source_that_is_away_has_unknown_topics_not_none() -> None:
    away = TopicPlan((), (), (), unknown=(ROUTE,))
    text = "west regional: no answer"
    facts = RouteFacts(ROUTE, {}, None, problems=(text,), silence_of_ends=text)
    found = route_view(facts, away, NOW)
    assert (found.topics, found.lag_records) == (None, None)
    assert (found.state, found.why) == (Health.UNKNOWN, text)


def test_a_condition_says_why_a_source_is_away() -> None:
    away = TopicPlan((), (), (), unknown=(ROUTE,))
    silent = condition("source-silent", "no answer", cluster="west regional")
    found = route_view(replace(FACTS, conditions=(silent,)), away, NOW)
    assert found.state is Health.WAITS
    assert found.why == "west regional does not answer since 00:15:40Z: no answer"


def test_a_condition_of_the_whole_route_is_its_state_though_its_partitions_go_on() -> None:
    silent = condition("source-silent", "no answer", cluster="west regional")
    found = route_view(replace(FACTS, conditions=(silent,)), PLAN, NOW)
    (topic,) = found.topics or ()
    assert (found.state, topic.state) == (Health.WAITS, Health.OK)


def test_a_target_that_is_away_leaves_states_unknown() -> None:
    facts = replace(FACTS, is_target_known=False)
    (topic,) = route_view(facts, plan(State.TO_BE_CREATED, "3"), NOW).topics or ()
    assert topic.states == ()


def test_a_topic_that_cannot_be_carried_says_why() -> None:
    facts = replace(FACTS, entries={}, reports={})
    made = plan(State.TO_BE_CREATED, "3 partitions")
    (topic,) = route_view(facts, made, NOW).topics or ()
    assert (topic.state, topic.why) == (Health.WAITS, "to be created: 3 partitions")
    refused = condition("topic-refused", "no rights", topic="orders")
    (topic,) = route_view(replace(facts, conditions=(refused,)), made, NOW).topics or ()
    assert (topic.state, topic.why) == (Health.WAITS, "no rights, since 00:15:40Z")


def test_a_topic_of_which_no_partition_is_known_is_unknown() -> None:
    facts = RouteFacts(ROUTE, None, None, silence_of_ends="west regional: not allowed")
    (topic,) = route_view(facts, PLAN, NOW).topics or ()
    assert (topic.state, topic.why) == (Health.UNKNOWN, "west regional: not allowed")


def test_denied_topics_are_counted_and_those_of_other_routes_left_out() -> None:
    other = Route("east", "east")
    statuses = (
        TopicStatus("secret", (ROUTE,), (Note(State.DENIED, ""),)),
        TopicStatus("clicks", (other,), (Note(State.MIRRORED, ""),)),
    )
    found = route_view(FACTS, TopicPlan((), statuses, ()), NOW)
    assert (found.topics, found.denied_topics) == ((), 1)
    assert (found.lag_records, found.records_per_second, found.state) == (0, 0.0, Health.OK)


@pytest.mark.parametrize(
    ("lacking", "custody", "why"),
    [
        (None, "no entry", "not carried yet: it has no ledger entry"),
        ({"orders"}, "no entry", "not carried yet: it has no ledger entry"),
        (set(), None, "its ledger entry has not been read yet"),
    ],
)
def test_an_entry_is_missing_only_where_the_ledger_was_asked(
    lacking: set[str] | None, custody: str | None, why: str
) -> None:
    found = view(entries={}, reports={}, topics_lacking=lacking)
    assert (found.custody, found.why) == (custody, why)
