"""Inputs of a round: the snapshot of a route, its rates, and the needs of partitions."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from balancer.carrier_plan import Plan
from balancer.demand.demand import Basis
from balancer.demand.throughput_file import Throughput
from balancer.demand.window import Rate
from balancer.topic_partition import TopicPartition
from replicator.config.topology import Route
from replicator.mirror.offset_map.reports import PartitionReport
from replicator.orders.active_plan import ActivePlan
from replicator.orders.order_log import OrderLog
from replicator.placement.rounds.partition_need import needs_of
from replicator.placement.rounds.route_inputs import HeardCarriers, RouteInputs
from replicator.placement.rounds.route_settings import COSTS_DEFAULT
from replicator.placement.rounds.route_snapshot import RouteSnapshot
from replicator.placement.rounds.shares import ShareEstimates
from replicator.placement.rounds.source_watch import SourceWatch
from replicator.placement.rounds.throughput_watch import ThroughputWatch
from tests.replicator.placement.rounds.connections import APPLIANCE, NotedConnections
from tests.replicator.placement.rounds.snapshots import NOW_MS, PARTITIONS, ROUTE, rates, snapshot
from tests.replicator.placement.traffic.test_traffic_history import Remembered

# -- The snapshot of a route has what its source, its carriers and the throughput file say.

REPORT = PartitionReport("west.east", "orders", 3, 1, 0.0, 0.0, 10, 5, 5, 1.5, None, 1.0)


def inputs(connections: NotedConnections, file: Path | None = None) -> RouteInputs:
    watch, store = connections.source_watch(ROUTE), connections.report_store()
    return RouteInputs(ROUTE, watch, store, ThroughputWatch(file, "west"))


async def test_reports_are_by_partition() -> None:
    reports = {("west.east", "orders", 3): REPORT}
    found = inputs(NotedConnections({("CarrierReports", "reports"): [reports]}))
    assert await found.reports() == {TopicPartition("orders", 3): REPORT}


async def test_a_snapshot_is_put_together_from_all_inputs(tmp_path: Path) -> None:
    file = tmp_path / "throughput.json"
    file.write_text(json.dumps({"stats": {"west": {"orders-1": "bytesInKB:1, msgIn:2"}}}))
    rates = {PARTITIONS[0]: Rate(1.0, 2.0)}
    connections = NotedConnections(
        {
            ("SourceWatch", "rates"): rates,
            ("SourceWatch", "fresh"): {PARTITIONS[0]},
            ("SourceWatch", "degraded"): "not measured",
        }
    )
    expected = snapshot(rates=rates, fresh={PARTITIONS[0]}, degraded="not measured")
    found = await inputs(connections, file).snapshot(
        NOW_MS, expected.order_log, expected.active_plan, {}, COSTS_DEFAULT, 1.0
    )
    assert found.throughput.rate(PARTITIONS[1]) == Rate(1024, 2)
    assert replace(found, throughput=expected.throughput) == expected


@pytest.mark.parametrize("ahead_seconds", [-3600.0, 0.0, 3600.0])
async def test_reports_of_a_carrier_are_the_same_for_as_long_as_our_clock_says(
    ahead_seconds: float,
) -> None:
    """The carrier reports at 0, 10 and 20 s, and by its own clock."""
    known, now = snapshot(), 0.0
    connections = NotedConnections()
    watch, store = connections.source_watch(ROUTE), connections.report_store()
    own = RouteInputs(ROUTE, watch, store, ThroughputWatch(None, "west"), lambda: now)
    seen = []
    for now in (0.0, 10.0, 20.0, 34.0, 35.0):
        reports = {PARTITIONS[3]: replace(REPORT, at=min(now, 20.0) + ahead_seconds)}
        found = await own.snapshot(
            NOW_MS, known.order_log, known.active_plan, reports, COSTS_DEFAULT
        )
        seen.append(found.unchanged_seconds)
    assert seen == [{1: 0.0}, {1: 0.0}, {1: 0.0}, {1: 14.0}, {1: 15.0}]


def test_a_carrier_in_another_process_is_heard_anew_though_its_clock_is_behind() -> None:
    heard = HeardCarriers()
    assert heard.unchanged_seconds([replace(REPORT, at=3600.0)], 0.0) == {1: 0.0}
    assert heard.unchanged_seconds([replace(REPORT, at=3600.0)], 60.0) == {1: 60.0}
    assert heard.unchanged_seconds([replace(REPORT, at=7.0)], 61.0) == {1: 0.0}
    assert heard.unchanged_seconds([], 62.0) == {}


@pytest.mark.parametrize("error", [None, OSError("cut")])
async def test_both_connections_are_closed_even_after_an_error(error: OSError | None) -> None:
    close = error or (lambda: asyncio.sleep(0))
    connections = NotedConnections({("SourceWatch", "close"): close})
    closing = inputs(connections).aclose()
    if error:
        with pytest.raises(OSError, match="cut"):
            await closing
    else:
        await closing
    assert connections.closed == connections.opened


# -- Rates of the throughput file replace measured ones only when these cannot be believed.

ALL = frozenset(PARTITIONS)
FILE = Throughput(dict.fromkeys(PARTITIONS, Rate(1.0, 1.0)))


def test_measured_rates_are_kept_as_long_as_they_can_be_believed():
    measured = snapshot(throughput=FILE)
    assert measured.with_file_rates(ALL) is measured


def test_the_file_replaces_rates_that_cannot_be_believed():
    found = snapshot(throughput=FILE, degraded="measured long ago").with_file_rates(ALL)
    assert (found.rates, found.degraded) == ({}, None)


def test_partitions_that_the_file_leaves_out_keep_their_rates():
    most = Throughput(dict.fromkeys(PARTITIONS[:11], Rate(1.0, 1.0)))
    found = snapshot(throughput=most, degraded="measured long ago").with_file_rates(ALL)
    assert found.degraded is None
    assert found.rates == {PARTITIONS[11]: rates()[PARTITIONS[11]]}


def test_a_file_without_any_of_the_partitions_changes_nothing():
    unknown = snapshot(degraded="not measured yet")
    assert unknown.with_file_rates(ALL) is unknown


def test_a_file_with_too_few_partitions_is_named_and_not_used():
    few = Throughput(dict.fromkeys(PARTITIONS[:9], Rate(1.0, 1.0)))
    found = snapshot(throughput=few, degraded="not measured yet").with_file_rates(ALL)
    assert found.rates == rates()
    assert found.degraded == "not measured yet; throughput_file has rates of 9 of 12 partitions"


# -- A source watch closes the history that it reads and writes.


async def test_a_watch_closes_its_history():
    history = Remembered()
    await SourceWatch(APPLIANCE, Route("west", "east"), history).close()
    assert history.is_closed


# -- Needs of partitions are reported with their basis.

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


def measured_snapshot(**known) -> RouteSnapshot:
    rates = {MEASURED: RATE, IN_FILE: Rate(1.0, 1.0)}
    return RouteSnapshot(
        now_ms=0,
        order_log=OrderLog(),
        active_plan=ActivePlan(Plan(1, {}), 1, 0.0, ()),
        rates=rates,
        **known,
    )


def test_the_heaviest_comes_first_and_equal_ones_by_name():
    found = needs_of(measured_snapshot(), ESTIMATES, {})
    assert [it.partition for it in found] == [MEASURED, MEAN, NEW, IN_FILE]


def test_a_rate_is_shown_if_the_share_follows_from_it():
    throughput = Throughput({IN_FILE: RATE_IN_FILE})
    found = {
        it.partition: it for it in needs_of(measured_snapshot(throughput=throughput), ESTIMATES, {})
    }
    assert (found[MEASURED].rate, found[IN_FILE].rate) == (RATE, RATE_IN_FILE)
    assert found[MEAN].rate is found[NEW].rate is None
    assert [partition for partition, it in found.items() if it.is_fresh] == [MEASURED]


def test_carrier_and_lag_are_shown_where_they_are_known():
    report = PartitionReport("r", "orders", 0, 3, 0.0, 0.0, 10, 5, 5, 1.5, None, 1.0)
    found = needs_of(measured_snapshot(reports={MEASURED: report}), ESTIMATES, {MEASURED: 3})
    assert (found[0].carrier, found[0].lag_records, found[0].lag_seconds) == (3, 5, 1.5)
    assert (found[1].carrier, found[1].lag_records, found[1].lag_seconds) == (None, None, None)
