"""Rounds of a stream: records follow from the snapshot and the last round state."""

from dataclasses import replace

import pytest

from balancer.decision.placement import Scope
from balancer.demand.carrier_memory import partitions_within
from balancer.demand.load_model import Factors
from balancer.demand.throughput_file import Throughput
from balancer.demand.window import Rate
from balancer.plan import CarrierId, Plan, TopicPartition
from replicator.config.balance_settings import BalanceSettings
from replicator.config.topology import Route
from replicator.mirror.offset_map.reports import PartitionReport
from replicator.orders.active_plan import ActivePlan
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import (
    Answer,
    ByHand,
    Exclusion,
    Hold,
    Pause,
    Pin,
    Placed,
    Stream,
    key_of,
)
from replicator.placement.rounds.stream_round import Scene, StreamRound, standing_of

ROUTE = Route("west", "east")
NOW = 1_800_000_000_000
PARTITIONS = [TopicPartition("orders", number) for number in range(12)]
SAID = {"route": ROUTE.key, "at_ms": NOW - 5000, "who": "ann@host"}
CAPACITY = BalanceSettings(capacity_mib_per_second=10.0, carriers_max=8, cool_down_seconds=0.0)
MIB = 1 << 20


def rates(mib=1.0):
    return {each: Rate(mib * MIB, 1000) for each in PARTITIONS}


def in_force(partitions=PARTITIONS, paused=(), slots=2, carriers=(0, 1)):
    loads = {
        CarrierId(ROUTE.key, number): tuple(partitions[at :: len(carriers)])
        for at, number in enumerate(carriers)
    }
    return ActivePlan(Plan(1, loads), slots, NOW / 1000 - 1, (), ((ROUTE.key, tuple(paused)),))


def scene(book=None, now_ms=NOW, **known):
    known = {"rates": rates(), "fresh": set(PARTITIONS), "in_force": in_force(), **known}
    return Scene(now_ms=now_ms, book=book or OrderLog(), **known)


def book_of(*records):
    return OrderLog().after((key_of(each), each) for each in records)


def stream_round(stream="default", settings=CAPACITY):
    return StreamRound(settings, ROUTE, stream, "balancer")


def placed_by(outcome):
    return next(each for each in outcome.records if isinstance(each, Placed))


def written(rounds, at):
    outcome = rounds.round(at)
    rounds.written(outcome)
    return outcome


def test_a_first_round_gives_as_many_carriers_as_the_traffic_needs():
    placed = placed_by(stream_round().round(scene()))
    # 12 MiB/s, on carriers of 10 MiB/s that are planned for 7.
    assert placed.generation == 1 and placed.carriers == (0, 1)
    assert set(placed.where) == set(PARTITIONS)
    more = placed_by(stream_round().round(scene(rates=rates(2.0))))
    assert len(more.carriers) == 4


def test_what_is_not_written_does_not_hold():
    rounds = stream_round()
    assert placed_by(rounds.round(scene())).generation == 1
    assert placed_by(rounds.round(scene())).generation == 1
    written(rounds, scene())
    assert not rounds.round(scene()).records


def test_a_balancer_that_is_started_again_goes_on_from_what_the_log_says():
    first = placed_by(stream_round().round(scene()))
    again = stream_round().round(scene(book_of(first)))
    assert not again.records and again.status.generation == 1
    standing = standing_of(first, 0)
    assert standing.wanted is not None and standing.generation == 1


def test_a_placement_by_another_version_is_gone_on_from_all_the_same():
    first = placed_by(stream_round().round(scene()))
    strange = first.model_copy(update={"state": {"version": 99, "spell": 1}})
    assert standing_of(strange, 0).where == first.where
    assert not stream_round().round(scene(book_of(strange))).records


def test_while_nothing_is_known_of_traffic_nothing_is_placed():
    outcome = stream_round().round(scene(rates={}, fresh=set(), degraded="not looked at yet"))
    assert not outcome.records and outcome.status.degraded == "not looked at yet"


def test_where_nothing_was_looked_at_a_plan_follows_a_file():
    heavy = {each: Rate((3.5 if each.partition < 2 else 0.1) * MIB, 1000) for each in PARTITIONS}
    unseen = {"rates": {}, "fresh": set(), "degraded": "not looked at yet"}
    outcome = stream_round().round(scene(**unseen, throughput=Throughput(heavy)))
    placed = placed_by(outcome)
    assert len(placed.carriers) == 2
    assert placed.where[PARTITIONS[0]] != placed.where[PARTITIONS[1]]
    assert outcome.status.measured_part == 0.0 and outcome.status.degraded is None


def test_what_was_looked_at_counts_before_a_file_as_long_as_it_is_to_be_believed():
    light = Throughput({}, {"orders": Rate(0.1 * MIB, 100)})
    assert len(placed_by(stream_round().round(scene(throughput=light))).carriers) == 2
    old = scene(throughput=light, degraded="last looked at 9000 s ago", fresh=set())
    assert len(placed_by(stream_round().round(old)).carriers) == 1


def test_a_file_that_tells_of_too_few_partitions_stands_for_no_looks():
    told = Throughput(dict.fromkeys(PARTITIONS[:9], Rate(MIB, 1000)))
    unseen = {"rates": {}, "fresh": set(), "degraded": "not looked at yet"}
    outcome = stream_round().round(scene(**unseen, throughput=told))
    assert not outcome.records
    assert outcome.status.degraded == (
        "not looked at yet; throughput_file tells of 9 of 12 partitions"
    )


def test_a_route_that_was_measured_moves_nothing_by_a_file_that_need_not():
    rounds = stream_round()
    written(rounds, scene())
    heavy = {each: Rate((3 if each.partition == 0 else 0.5) * MIB, 1) for each in PARTITIONS}
    for at in range(1, 6):
        known = {"fresh": set(), "degraded": "gone", "throughput": Throughput(heavy)}
        outcome = written(rounds, scene(now_ms=NOW + at * 60_000, **known))
        assert not outcome.records and "are measured" in outcome.status.held


def test_a_carrier_gets_no_more_partitions_than_its_memory_is_enough_for():
    settings = CAPACITY.model_copy(
        update={"memory_mib": 768, "carriers_max": 2, "partitions_max": 1_000_000}
    )
    many = [TopicPartition("idle", number) for number in range(3 * partitions_within(768 << 20))]
    known = {"rates": {}, "fresh": set(), "in_force": in_force(many)}
    outcome = stream_round(settings=settings).round(scene(**known))
    assert set(placed_by(outcome).where) == set(many)
    assert any(
        each.name == "no room" and "raise carriers_max or memory_mib" in each.text
        for each in outcome.status.alerts
    )


def test_paused_partitions_are_left_out_and_have_not_vanished():
    rounds = stream_round()
    written(rounds, scene())
    book = book_of(Pause(**SAID, topic="orders", partition=3))
    rest = [each for each in PARTITIONS if each.partition != 3]
    outcome = rounds.round(scene(book, in_force=in_force(rest, [PARTITIONS[3]])))
    assert set(placed_by(outcome).where) == set(rest)
    assert outcome.status.held is None


def test_pins_and_exclusions_are_followed():
    rounds = stream_round()
    written(rounds, scene())
    book = book_of(
        Pin(**SAID, topic="orders", partition=3, carrier=1), Exclusion(**SAID, carrier=0)
    )
    placed = placed_by(rounds.round(scene(book)))
    assert 0 not in placed.carriers and placed.where[PARTITIONS[3]] == 1


def test_a_hold_keeps_what_could_move_and_says_so():
    rounds = stream_round()
    written(rounds, scene())
    heavy = {**rates(), PARTITIONS[0]: Rate(3 * MIB, 1)}
    for at in range(5):
        outcome = written(rounds, scene(book_of(Hold(**SAID)), NOW + at * 60_000, rates=heavy))
        assert not outcome.records and outcome.status.held == "moves are paused"


def order(generation, scope=Scope.FULL):
    return ByHand(**SAID, id="x", scope=scope, generation=generation)


def test_an_order_by_hand_is_answered_and_taken_back_in_the_same_step():
    rounds = stream_round()
    first = placed_by(written(rounds, scene()))
    heavy = {**rates(), PARTITIONS[0]: Rate(3 * MIB, 1)}
    outcome = rounds.round(scene(book_of(first, order(1)), rates=heavy))
    answer = next(each for each in outcome.records if isinstance(each, Answer))
    assert answer.refused is None and answer.id == "x"
    assert answer.generation == placed_by(outcome).generation == 2
    assert outcome.taken_back == (key_of(order(1)),)


def test_an_order_is_answered_once_though_it_is_still_seen_for_a_while():
    rounds = stream_round()
    first = placed_by(written(rounds, scene()))
    book = book_of(first, order(1))
    assert any(isinstance(each, Answer) for each in written(rounds, scene(book)).records)
    again = rounds.round(scene(book))
    assert not again.records and not again.taken_back


def test_an_order_upon_another_generation_is_refused_and_changes_nothing():
    rounds = stream_round()
    written(rounds, scene())
    outcome = rounds.round(scene(book_of(order(7))))
    (answer,) = outcome.records
    assert "generation 7" in answer.refused and answer.generation == 1


def test_an_order_while_nothing_is_known_of_loads_is_refused_with_the_reason():
    book = book_of(order(0))
    outcome = stream_round().round(scene(book, rates={}, fresh=set(), degraded="not looked at"))
    (answer,) = outcome.records
    assert "not looked at" in answer.refused and outcome.taken_back == (key_of(order(0)),)


def test_alerts_of_a_stream_name_carriers_by_the_numbers_that_people_see():
    own = Stream(**SAID, name="own", topics=("orders",), first_carrier=3000)
    pin = Pin(**SAID, topic="orders", partition=0, carrier=3007)
    alerts = stream_round("own").round(scene(book_of(own, pin))).status.alerts
    assert any("no carrier 3007" in each.text for each in alerts)


def test_a_preview_is_what_an_order_by_hand_would_do():
    book = book_of(placed_by(stream_round().round(scene())))
    heavy = {**rates(), PARTITIONS[0]: Rate(3 * MIB, 1)}
    preview = stream_round().round(scene(book, rates=heavy), Scope.FULL)
    ordered = stream_round().round(scene(book.after([(b"k", order(1))]), rates=heavy))
    assert preview.placement == ordered.placement is not None


def test_a_stream_has_carriers_of_its_own_numbers():
    own = Stream(**SAID, name="own", topics=("orders",), first_carrier=3000)
    placed = placed_by(stream_round("own").round(scene(book_of(own))))
    assert placed.carriers == (3000, 3001)
    assert set(placed.where.values()) == {3000, 3001}
    pin = Pin(**SAID, topic="orders", partition=0, carrier=3001)
    pinned = placed_by(stream_round("own").round(scene(book_of(own, pin))))
    assert pinned.where[PARTITIONS[0]] == 3001
    assert placed_by(stream_round().round(scene(book_of(own)))).where == {}


@pytest.mark.parametrize(("age", "is_silent"), [(1.0, False), (60.0, True)])
def test_a_carrier_that_does_not_report_is_silent_and_moves_stop(age, is_silent):
    rounds = stream_round()
    written(rounds, scene())
    now = NOW + 60_000
    reports = {
        each: PartitionReport(
            "r", *each, each.partition % 2, 1.0, 1.0, 1, 1, 0, 0.0, None, now / 1000 - age
        )
        for each in PARTITIONS
    }
    settled = replace(in_force(), posted_at=NOW / 1000 - 60)
    outcome = rounds.round(scene(now_ms=now, reports=reports, in_force=settled))
    assert (outcome.status.held is not None) is is_silent


def test_what_loads_were_reckoned_with_is_told_and_a_capacity_that_is_set_counts_before_all():
    measured = (Factors(2e-9, 1e-8), Factors(3e-9, 1e-6))
    status = stream_round(settings=BalanceSettings()).round(scene(measured=measured)).status
    assert (status.unopened.per_byte, status.opened.per_record) == (2e-9, 1e-6)
    status = stream_round().round(scene(measured=measured)).status
    assert status.unopened == status.opened
    assert status.unopened.per_byte == pytest.approx(1 / (CAPACITY.capacity_mib_per_second * MIB))


def test_a_hot_partition_is_named_with_its_topic():
    hot = {**rates(0.1), PARTITIONS[0]: Rate(9 * MIB, 1)}
    alerts = stream_round().round(scene(rates=hot)).status.alerts
    assert any(each.name == "hot partition" and "orders" in each.text for each in alerts)


def test_carriers_of_other_streams_and_routes_count_where_task_slots_are_few():
    theirs: dict[CarrierId, tuple[TopicPartition, ...]] = {
        CarrierId(ROUTE.key, 1000): (TopicPartition("own", 0),),
        CarrierId("east.east", 0): (TopicPartition("own", 0),),
        CarrierId("east.east", 1): (),
    }
    ours = in_force(slots=3)
    shown = replace(ours, plan=Plan(1, {**ours.plan.loads, **theirs}))
    status = stream_round().round(scene(in_force=shown)).status
    (alert,) = status.alerts
    assert "2 carriers, and 2 of other streams, share 3 task slots" in alert.text
    assert not stream_round().round(scene(in_force=replace(shown, slots=4))).status.alerts
