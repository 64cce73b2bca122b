"""Plans of loaders: every partition has one loader, traffic is spread, and little moves."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from aggregator.driver.feed_posting import FeedCluster
from aggregator.driver.loader_plan import PAUSE_SECONDS, SLACK, PlanPace, plan_loaders
from balancer.carrier_plan import Plan
from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName

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
