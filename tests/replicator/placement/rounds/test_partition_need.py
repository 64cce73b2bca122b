"""Needs of partitions are reported with their basis."""

from balancer.demand.demand import Basis
from balancer.demand.throughput_file import Throughput
from balancer.demand.window import Rate
from balancer.plan import Plan, TopicPartition
from replicator.mirror.offset_map.reports import PartitionReport
from replicator.orders.active_plan import ActivePlan
from replicator.orders.order_log import OrderLog
from replicator.placement.rounds.partition_need import needs_of
from replicator.placement.rounds.shares import Known
from replicator.placement.rounds.stream_round import Scene

LOOKED_AT, IN_FILE, MEAN, NEW = (TopicPartition("orders", number) for number in range(4))
RATE, TOLD = Rate(2e6, 900.0), Rate(1e6, 400.0)
KNOWN = Known(
    {LOOKED_AT: 0.2, IN_FILE: 0.1, MEAN: 0.15, NEW: 0.15},
    measured={LOOKED_AT},
    bases={
        LOOKED_AT: Basis.MEASURED,
        IN_FILE: Basis.FILE,
        MEAN: Basis.TOPIC,
        NEW: Basis.DEFAULT,
    },
)


def scene(**known) -> Scene:
    rates = {LOOKED_AT: RATE, IN_FILE: Rate(1.0, 1.0)}
    return Scene(
        now_ms=0,
        book=OrderLog(),
        in_force=ActivePlan(Plan(1, {}), 1, 0.0, ()),
        rates=rates,
        **known,
    )


def test_the_heaviest_comes_first_and_equal_ones_by_name():
    found = needs_of(scene(), KNOWN, {})
    assert [it.partition for it in found] == [LOOKED_AT, MEAN, NEW, IN_FILE]


def test_a_rate_is_that_of_which_the_load_was_made_and_none_where_it_is_anothers():
    throughput = Throughput({IN_FILE: TOLD})
    found = {it.partition: it for it in needs_of(scene(throughput=throughput), KNOWN, {})}
    assert (found[LOOKED_AT].rate, found[IN_FILE].rate) == (RATE, TOLD)
    assert found[MEAN].rate is found[NEW].rate is None
    assert [place for place, it in found.items() if it.is_fresh] == [LOOKED_AT]


def test_carrier_and_lag_are_told_where_they_are_known():
    report = PartitionReport("r", "orders", 0, 3, 0.0, 0.0, 10, 5, 5, 1.5, None, 1.0)
    found = needs_of(scene(reports={LOOKED_AT: report}), KNOWN, {LOOKED_AT: 3})
    assert (found[0].carrier, found[0].lag_records, found[0].lag_seconds) == (3, 5, 1.5)
    assert (found[1].carrier, found[1].lag_records, found[1].lag_seconds) == (None, None, None)
