"""Summary of a route: what its facts make of partitions, topics and the whole."""

from dataclasses import replace

import pytest

from balancer.topic_partition import TopicPartition
from replicator.config.topology import Route
from replicator.mirror.topics.topic_plan import Note, State, TopicPlan, TopicStatus
from replicator.notices.condition import Condition
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
from tui.facts.route_conditions import route_conditions
from tui.facts.route_facts import Past, RouteFacts
from tui.facts.route_summary import partition_view, route_view
from tui.facts.route_view import PartitionView, custody_counts


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
