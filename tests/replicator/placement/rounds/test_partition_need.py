"""Needs of partitions are reported with their basis."""

from balancer.carrier_plan import Plan
from balancer.demand.demand import Basis
from balancer.demand.throughput_file import Throughput
from balancer.demand.window import Rate
from balancer.topic_partition import TopicPartition
from replicator.mirror.offset_map.reports import PartitionReport
from replicator.orders.active_plan import ActivePlan
from replicator.orders.order_log import OrderLog
from replicator.placement.rounds.partition_need import needs_of
from replicator.placement.rounds.route_snapshot import RouteSnapshot
from replicator.placement.rounds.shares import ShareEstimates

MEASURED, IN_FILE, MEAN, NEW = (TopicPartition("orders", number) for number in range(4))
RATE, RATE_IN_FILE = Rate(2e6, 900.0), Rate(1e6, 400.0)
ESTIMATES = ShareEstimates(
    {MEASURED: 0.2, IN_FILE: 0.1, MEAN: 0.15, NEW: 0.15},
    measured={MEASURED},
    bases={
        MEASURED: Basis.MEASURED,
        IN_FILE: Basis.FILE,
        MEAN: Basis.TOPIC,
        NEW: Basis.DEFAULT,
    },
)


def snapshot(**known) -> RouteSnapshot:
    rates = {MEASURED: RATE, IN_FILE: Rate(1.0, 1.0)}
    return RouteSnapshot(
        now_ms=0,
        order_log=OrderLog(),
        active_plan=ActivePlan(Plan(1, {}), 1, 0.0, ()),
        rates=rates,
        **known,
    )


def test_the_heaviest_comes_first_and_equal_ones_by_name():
    found = needs_of(snapshot(), ESTIMATES, {})
    assert [it.partition for it in found] == [MEASURED, MEAN, NEW, IN_FILE]


def test_a_rate_is_shown_if_the_share_follows_from_it():
    throughput = Throughput({IN_FILE: RATE_IN_FILE})
    found = {it.partition: it for it in needs_of(snapshot(throughput=throughput), ESTIMATES, {})}
    assert (found[MEASURED].rate, found[IN_FILE].rate) == (RATE, RATE_IN_FILE)
    assert found[MEAN].rate is found[NEW].rate is None
    assert [partition for partition, it in found.items() if it.is_fresh] == [MEASURED]


def test_carrier_and_lag_are_shown_where_they_are_known():
    report = PartitionReport("r", "orders", 0, 3, 0.0, 0.0, 10, 5, 5, 1.5, None, 1.0)
    found = needs_of(snapshot(reports={MEASURED: report}), ESTIMATES, {MEASURED: 3})
    assert (found[0].carrier, found[0].lag_records, found[0].lag_seconds) == (3, 5, 1.5)
    assert (found[1].carrier, found[1].lag_records, found[1].lag_seconds) == (None, None, None)
