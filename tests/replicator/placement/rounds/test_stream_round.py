"""Rounds of a stream: records follow from the snapshot and the last round state."""

import pytest

from balancer.decision.placement import Scope
from balancer.demand.carrier_memory import partitions_within
from balancer.demand.throughput_file import Throughput
from balancer.demand.window import Rate
from balancer.topic_partition import TopicPartition
from replicator.config.balance_settings import BalanceSettings
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
from replicator.placement.rounds.placement_record import round_state
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

CAPACITY = BalanceSettings(capacity_mib_per_second=10.0, carriers_max=8, cool_down_seconds=0.0)
UNMEASURED = {"rates": {}, "fresh": set(), "degraded": "not measured yet"}
HEAVY = {**rates(), PARTITIONS[0]: Rate(3 * MIB, 1)}


def stream_round(stream="default", settings=CAPACITY):
    return StreamRound(settings, ROUTE, stream, "balancer")


def placed_by(outcome):
    return next(each for each in outcome.records if isinstance(each, Placed))


def written(rounds, at):
    outcome = rounds.round(at)
    rounds.accept(outcome)
    return outcome


def test_a_first_round_gives_as_many_carriers_as_the_traffic_needs():
    placed = placed_by(stream_round().round(snapshot()))
    # 12 MiB/s, on carriers of 10 MiB/s that are planned for 7.
    assert placed.generation == 1 and placed.carriers == (0, 1)
    assert set(placed.where) == set(PARTITIONS)
    more = placed_by(stream_round().round(snapshot(rates=rates(2.0))))
    assert len(more.carriers) == 4


def test_the_next_round_does_not_continue_from_an_outcome_that_was_not_written():
    rounds = stream_round()
    assert placed_by(rounds.round(snapshot())).generation == 1
    assert placed_by(rounds.round(snapshot())).generation == 1
    written(rounds, snapshot())
    assert not rounds.round(snapshot()).records


def test_a_restarted_balancer_continues_from_the_order_log():
    first = placed_by(stream_round().round(snapshot()))
    again = stream_round().round(snapshot(order_log_of(first)))
    assert not again.records and again.status.generation == 1
    state = round_state(first, 0)
    assert state.wanted is not None and state.generation == 1


@pytest.mark.parametrize("ahead_ms", [-3_600_000, -60_000, 0, 60_000, 3_600_000])
def test_a_cool_down_lasts_as_long_after_a_balancer_with_another_clock(ahead_ms):
    # It is 08:00 by our clock, and 200 s were left as the placement was written.
    outcome = stream_round(settings=COOLS_DOWN).round(snapshot(moved(ahead_ms)))
    assert outcome.status.held == "cool-down until 08:03:20 UTC"


@pytest.mark.parametrize("ahead_ms", [-3_600_000, 0, 3_600_000])
def test_a_cool_down_ends_though_a_balancer_restarts_every_minute(ahead_ms):
    """Each is active for 50 s, by a clock of its own, and hours may pass between two of them."""
    log, left = moved(ahead_ms, uptime_ms=7_000), []
    for restart in range(6):
        now_ms, uptime_ms = NOW_MS + restart * (3_600_000 - ahead_ms), 7_000 + restart * 50_000
        outcome = stream_round(settings=COOLS_DOWN).round(
            snapshot(log, now_ms=now_ms, uptime_ms=uptime_ms)
        )
        left.append(seconds_left(outcome, now_ms))
    assert left == [200, 150, 100, 50, None, None]


def seconds_left(outcome, now_ms):
    """Returns how long the cool-down lasts yet; None when it is over."""
    if outcome.status.held is None:
        return None
    hours, minutes, seconds = map(int, outcome.status.held.split()[2].split(":"))
    return (hours * 3600 + minutes * 60 + seconds - now_ms // 1000) % 86400


def test_a_placement_has_the_uptime_of_the_balancers():
    placed = placed_by(stream_round().round(snapshot(uptime_ms=42)))
    assert placed.uptime_ms == 42
    assert placed.model_copy(update={"state": {}}).uptime_ms == 0


COOLS_DOWN = BalanceSettings(capacity_mib_per_second=10.0, carriers_max=8, cool_down_seconds=300.0)


def moved(ahead_ms, **state):
    """Returns the log of a balancer that moved partitions 100 s before it placed, and has ended.

    Args:
        ahead_ms: of its clock.
        state: more fields of the placement's state.
    """
    first = placed_by(stream_round().round(snapshot(now_ms=NOW_MS + ahead_ms)))
    state = {**first.state, "moved_at_ms": first.at_ms - 100_000, **state}
    return order_log_of(first.model_copy(update={"state": state}))


def test_a_placement_by_another_version_is_continued_all_the_same():
    first = placed_by(stream_round().round(snapshot()))
    strange = first.model_copy(update={"state": {"version": 99, "spell": 1}})
    assert not stream_round().round(snapshot(order_log_of(strange))).records


def test_nothing_is_placed_while_no_traffic_is_known():
    outcome = stream_round().round(snapshot(**UNMEASURED))
    assert not outcome.records and outcome.status.degraded == "not measured yet"


def test_without_measurements_a_plan_follows_a_file():
    heavy = {each: Rate((3.5 if each.partition < 2 else 0.1) * MIB, 1000) for each in PARTITIONS}
    outcome = stream_round().round(snapshot(**UNMEASURED, throughput=Throughput(heavy)))
    placed = placed_by(outcome)
    assert len(placed.carriers) == 2
    assert placed.where[PARTITIONS[0]] != placed.where[PARTITIONS[1]]
    assert outcome.status.measured_part == 0.0 and outcome.status.degraded is None


def test_measurements_count_before_a_file_as_long_as_they_can_be_believed():
    light = Throughput({}, {"orders": Rate(0.1 * MIB, 100)})
    assert len(placed_by(stream_round().round(snapshot(throughput=light))).carriers) == 2
    old = snapshot(throughput=light, degraded="last measured 9000 s ago", fresh=set())
    assert len(placed_by(stream_round().round(old)).carriers) == 1


def test_a_file_with_too_few_partitions_replaces_no_measurements():
    few = Throughput(dict.fromkeys(PARTITIONS[:9], Rate(MIB, 1000)))
    outcome = stream_round().round(snapshot(**UNMEASURED, throughput=few))
    assert not outcome.records
    assert outcome.status.degraded == (
        "not measured yet; throughput_file has rates of 9 of 12 partitions"
    )


def test_a_route_that_was_measured_moves_nothing_by_a_file_that_need_not():
    rounds = stream_round()
    written(rounds, snapshot())
    heavy = {each: Rate((3 if each.partition == 0 else 0.5) * MIB, 1) for each in PARTITIONS}
    for at in range(1, 6):
        known = {"fresh": set(), "degraded": "gone", "throughput": Throughput(heavy)}
        outcome = written(rounds, snapshot(now_ms=NOW_MS + at * 60_000, **known))
        assert not outcome.records and "are measured" in outcome.status.held


def test_a_carrier_gets_no_more_partitions_than_fit_into_its_memory():
    settings = CAPACITY.model_copy(
        update={"memory_mib": 768, "carriers_max": 2, "partitions_max": 1_000_000}
    )
    many = [TopicPartition("idle", number) for number in range(3 * partitions_within(768 << 20))]
    known = {"rates": {}, "fresh": set(), "active_plan": active_plan(many)}
    outcome = stream_round(settings=settings).round(snapshot(**known))
    assert set(placed_by(outcome).where) == set(many)
    assert any(
        each.name == "no room" and "raise carriers_max or memory_mib" in each.text
        for each in outcome.status.alerts
    )


def test_paused_partitions_are_left_out_and_have_not_vanished():
    rounds = stream_round()
    written(rounds, snapshot())
    order_log = order_log_of(Pause(**ORDER, topic="orders", partition=3))
    carried = [each for each in PARTITIONS if each.partition != 3]
    plan = active_plan(carried, [PARTITIONS[3]])
    outcome = rounds.round(snapshot(order_log, active_plan=plan))
    assert set(placed_by(outcome).where) == set(carried)
    assert outcome.status.held is None


def test_pins_and_exclusions_are_followed():
    rounds = stream_round()
    written(rounds, snapshot())
    order_log = order_log_of(
        Pin(**ORDER, topic="orders", partition=3, carrier=1), Exclusion(**ORDER, carrier=0)
    )
    placed = placed_by(rounds.round(snapshot(order_log)))
    assert 0 not in placed.carriers and placed.where[PARTITIONS[3]] == 1


def test_a_hold_keeps_partitions_that_could_move_and_shows_in_the_status():
    rounds = stream_round()
    written(rounds, snapshot())
    held = order_log_of(Hold(**ORDER))
    for at in range(5):
        outcome = written(rounds, snapshot(held, NOW_MS + at * 60_000, rates=HEAVY))
        assert not outcome.records and outcome.status.held == "moves are paused"


def order(generation, scope=Scope.FULL):
    return ByHand(**ORDER, id="x", scope=scope, generation=generation)


def test_a_manual_order_is_answered_and_deleted_in_the_same_step():
    rounds = stream_round()
    first = placed_by(written(rounds, snapshot()))
    outcome = rounds.round(snapshot(order_log_of(first, order(1)), rates=HEAVY))
    answer = next(each for each in outcome.records if isinstance(each, Answer))
    assert answer.refused is None and answer.id == "x"
    assert answer.generation == placed_by(outcome).generation == 2
    assert outcome.tombstones == (key_of(order(1)),)


def test_an_order_that_is_still_in_the_log_is_answered_once():
    rounds = stream_round()
    first = placed_by(written(rounds, snapshot()))
    order_log = order_log_of(first, order(1))
    assert any(isinstance(each, Answer) for each in written(rounds, snapshot(order_log)).records)
    again = rounds.round(snapshot(order_log))
    assert not again.records and not again.tombstones


def test_an_order_for_another_generation_is_refused_and_changes_nothing():
    rounds = stream_round()
    written(rounds, snapshot())
    outcome = rounds.round(snapshot(order_log_of(order(7))))
    (answer,) = outcome.records
    assert "generation 7" in answer.refused and answer.generation == 1


def test_an_order_while_no_load_is_known_is_refused_with_the_reason():
    outcome = stream_round().round(snapshot(order_log_of(order(0)), **UNMEASURED))
    (answer,) = outcome.records
    assert "not measured yet" in answer.refused and outcome.tombstones == (key_of(order(0)),)


def test_a_preview_has_the_placement_of_a_manual_order():
    order_log = order_log_of(placed_by(stream_round().round(snapshot())))
    preview = stream_round().round(snapshot(order_log, rates=HEAVY), Scope.FULL)
    ordered = order_log.after([(b"k", order(1))])
    manual = stream_round().round(snapshot(ordered, rates=HEAVY))
    assert preview.placement == manual.placement is not None


def test_a_stream_has_carrier_numbers_of_its_own():
    own = Stream(**ORDER, name="own", topics=("orders",), first_carrier=3000)
    placed = placed_by(stream_round("own").round(snapshot(order_log_of(own))))
    assert placed.carriers == (3000, 3001)
    assert set(placed.where.values()) == {3000, 3001}
    pin = Pin(**ORDER, topic="orders", partition=0, carrier=3001)
    pinned = placed_by(stream_round("own").round(snapshot(order_log_of(own, pin))))
    assert pinned.where[PARTITIONS[0]] == 3001
    assert placed_by(stream_round().round(snapshot(order_log_of(own)))).where == {}
