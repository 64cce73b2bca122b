"""Plans of loaders: made by traffic, posted, and read by the tasks."""

from __future__ import annotations

import time
from itertools import pairwise
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from aggregator.driver.feed_leadership import KEPT, Traffic
from aggregator.driver.feed_posting import FeedCluster, FeedPosting, FeedPostingFile
from aggregator.driver.feed_source import kept_loading
from aggregator.driver.loader_plan import PAUSE_SECONDS, SLACK, PlanPace, plan_loaders
from balancer.carrier_plan import CarrierId, Plan
from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.notices.condition import Kind
from replicator.notices.conditions import Conditions
from replicator.orders.feed_orders import FeedOrders
from replicator.spark.driver_command import Term

# -- Plans of loaders: every partition has one loader, traffic is spread, and little moves.

EAST = FeedCluster("flights", ClusterName("east aggregate"))
WEST = FeedCluster("flights", ClusterName("west regional"))


def partitions(count, topic="t"):
    return [TopicPartition(topic, number) for number in range(count)]


def where(plan, each):
    return {p: c.number for c in plan.carriers(each.key) for p in plan.loads[c]}


@given(st.integers(0, 20), st.integers(0, 20), st.integers(1, 6))
def test_every_partition_has_exactly_one_loader(east, west, slots):
    wanted = {EAST: partitions(east), WEST: partitions(west, "u")}
    plan = plan_loaders(wanted, slots, Plan(), {})
    for each, some in wanted.items():
        loads = [p for c in plan.carriers(each.key) for p in plan.loads[c]]
        assert sorted(loads) == sorted(some)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=20), st.integers(1, 5))
def test_no_loader_has_more_than_the_mean_and_one_partition(rates, slots):
    some = partitions(len(rates))
    weights = {EAST: dict(zip(some, rates, strict=True))}
    plan = plan_loaders({EAST: some}, slots, Plan(), weights)
    loads = [sum(weights[EAST][p] for p in plan.loads[c]) for c in plan.carriers(EAST.key)]
    mean = sum(rates) / min(slots, len(rates))
    assert max(loads) <= mean + max(rates) * 1.01 + 1e-6


def test_an_unchanged_world_keeps_the_very_same_plan():
    wanted = {EAST: partitions(7)}
    first = plan_loaders(wanted, 2, Plan(), {})
    assert plan_loaders(wanted, 2, first, {}) is first
    assert first.version == 1


def test_a_new_partition_moves_no_other():
    first = plan_loaders({EAST: partitions(6)}, 2, Plan(), {})
    second = plan_loaders({EAST: partitions(7)}, 2, first, {})
    before, after = where(first, EAST), where(second, EAST)
    assert all(after[p] == at for p, at in before.items())
    assert second.version == first.version + 1


def test_traffic_within_the_slack_moves_nothing():
    first = plan_loaders({EAST: partitions(4)}, 2, Plan(), {})
    rates = {p: 100.0 + p.partition for p in partitions(4)}
    assert SLACK > 0.1
    assert plan_loaders({EAST: partitions(4)}, 2, first, {EAST: rates}) is first


def test_a_feed_with_fewer_partitions_than_slots_has_no_idle_loaders():
    plan = plan_loaders({EAST: partitions(1)}, 8, Plan(), {})
    assert [len(load) for load in plan.loads.values()] == [1]


def made(changes, until):
    """Returns when plans are made that follow changes at these times, with a look each second."""
    pace, found, left = PlanPace(), [], sorted(changes)
    for now in map(float, range(until)):
        if left and left[0] <= now and pace.seconds_left(now) == 0:
            pace.made(now)
            found.append(now)
            left = [each for each in left if each > now]
    return found


def test_the_first_change_after_a_quiet_time_is_followed_at_once():
    assert made([0, 1000, 2000], 2100) == [0, 1000, 2000]


def test_plans_are_rare_while_changes_go_on():
    plans = made(range(0, 600, 10), 700)
    gaps = [later - each for each, later in pairwise(plans)]
    assert len(plans) <= 14 and max(gaps) <= PAUSE_SECONDS[1] + 10


def test_a_change_is_never_left_out():
    assert made([0, 1], 100)[-1] <= PAUSE_SECONDS[0] + 1


def test_after_a_storm_of_changes_plans_follow_sooner_again():
    storm = made(range(0, 600, 10), 700)
    assert made([*range(0, 600, 10), 2000, 3000, 4000], 4100)[len(storm) :] == [2000, 3000, 4000]


# -- Traffic of partitions from the growth of their logs.

ONE, TWO = TopicPartition("t", 0), TopicPartition("t", 1)


def test_two_looks_give_records_per_second():
    traffic = Traffic()
    traffic.look(EAST, {ONE: 100, TWO: 0}, 10.0)
    assert traffic.weights([EAST]) == {EAST: {}}
    traffic.look(EAST, {ONE: 300, TWO: 0}, 20.0)
    assert traffic.weights([EAST]) == {EAST: {ONE: 20.0, TWO: 0.0}}


def test_old_traffic_counts_on_and_fades():
    traffic = Traffic()
    for at, end in ((0.0, 0), (10.0, 1000), (20.0, 1000)):
        traffic.look(EAST, {ONE: end}, at)
    assert traffic.weights([EAST])[EAST][ONE] == KEPT * 100.0


def test_a_log_that_was_cut_counts_as_quiet():
    traffic = Traffic()
    traffic.look(EAST, {ONE: 1000}, 0.0)
    traffic.look(EAST, {ONE: 10}, 10.0)
    assert traffic.weights([EAST])[EAST][ONE] == 0.0


def test_a_partition_that_is_seen_once_has_no_traffic_yet():
    traffic = Traffic()
    traffic.look(EAST, {ONE: 0}, 0.0)
    traffic.look(EAST, {ONE: 50, TWO: 9}, 10.0)
    assert traffic.weights([EAST])[EAST] == {ONE: 5.0}


# -- Postings of a region's feeds: what the driver writes is what the reader of the stream gets.

CLUSTER = ClusterName("east aggregate")


def posting():
    loads = {CarrierId(EAST.key, number): (TopicPartition("t", number),) for number in range(3)}
    return FeedPosting(
        Plan(4, loads),
        2,
        {CLUSTER: Term(7, 3)},
        {"flights": FeedOrders(feed="flights")},
        unconditional=frozenset({EAST}),
    )


def test_a_posting_survives_its_file(tmp_path):
    file = FeedPostingFile(tmp_path / "posting.json")
    assert file.read() is None
    file.write(posting())
    assert file.read() == posting()


def test_a_key_names_its_feed_and_cluster():
    assert FeedCluster.parse(EAST.key) == EAST


def test_loaders_share_the_tasks_that_there_are():
    assert [len(each) for each in posting().loaders_by_task()] == [2, 1]


# -- Tasks of a feed: a loader that fails is begun again, and shown as failed until it works.


async def test_a_loader_that_failed_has_a_condition_until_it_works_again():
    held = []

    async def load(appliance, assignment, conditions):
        held.append([(it.kind, it.feed, it.cluster, it.text) for it in conditions.current])
        if len(held) == 1:
            raise ValueError("a fault")
        conditions.replace(Kind.LOADER_FAILED, {})
        return "receipts"

    conditions = Conditions("loader 1 of flights in west regional")
    assignment = SimpleNamespace(
        feed=SimpleNamespace(name="flights"),
        cluster="west regional",
        partitions=(),
        plan_version=3,
        deadline=time.monotonic() + 60.0,
        log_fields="feed=flights",
    )
    assert await kept_loading(None, assignment, conditions, load) == "receipts"
    expected = ("loader-failed", "flights", "west regional", "unexpected ValueError: a fault")
    assert held == [[], [expected]]
    assert conditions.current == ()
