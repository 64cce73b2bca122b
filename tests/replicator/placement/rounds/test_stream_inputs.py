"""The view of a stream's round has the stream's own carriers, numbered from 0."""

from dataclasses import replace
from math import inf

import pytest

from balancer.carrier_plan import CarrierId, Plan
from balancer.decision.placement import Scope
from balancer.decision.state import RoundState
from balancer.topic_partition import TopicPartition
from replicator.config.balance_settings import BalanceSettings
from replicator.mirror.offset_map.reports import PartitionReport
from replicator.orders.order_records import Exclusion, Hold, Pin, Stream
from replicator.placement.rounds.shares import ShareMemory
from replicator.placement.rounds.stream_inputs import stream_inputs
from tests.replicator.placement.rounds.snapshots import (
    NOW_MS,
    ORDER,
    PARTITIONS,
    ROUTE,
    active_plan,
    order_log_of,
    snapshot,
)

OWN = Stream(**ORDER, name="own", topics=("orders",), first_carrier=3000)


def inputs(snapshot, stream="default", state=None):
    return stream_inputs(snapshot, BalanceSettings(), ROUTE, stream, ShareMemory(), state)


def view(snapshot, stream="default", state=None, scope=None):
    return inputs(snapshot, stream, state).view(scope)


def report(partition, age_seconds=1.0, **more):
    at = NOW_MS / 1000 - age_seconds
    number = partition.partition
    found = PartitionReport("r", *partition, number % 2, 1.0, 1.0, 1, 1, 0, 0.0, None, at)
    return replace(found, **more)


def test_orders_for_carriers_of_other_streams_are_left_out():
    order_log = order_log_of(
        OWN,
        Pin(**ORDER, topic="orders", partition=0, carrier=3001),
        Pin(**ORDER, topic="orders", partition=1, carrier=1),
        Exclusion(**ORDER, carrier=3002, why="slow"),
        Exclusion(**ORDER, carrier=2),
        Hold(**ORDER, stream="own"),
    )
    found = view(snapshot(order_log), "own", scope=Scope.FULL)
    assert found.first_carrier == 3000
    assert found.orders.pins == {PARTITIONS[0]: 1}
    assert found.orders.excluded == {2: "slow"}
    assert found.orders.paused and found.orders.by_hand is Scope.FULL


def test_partitions_of_another_stream_are_not_carried_and_have_not_vanished():
    state = RoundState(where=dict.fromkeys(PARTITIONS, 0), carriers=(0,), generation=4)
    found = view(snapshot(order_log_of(OWN)), state=state)
    assert found.partitions == set()
    assert found.withdrawn == set(PARTITIONS)


def test_paused_partitions_have_not_vanished():
    plan = active_plan(PARTITIONS[1:], [PARTITIONS[0]])
    assert view(snapshot(active_plan=plan)).withdrawn == {PARTITIONS[0]}


def test_lag_is_known_of_partitions_that_report_it():
    reports = {
        PARTITIONS[0]: report(PARTITIONS[0], lag_seconds=7.0),
        PARTITIONS[1]: report(PARTITIONS[1], lag_seconds=None),
        TopicPartition("gone", 0): report(TopicPartition("gone", 0), lag_seconds=9.0),
    }
    assert view(snapshot(reports=reports)).lag_seconds == {PARTITIONS[0]: 7.0}


@pytest.mark.parametrize("ahead_seconds", [-3600.0, -60.0, 0.0, 60.0, 3600.0])
@pytest.mark.parametrize(
    ("unchanged_seconds", "plan_seconds", "silent"),
    [(1.0, 60.0, set()), (60.0, 60.0, {0, 1}), (60.0, 1.0, set()), (60.0, inf, {0, 1})],
)
def test_a_carrier_that_does_not_report_is_silent_once_its_plan_is_settled_by_our_clock(
    unchanged_seconds, plan_seconds, silent, ahead_seconds
):
    reports = {each: report(each, -ahead_seconds) for each in PARTITIONS}
    plan = replace(active_plan(), posted_at=NOW_MS / 1000 + ahead_seconds)
    known = snapshot(
        reports=reports,
        active_plan=plan,
        plan_seconds=plan_seconds,
        unchanged_seconds=dict.fromkeys((0, 1), unchanged_seconds),
    )
    assert view(known).silent == silent


def test_a_carrier_whose_reports_have_expired_is_silent():
    reports = {each: report(each) for each in PARTITIONS if each.partition % 2}
    assert view(snapshot(reports=reports, plan_seconds=60.0)).silent == {0}


@pytest.mark.parametrize("behind_seconds", [60.0, 3600.0])
def test_a_carrier_that_reports_by_a_clock_behind_ours_is_not_silent(behind_seconds):
    plan = replace(active_plan(), posted_at=NOW_MS / 1000 - 60)
    reports = {each: report(each, behind_seconds) for each in PARTITIONS}
    known = snapshot(reports=reports, active_plan=plan, plan_seconds=60.0)
    assert view(known).silent == set()


def test_carriers_of_other_streams_and_routes_are_counted_if_they_have_partitions():
    theirs: dict[CarrierId, tuple[TopicPartition, ...]] = {
        CarrierId(ROUTE.key, 1000): (TopicPartition("own", 0),),
        CarrierId("east.east", 0): (TopicPartition("own", 0),),
        CarrierId("east.east", 1): (),
    }
    ours = active_plan(slots=3)
    shown = replace(ours, plan=Plan(1, {**ours.plan.loads, **theirs}))
    found = view(snapshot(active_plan=shown))
    assert (found.slots, found.carriers_elsewhere) == (3, 2)


def test_without_a_state_and_a_placement_the_generation_is_0():
    assert inputs(snapshot()).generation == 0
    assert inputs(snapshot(), state=RoundState(generation=4)).generation == 4
