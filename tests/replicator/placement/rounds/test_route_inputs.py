"""The snapshot of a route has what its source, its carriers and the throughput file say."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from balancer.demand.window import Rate
from balancer.topic_partition import TopicPartition
from replicator.mirror.offset_map.reports import PartitionReport
from replicator.placement.rounds.route_inputs import HeardCarriers, RouteInputs
from replicator.placement.rounds.route_settings import COSTS_DEFAULT
from replicator.placement.rounds.throughput_watch import ThroughputWatch
from tests.replicator.placement.rounds.connections import NotedConnections
from tests.replicator.placement.rounds.snapshots import NOW_MS, PARTITIONS, ROUTE, snapshot

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
