"""Metrics: known values are served, counters grow, unknown values have no sample."""

from collections.abc import Iterable
from dataclasses import replace
from types import SimpleNamespace
from urllib.request import urlopen

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from deploy.lab.process import free_port
from replicator.config.settings import MetricsSettings
from replicator.mirror.driver.metrics import (
    ConditionCollector,
    Counting,
    ReportCollector,
    Totals,
    TotalsCollector,
    serve,
)
from replicator.mirror.offset_map.reports import PartitionReport
from replicator.mirror.offset_map.totals import NO_LATENCIES, CarrierTotals
from replicator.notices.condition import Condition
from replicator.runtime.store_errors import StoreUnreachable

# -- Metrics: known values are served, unknown ones have no sample.

REPORT = PartitionReport(
    route="west>east",
    topic="orders",
    partition=3,
    carrier=1,
    records_per_second=20.5,
    bytes_per_second=None,
    source_end=100,
    mirrored_to=90,
    lag_records=10,
    lag_seconds=None,
    parked=None,
    at=1000.0,
)
LABELS = '{partition="3",route="west>east",topic="orders"}'


def served(*reports: PartitionReport) -> list[str]:
    registry = CollectorRegistry()
    registry.register(ReportCollector(lambda: reports))
    return generate_latest(registry).decode().splitlines()


def test_what_is_known_is_served_under_route_topic_and_partition() -> None:
    lines = served(REPORT)
    assert f"sluice_source_end_offset{LABELS} 100.0" in lines
    assert f"sluice_mirrored_offset{LABELS} 90.0" in lines
    assert f"sluice_lag_records{LABELS} 10.0" in lines
    assert f"sluice_records_per_second{LABELS} 20.5" in lines
    assert f"sluice_parked{LABELS} 0.0" in lines
    assert "sluice_reports_up 1.0" in lines


def test_what_is_unknown_has_no_sample() -> None:
    lines = served(REPORT, replace(REPORT, partition=4, lag_seconds=0.0))
    seconds = [line for line in lines if line.startswith("sluice_lag_seconds")]
    assert [line.rpartition(" ")[2] for line in seconds] == ["0.0"]
    assert not [line for line in lines if line.startswith("sluice_bytes_per_second")]


def test_a_parked_partition_is_1() -> None:
    assert f"sluice_parked{LABELS} 1.0" in served(replace(REPORT, parked="lost offsets"))


def test_reports_that_cannot_be_read_are_said_and_harm_nothing() -> None:
    def away() -> Iterable[PartitionReport]:
        raise ConnectionError("Redis is away")

    registry = CollectorRegistry()
    registry.register(ReportCollector(away))
    text = generate_latest(registry).decode()
    assert "sluice_reports_up 0.0" in text
    assert "sluice_lag" not in text


def test_it_serves_on_its_port_until_stopped() -> None:
    settings = MetricsSettings(port=free_port())
    server = serve(settings, lambda: [REPORT])
    url = f"http://127.0.0.1:{settings.port}/metrics"
    with urlopen(url) as answer:
        assert b"sluice_lag_records" in answer.read()
    assert not serve(settings, lambda: []).is_serving
    server.stop()
    with pytest.raises(OSError):
        urlopen(url)


def test_nothing_is_served_unless_asked_for() -> None:
    assert not serve(MetricsSettings(), lambda: pytest.fail("nobody asked")).is_serving


def begun(totals: Totals) -> TotalsCollector:
    collector = TotalsCollector(totals)
    collector.begin()
    return collector


def test_what_carriers_counted_before_the_daemon_is_not_counted_again() -> None:
    found = {"west>east": {"a": CarrierTotals(3, 2, carried=(("orders", 3, 8, 900),))}}
    registry = CollectorRegistry()
    registry.register(begun(lambda: found))
    found["west>east"]["a"] = CarrierTotals(3, 3, carried=(("orders", 3, 10, 1000),))
    lines = generate_latest(registry).decode().splitlines()
    assert f"sluice_records_total{LABELS} 2.0" in lines
    assert 'sluice_losses_total{route="west>east"} 1.0' in lines
    assert 'sluice_restarts_total{route="west>east"} 0.0' in lines


def test_counters_and_the_latency_histogram_add_up_over_carriers() -> None:
    latencies = (5, 3, *NO_LATENCIES[2:])
    found: dict[str, dict[str, CarrierTotals]] = {"west>east": {}}
    registry = CollectorRegistry()
    registry.register(begun(lambda: found))
    found["west>east"]["a"] = CarrierTotals(1, 2, latencies, 0.04, (("orders", 3, 8, 900),))
    generate_latest(registry)
    found["west>east"]["b"] = CarrierTotals(0, 0, latencies, 0.04, (("orders", 3, 8, 900),))
    lines = generate_latest(registry).decode().splitlines()
    assert f"sluice_records_total{LABELS} 16.0" in lines
    assert f"sluice_bytes_total{LABELS} 1800.0" in lines
    assert 'sluice_restarts_total{route="west>east"} 1.0' in lines
    assert 'sluice_losses_total{route="west>east"} 2.0' in lines
    assert 'sluice_latency_seconds_bucket{le="0.005",route="west>east"} 10.0' in lines
    assert 'sluice_latency_seconds_bucket{le="0.01",route="west>east"} 16.0' in lines
    assert 'sluice_latency_seconds_count{route="west>east"} 16.0' in lines
    assert 'sluice_latency_seconds_sum{route="west>east"} 0.08' in lines


def test_counters_stay_as_they_are_while_redis_is_away() -> None:
    answers: list[dict[str, dict[str, CarrierTotals]]] = [
        {"west>east": {"a": CarrierTotals(1)}},
        {"west>east": {}},
    ]
    registry = CollectorRegistry()
    registry.register(begun(lambda: answers.pop()))
    first = generate_latest(registry)
    assert generate_latest(registry) == first
    assert b'sluice_restarts_total{route="west>east"} 1.0' in first


def test_conditions_are_counted_by_route_and_kind_and_absent_while_redis_is_away():
    def of(kind, route, topic):
        return Condition(kind=kind, who="x", text="y", since_ms=1, route=route, topic=topic)

    some = [
        of("paused", "west>east", "a"),
        of("paused", "west>east", "b"),
        of("not-adopted", "", "c"),
    ]
    registry = CollectorRegistry()
    registry.register(ConditionCollector(SimpleNamespace(conditions=lambda: some)))
    text = generate_latest(registry).decode()
    assert 'sluice_conditions{kind="paused",route="west>east"} 2.0' in text
    assert 'sluice_conditions{kind="not-adopted",route=""} 1.0' in text

    def away():
        raise StoreUnreachable("Redis does not answer")

    registry = CollectorRegistry()
    registry.register(ConditionCollector(SimpleNamespace(conditions=away)))
    assert "sluice_conditions" not in generate_latest(registry).decode()


# -- Counters grow by everything that each carrier counted, once, however often it is read.

PLACE = ("orders", 0)


def totals(records, restarts=0):
    latencies = (records, *NO_LATENCIES[1:])
    return CarrierTotals(
        restarts, 0, latencies, records * 0.5, (("orders", 0, records, 9 * records),)
    )


def test_the_growth_of_each_carrier_counts_once():
    counting = Counting()
    counting.add({"a": totals(10)}, 0.0)
    counting.add({"a": totals(15, restarts=1), "b": totals(7)}, 1.0)
    counting.add({"a": totals(15, restarts=1), "b": totals(7)}, 2.0)
    counts = counting.counts
    assert (counts.records[PLACE], counts.bytes[PLACE], counts.restarts) == (22, 198, 1)
    assert (counts.latencies[0], counts.latency_seconds) == (22, 11.0)


def test_what_was_counted_before_the_process_began_does_not_count():
    counting = Counting()
    counting.begin({"a": totals(10, restarts=1)}, 0.0)
    counting.add({"a": totals(13, restarts=1)}, 1.0)
    counts = counting.counts
    assert (counts.records[PLACE], counts.restarts, counts.latencies[0]) == (3, 0, 3)
