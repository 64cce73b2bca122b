"""Plans of the driver, and what operators have paused."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.carrier_plan import CarrierId, Plan
from balancer.topic_partition import TopicPartition
from replicator.config.topology import Route
from replicator.mirror.driver.paused import paused_subjects
from replicator.mirror.driver.planner import Planner
from replicator.notices.condition import Subject
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import Order, Pause, Placed, Stream, by_carrier, key_of

# -- Plans: as the balancer placed it, else by count; nothing is lost.

NOW = 1_000_000
ROUTE = "west.east"
WANTED = {
    route: [TopicPartition("orders", number) for number in range(6)]
    for route in (ROUTE, "east.east")
}

places = st.builds(TopicPartition, st.sampled_from("abcde"), st.integers(0, 12))
routes = st.sampled_from(["east.east", "west.east", "north.east"])
wishes = st.dictionaries(routes, st.frozensets(places, max_size=20), min_size=1)
histories = st.lists(st.tuples(wishes, st.integers(1, 6)), min_size=1, max_size=4)


def planned(wish, carriers=2, previous=None, order_log=None, slots=2):
    found = Planner(carriers).plan(wish, slots, previous or Plan(), order_log or OrderLog(), NOW)
    return found.plan


def after(history):
    plan = Plan()
    for wish, carriers in history:
        plan = planned(wish, carriers, plan)
    return plan


def order_log_of(*records):
    return OrderLog().after((key_of(each), each) for each in records)


def placed(where, carriers, route=ROUTE, stream="default", generation=1):
    return Placed(
        route=route,
        stream=stream,
        at_ms=1,
        who="balancer",
        generation=generation,
        carriers=tuple(carriers),
        topics=by_carrier(where.items()),
    )


def stream(name="own", first_carrier=1000, topics=("own.*",), **details):
    return Stream(
        route=ROUTE,
        at_ms=1,
        who="ann",
        name=name,
        topics=topics,
        first_carrier=first_carrier,
        **details,
    )


def counts(plan, route):
    return [len(plan.loads[carrier]) for carrier in plan.carriers(route)]


def where(plan):
    return {(c.route, place): c for c, load in plan.loads.items() for place in load}


# Without a balancer


def test_task_slots_are_shared_out_when_no_number_of_carriers_is_set():
    plan = planned(WANTED, 0, slots=4)
    assert [len(plan.carriers(route)) for route in WANTED] == [2, 2]


def test_a_set_number_of_carriers_is_kept_whatever_the_slots():
    plan = planned(WANTED, 3, slots=1)
    assert [len(plan.carriers(route)) for route in WANTED] == [3, 3]


@given(histories)
def test_every_partition_has_exactly_one_carrier_of_its_route(history):
    plan = after(history)
    found = Counter((c.route, place) for c, load in plan.loads.items() for place in load)
    wish, _ = history[-1]
    assert found == Counter((route, place) for route in wish for place in wish[route])


@given(histories, wishes)
def test_nothing_that_stays_moves_while_the_carriers_stay(history, wish):
    before = after(history)
    now = planned(wish, history[-1][1], before)
    was, is_now = where(before), where(now)
    assert all(was[key] == is_now[key] for key in was.keys() & is_now.keys())


@given(histories)
def test_counts_differ_by_one_at_most_once_the_carriers_changed(history):
    wish, carriers = history[-1]
    plan = planned(wish, carriers + 1, after(history))
    for route in wish:
        assert max(counts(plan, route)) - min(counts(plan, route)) <= 1


@given(wishes, st.integers(1, 6), st.integers(1, 6))
def test_a_change_of_carriers_moves_no_more_than_levelling_takes(wish, few, many):
    before = planned(wish, few)
    was, now = where(before), where(planned(wish, many, before))
    for route, wanted in wish.items():
        moved = sum(was[route, place] != now[route, place] for place in wanted)
        total, staying = len(wanted), min(few, many)
        rest = total % many
        shares = [total // many + (at < rest) for at in range(staying)]
        held = sorted(counts(before, route), reverse=True)
        least = total - sum(map(min, held[:staying], shares))
        assert moved <= least + abs(few - many)


@given(histories)
def test_the_same_wishes_give_the_same_plan(history):
    shuffled = [({r: sorted(w, reverse=True) for r, w in wish.items()}, c) for wish, c in history]
    assert after(history) == after(shuffled)


@given(histories)
def test_the_version_grows_only_when_the_loads_change(history):
    plan = after(history)
    wish, carriers = history[-1]
    assert planned(wish, carriers, plan) is plan
    extra = {**wish, "west.west": frozenset({TopicPartition("new", 0)})}
    assert planned(extra, carriers, plan).version == plan.version + 1


# With placements of a balancer


def test_what_the_balancer_placed_is_carried_there_whatever_the_slots():
    where = {each: each.partition % 3 for each in WANTED[ROUTE]}
    plan = planned(WANTED, 1, order_log=order_log_of(placed(where, [0, 1, 2, 7])), slots=1)
    assert [c.number for c in plan.carriers(ROUTE)] == [0, 1, 2, 7]
    assert all(plan.loads[CarrierId(ROUTE, where[each])].count(each) for each in where)
    assert len(plan.carriers("east.east")) == 1


def test_a_partition_that_the_balancer_does_not_know_yet_goes_where_fewest_are():
    where = {each: 0 if each.partition else 1 for each in WANTED[ROUTE][:5]}
    plan = planned({ROUTE: WANTED[ROUTE]}, order_log=order_log_of(placed(where, [0, 1])))
    assert WANTED[ROUTE][5] in plan.loads[CarrierId(ROUTE, 1)]


def test_a_topic_that_is_gone_is_not_carried_though_the_balancer_still_has_it():
    where = dict.fromkeys([*WANTED[ROUTE], TopicPartition("gone", 0)], 0)
    plan = planned({ROUTE: WANTED[ROUTE]}, order_log=order_log_of(placed(where, [0])))
    assert plan.loads == {CarrierId(ROUTE, 0): tuple(WANTED[ROUTE])}


def test_the_generations_that_a_plan_follows_are_told():
    order_log = order_log_of(placed(dict.fromkeys(WANTED[ROUTE], 0), [0], generation=7))
    assert Planner().plan(WANTED, 2, Plan(), order_log, NOW).generations == ((ROUTE, "default", 7),)


# Orders


@pytest.mark.parametrize("partition", [None, 2])
def test_what_is_paused_is_not_carried_and_is_named_and_comes_back(partition):
    pause = Pause(
        route=ROUTE, at_ms=1, who="ann", topic="orders", partition=partition, until_ms=NOW + 1
    )
    found = Planner(1).plan(WANTED, 2, Plan(), order_log_of(pause), NOW)
    paused = [each for each in WANTED[ROUTE] if partition in (None, each.partition)]
    assert list(found.paused[ROUTE]) == paused
    assert found.plan.partitions == 12 - len(paused)
    later = Planner(1).plan(WANTED, 2, found.plan, order_log_of(pause), NOW + 1)
    assert later.plan.partitions == 12 and later.paused[ROUTE] == ()


def test_a_streams_topics_have_carriers_of_their_own():
    own = [TopicPartition("own-1", 0), TopicPartition("own-2", 0)]
    wish = {ROUTE: [*WANTED[ROUTE], *own]}
    plan = planned(wish, 2, order_log=order_log_of(stream()))
    assert plan.loads[CarrierId(ROUTE, 1000)] == tuple(own)
    assert counts(plan, ROUTE) == [3, 3, 2]


def test_of_two_streams_that_match_a_topic_the_first_by_name_has_it():
    wish = {ROUTE: [TopicPartition("own-1", 0)]}
    order_log = order_log_of(stream("b", 1000), stream("a", 2000, (".*-1",)))
    plan = planned(wish, 1, order_log=order_log)
    assert plan.loads[CarrierId(ROUTE, 2000)] == (TopicPartition("own-1", 0),)


def test_a_paused_streams_topics_are_carried_by_nobody():
    wish = {ROUTE: [*WANTED[ROUTE], TopicPartition("own-1", 0)]}
    found = Planner(1).plan(wish, 2, Plan(), order_log_of(stream(is_paused=True)), NOW)
    assert found.plan.partitions == 6
    assert found.paused[ROUTE] == (TopicPartition("own-1", 0),)


def test_streams_that_were_given_the_same_carriers_share_them_and_nothing_is_left_out():
    own = [TopicPartition("aa-1", 0), TopicPartition("bb-1", 0)]
    order_log = order_log_of(stream("aa", 1000, ("aa.*",)), stream("bb", 1000, ("bb.*",)))
    plan = planned({ROUTE: own}, 1, order_log=order_log)
    assert plan.loads[CarrierId(ROUTE, 1000)] == tuple(own)


# -- Paused topics and partitions are named with the operator who paused them.

PAUSED_ROUTE = Route("west", "east")
SAID = {"route": PAUSED_ROUTE.key, "at_ms": 1000, "who": "ann@ops"}
ORDERS, OTHER, TRADES = (
    TopicPartition("orders", 0),
    TopicPartition("orders", 1),
    TopicPartition("trades", 0),
)


def found(partitions: list[TopicPartition], *orders: Order) -> dict[Subject, str]:
    log = OrderLog().after((key_of(order), order) for order in orders)
    return paused_subjects(PAUSED_ROUTE, partitions, log, 2000)


def test_a_paused_topic_is_one_subject_however_many_partitions_it_has() -> None:
    pause = Pause(**SAID, why="load test", topic="orders")
    assert found([ORDERS, OTHER], pause) == {
        Subject("west>east", topic="orders"): "paused by ann@ops: load test"
    }


def test_a_paused_partition_is_named_alone() -> None:
    pause = Pause(**SAID, topic="orders", partition=1)
    assert found([OTHER], pause) == {
        Subject("west>east", topic="orders", partition=1): "paused by ann@ops"
    }


def test_topics_of_a_paused_stream_are_named() -> None:
    stream = Stream(
        **SAID, why="disks", name="bulk", topics=("orders", "trades"), first_carrier=1000,
        is_paused=True,
    )  # fmt: skip
    assert set(found([ORDERS, OTHER, TRADES], stream)) == {
        Subject("west>east", topic="orders"),
        Subject("west>east", topic="trades"),
    }


def test_what_no_order_pauses_any_more_is_not_named() -> None:
    over = Pause(**SAID, topic="orders", until_ms=1500)
    assert found([ORDERS], over) == {}
    assert found([]) == {}
