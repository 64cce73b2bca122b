"""Results of a round: the status of streams, metrics, and the placement record."""

from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from balancer.carrier_plan import CarrierId, Plan
from balancer.decision.state import RoundState
from balancer.demand.load_model import Factors, LoadModel
from balancer.demand.window import Rate
from balancer.topic_partition import TopicPartition
from replicator.config.balance_settings import BalanceSettings
from replicator.mirror.offset_map.reports import PartitionReport
from replicator.orders.order_records import Pin, Stream
from replicator.orders.round_status import AlertStatus, RoundStatus
from replicator.placement.rounds.metrics import BalanceCollector
from replicator.placement.rounds.placement_record import placement_record, round_state
from replicator.placement.rounds.stream_round import StreamRound
from tests.replicator.placement.rounds.snapshots import (
    MIB,
    NOW_MS,
    ORDER,
    PARTITIONS,
    ROUTE,
    active_plan,
    order_log_of,
    rates,
    snapshot,
)

# -- The status of a round names carriers by the numbers that operators see.

CAPACITY = BalanceSettings(capacity_mib_per_second=10.0, carriers_max=8, cool_down_seconds=0.0)
OWN = Stream(**ORDER, name="own", topics=("orders",), first_carrier=3000)


def stream_round(stream="default", settings=CAPACITY):
    return StreamRound(settings, ROUTE, stream, "balancer")


def status_of(at, stream="default", settings=CAPACITY):
    return stream_round(stream, settings).round(at).status


def test_alerts_of_a_stream_name_carriers_by_the_numbers_that_people_see():
    pin = Pin(**ORDER, topic="orders", partition=0, carrier=3007)
    alerts = status_of(snapshot(order_log_of(OWN, pin)), "own").alerts
    assert any("no carrier 3007" in each.text for each in alerts)


def test_loads_counts_and_moves_name_carriers_by_the_numbers_that_people_see():
    status = status_of(snapshot(order_log_of(OWN)), "own")
    assert status.loads == {3000: pytest.approx(0.6), 3001: pytest.approx(0.6)}
    assert status.counts == {3000: 6, 3001: 6}
    assert {move.target for move in status.moves} == {3000, 3001}
    assert status.moves_count == len(status.moves) == 12


def test_a_round_without_a_new_placement_has_the_moves_of_the_last_one():
    rounds = stream_round()
    first = rounds.round(snapshot())
    rounds.accept(first)
    later = rounds.round(snapshot(now_ms=NOW_MS + 10_000)).status
    assert first.status.moves and first.status.placed_at_ms == NOW_MS
    assert later == first.status.model_copy(update={"at_ms": NOW_MS + 10_000})


@pytest.mark.parametrize(("unchanged", "is_silent"), [(1.0, False), (60.0, True)])
def test_a_carrier_that_does_not_report_is_silent_and_moves_stop(unchanged, is_silent):
    rounds = stream_round()
    rounds.accept(rounds.round(snapshot()))
    now_ms = NOW_MS + 60_000
    reports = {
        each: PartitionReport(
            "r", *each, each.partition % 2, 1.0, 1.0, 1, 1, 0, 0.0, None, now_ms / 1000
        )
        for each in PARTITIONS
    }
    known = snapshot(
        now_ms=now_ms,
        reports=reports,
        plan_seconds=60.0,
        unchanged_seconds=dict.fromkeys((0, 1), unchanged),
    )
    outcome = rounds.round(known)
    assert (outcome.status.held is not None) is is_silent


def test_the_costs_of_the_loads_are_shown_and_a_configured_capacity_counts_before_them():
    costs = LoadModel(Factors(2e-9, 1e-8), Factors(3e-9, 1e-6))
    status = status_of(snapshot(costs=costs), settings=BalanceSettings())
    assert (status.unopened.per_byte, status.opened.per_record) == (2e-9, 1e-6)
    status = status_of(snapshot(costs=costs))
    assert status.unopened == status.opened
    assert status.unopened.per_byte == pytest.approx(1 / (CAPACITY.capacity_mib_per_second * MIB))


def test_a_hot_partition_is_named_with_its_topic():
    hot = {**rates(0.1), PARTITIONS[0]: Rate(9 * MIB, 1)}
    alerts = status_of(snapshot(rates=hot)).alerts
    assert any(each.name == "hot partition" and "orders" in each.text for each in alerts)


def test_carriers_of_other_streams_and_routes_count_where_task_slots_are_few():
    theirs: dict[CarrierId, tuple[TopicPartition, ...]] = {
        CarrierId(ROUTE.key, 1000): (TopicPartition("own", 0),),
        CarrierId("east.east", 0): (TopicPartition("own", 0),),
        CarrierId("east.east", 1): (),
    }
    ours = active_plan(slots=3)
    shown = replace(ours, plan=Plan(1, {**ours.plan.loads, **theirs}))
    (alert,) = status_of(snapshot(active_plan=shown)).alerts
    assert "2 carriers, and 2 of other streams, share 3 task slots" in alert.text
    assert not status_of(snapshot(active_plan=replace(shown, slots=4))).alerts


# -- Metrics show the results of the last rounds; an unknown value has no sample.

HOT = AlertStatus(name="hot partition", text="t-0", evidence={})


def samples(**known):
    status = RoundStatus(
        route="west.east", stream="default", at_ms=2000, generation=2, partitions=3, **known
    )
    registry = CollectorRegistry()
    registry.register(BalanceCollector(lambda: [status]))
    lines = generate_latest(registry).decode().splitlines()
    return {
        line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if line[0] != "#"
    }


def test_loads_and_alerts_have_samples_of_their_own():
    found = samples(loads={0: 0.5}, alerts=(HOT, HOT))
    labels = 'route="west.east",stream="default"'
    assert found[f'sluice_balance_carrier_load{{carrier="0",{labels}}}'] == 0.5
    assert found[f'sluice_balance_alerts{{alert="hot_partition",{labels}}}'] == 2
    assert found[f'sluice_balance_alerts{{alert="frozen",{labels}}}'] == 0
    assert found[f"sluice_balance_round_timestamp_seconds{{{labels}}}"] == 2


def test_what_is_not_known_has_no_sample():
    assert not any("sluice_balance_bound" in name for name in samples())
    assert any("sluice_balance_bound" in name for name in samples(bound=0.1))


# -- A round state is read back from the placement record that it was written to.

STATE = RoundState(
    where={TopicPartition("orders", 0): 0, TopicPartition("orders", 1): 2},
    carriers=(0, 1, 2),
    generation=7,
    moved_at_ms=5,
    drifting_rounds=3,
)
RECORD = placement_record(
    STATE, route="west.east", stream="own", first_carrier=1000, at_ms=9, who="balancer"
)


def test_a_state_read_back_is_the_same():
    assert round_state(RECORD, 1000) == STATE


def test_a_record_numbers_carriers_from_the_streams_first_one():
    assert RECORD.carriers == (1000, 1001, 1002)
    assert set(RECORD.where.values()) == {1000, 1002}
    assert not RECORD.state.keys() & {"where", "carriers", "generation"}


def test_of_a_record_by_another_version_the_placement_stays():
    strange = RECORD.model_copy(update={"state": {"version": 99, "spell": 1}})
    assert round_state(strange, 1000) == replace(STATE, moved_at_ms=None, drifting_rounds=0)
