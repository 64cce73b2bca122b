"""Snapshots: an unknown value stays unknown in every sum."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from balancer.plan import TopicPartition
from replicator.config.topology import Route
from replicator.kafka.client.loss import Loss, LossKind
from replicator.mirror.ledger.entry import Custody
from replicator.mirror.ledger.sightings import Sighting
from replicator.mirror.offset_map.reports import PartitionReport
from replicator.mirror.topics.topic_plan import Note, State, TopicPlan, TopicStatus
from tests.replicator.mirror.ledger.held import held
from tui.state.snapshot import (
    REPORT_FRESH_SECONDS,
    RouteFacts,
    TopicView,
    custody_counts,
    largest,
    partition_view,
    route_view,
    snapshot,
    total,
)

ROUTE = Route("west", "east")
NOW = 1000.0
PARTITION = TopicPartition("orders", 0)
ENTRY = held(source_offset=70, target_offset=70)
LOSS = Loss(LossKind.RETENTION_PASSED, 70, 80)
REPORT = PartitionReport("west>east", "orders", 0, 5, 20.0, 2000.0, 95, 90, 5, 0.25, None, NOW - 1)
FACTS = RouteFacts(ROUTE, {PARTITION: ENTRY}, {PARTITION: 100}, {PARTITION: REPORT})
PLAN = TopicPlan((), (TopicStatus("orders", (ROUTE,), (Note(State.MIRRORED, ""),)),), ())


def test_lag_is_what_the_source_has_beyond_what_is_mirrored() -> None:
    view = partition_view(PARTITION, FACTS, NOW)
    assert (view.source_end, view.mirrored_to, view.lag_records) == (100, 90, 10)
    assert (view.lag_seconds, view.records_per_second, view.carrier) == (0.25, 20.0, 5)
    assert (view.custody, view.parked) == ("held", None)


def test_without_a_report_the_ledger_still_tells_how_far_it_is() -> None:
    view = partition_view(PARTITION, replace(FACTS, reports=None), NOW)
    assert (view.mirrored_to, view.lag_records) == (70, 30)
    assert (view.lag_seconds, view.records_per_second, view.carrier) == (None, None, None)


def test_without_a_report_the_ledger_tells_how_long_the_mirror_has_been_behind() -> None:
    waiting = replace(
        ENTRY, seen=(Sighting(0, 400_000, 70, 70), Sighting(500_000, 600_000, 90, 90))
    )
    facts = replace(FACTS, reports=None, entries={PARTITION: waiting})
    assert partition_view(PARTITION, facts, NOW).lag_seconds == 599.0
    caught_up = replace(ENTRY, seen=(Sighting(0, 940_000, 70, 70),))
    facts = replace(FACTS, reports=None, entries={PARTITION: caught_up})
    assert partition_view(PARTITION, facts, NOW).lag_seconds == 59.0
    assert (
        partition_view(PARTITION, replace(facts, source_ends={PARTITION: 70}), NOW).lag_seconds
        == 0.0
    )


def test_records_that_an_open_transaction_holds_up_are_shown_beside_lag() -> None:
    report = replace(
        REPORT,
        source_high=120,
        written_lag_records=30,
        written_lag_seconds=61.5,
        open_transaction_seconds=61.0,
    )
    view = partition_view(PARTITION, replace(FACTS, reports={PARTITION: report}), NOW)
    assert (view.source_high, view.written_lag_records) == (120, 30)
    assert (view.written_lag_seconds, view.open_transaction_seconds) == (61.5, 61.0)


def test_an_old_report_says_nothing_about_now() -> None:
    view = partition_view(PARTITION, FACTS, REPORT.at + REPORT_FRESH_SECONDS + 1)
    assert (view.mirrored_to, view.carrier) == (70, None)


def test_a_partition_never_carried_has_no_known_lag() -> None:
    virgin = replace(ENTRY, custody=Custody.VIRGIN, source_offset=0)
    view = partition_view(PARTITION, replace(FACTS, entries={PARTITION: virgin}, reports={}), NOW)
    assert (view.mirrored_to, view.lag_records, view.lag_seconds) == (None, None, None)
    assert view.custody == "virgin"


def test_nothing_known_is_unknown_and_never_zero() -> None:
    facts = RouteFacts(ROUTE, None, None)
    view = partition_view(PARTITION, facts, NOW)
    known = (view.source_end, view.mirrored_to, view.lag_records, view.lag_seconds, view.custody)
    assert set(known) == {None}


def test_a_mirror_that_has_everything_is_not_behind_in_time_either() -> None:
    view = partition_view(PARTITION, replace(FACTS, source_ends={PARTITION: 90}), NOW)
    assert (view.lag_records, view.lag_seconds) == (0, 0.0)


def test_why_a_partition_is_parked_is_shown() -> None:
    parked = ENTRY.park(LOSS)
    view = partition_view(PARTITION, replace(FACTS, entries={PARTITION: parked}), NOW)
    assert (view.custody, view.parked) == ("parked", str(LOSS))
    reported = replace(REPORT, parked="the target refuses")
    view = partition_view(PARTITION, replace(FACTS, reports={PARTITION: reported}), NOW)
    assert (view.custody, view.parked) == ("parked", "the target refuses")


def test_an_entry_that_cannot_be_read_is_shown_as_that() -> None:
    facts = replace(FACTS, entries={}, reports={}, unreadable={PARTITION: "version 9"})
    (topic,) = route_view(facts, PLAN, NOW).topics or ()
    assert custody_counts(topic) == "1 unreadable"
    assert topic.partitions[0].parked == "version 9"


@given(st.lists(st.none() | st.integers(0, 100)))
def test_a_sum_with_an_unknown_part_is_unknown(parts: list[int | None]) -> None:
    known = [part for part in parts if part is not None]
    whole = len(known) == len(parts) and bool(parts)
    assert total(parts) == (sum(known) if whole else None)
    assert largest(parts) == (max(known) if whole else None)


def test_a_topics_totals_say_how_many_parts_are_unknown() -> None:
    facts = replace(FACTS, source_ends={PARTITION: 100, TopicPartition("orders", 1): 50})
    (topic,) = route_view(facts, PLAN, NOW).topics or ()
    assert (topic.lag_records, topic.unknown_partitions) == (None, 1)
    assert custody_counts(topic) == "1 held, 1 no entry"


def test_a_source_that_is_away_has_unknown_topics_not_none() -> None:
    plan = TopicPlan((), (), (), unknown=(ROUTE,))
    facts = RouteFacts(ROUTE, {}, None, problems=("west regional: no answer",))
    assert route_view(facts, plan, NOW).topics is None


def test_a_target_that_is_away_leaves_states_unknown() -> None:
    plan = TopicPlan((), (TopicStatus("orders", (ROUTE,), (Note(State.TO_BE_CREATED, "3"),)),), ())
    (topic,) = route_view(replace(FACTS, is_target_known=False), plan, NOW).topics or ()
    assert topic.states == ()


def test_denied_topics_are_counted_and_those_of_other_routes_left_out() -> None:
    other = Route("east", "east")
    statuses = (
        TopicStatus("secret", (ROUTE,), (Note(State.DENIED, ""),)),
        TopicStatus("clicks", (other,), (Note(State.MIRRORED, ""),)),
    )
    view = route_view(FACTS, TopicPlan((), statuses, ()), NOW)
    assert (view.topics, view.denied_topics) == ((), 1)


def test_a_problem_of_two_routes_is_listed_once() -> None:
    facts = replace(FACTS, problems=("east aggregate: no answer",))
    found = snapshot([facts, facts], {"east": PLAN}, {}, NOW)
    assert found.problems == ("east aggregate: no answer",)


def test_a_topic_without_partitions_known_has_no_totals() -> None:
    topic = TopicView(topic="orders", states=(), notes=(), partitions=())
    assert (topic.lag_records, topic.lag_seconds, topic.records_per_second) == (None, None, None)
