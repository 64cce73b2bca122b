"""Metrics of upsert tables: known values are served, unknown ones have no sample."""

from __future__ import annotations

import re
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.registry import Collector

from aggregator.upsert.upsert_metrics import (
    NAMES,
    RefusedQueries,
    ServerFigures,
    UpsertCollector,
    UpsertReport,
)
from aggregator.upsert.version import EndKind

PAGE = (Path(__file__).parents[3] / "docs" / "operating.md").read_text()
SECTION = PAGE.partition("### Metrics of upsert tables")[2].partition("\n### ")[0]
NOW = 1_000.0
KNOWN = UpsertReport(
    feed="f",
    table="t",
    tick=9,
    tick_ms=998_500,
    tick_seconds=0.7,
    tick_offsets=500,
    settled=7,
    settled_ms=990_000,
    horizon=3,
    horizon_ms=980_000,
    unsettled_events=40,
    dead_rows=0.25,
    state_keys=100,
    state_bytes=9_000,
    lanes=3,
    stopped_lanes=1,
    servers={"one:9000": ServerFigures(999_000), "two:9000": ServerFigures(None, is_left_out=True)},
    ticks=4,
    rows=2_000,
    expired=5,
    letters=6,
    events={EndKind.SUPERSEDED: 12, EndKind.LATE: 1},
)


def served(*collectors: Collector) -> dict[str, float]:
    registry = CollectorRegistry()
    for collector in collectors:
        registry.register(collector)
    lines = generate_latest(registry).decode().splitlines()
    found = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return {name: float(value) for name, _, value in found}


def of(*reports: UpsertReport) -> dict[str, float]:
    return served(UpsertCollector(lambda: reports, clock=lambda: NOW))


def test_all_that_is_known_is_served() -> None:
    found = of(KNOWN)
    place = 'feed="f",table="t"'
    assert found == {
        f"sluice_upsert_tick{{{place}}}": 9,
        f"sluice_upsert_tick_age_seconds{{{place}}}": 1.5,
        f"sluice_upsert_tick_seconds{{{place}}}": 0.7,
        f"sluice_upsert_tick_offsets{{{place}}}": 500,
        f"sluice_upsert_settled_tick{{{place}}}": 7,
        f"sluice_upsert_settled_age_seconds{{{place}}}": 10,
        f"sluice_upsert_horizon_tick{{{place}}}": 3,
        f"sluice_upsert_horizon_age_seconds{{{place}}}": 20,
        f"sluice_upsert_unsettled_events{{{place}}}": 40,
        f"sluice_upsert_dead_rows_ratio{{{place}}}": 0.25,
        f"sluice_upsert_state_keys{{{place}}}": 100,
        f"sluice_upsert_state_bytes{{{place}}}": 9_000,
        f"sluice_upsert_partitions{{{place}}}": 3,
        f"sluice_upsert_partitions_stopped{{{place}}}": 1,
        f"sluice_upsert_ticks_total{{{place}}}": 4,
        f"sluice_upsert_rows_total{{{place}}}": 2_000,
        f"sluice_upsert_records_expired_total{{{place}}}": 5,
        f"sluice_upsert_dead_letters_total{{{place}}}": 6,
        'sluice_upsert_events_total{feed="f",kind="superseded",table="t"}': 12,
        'sluice_upsert_events_total{feed="f",kind="late",table="t"}': 1,
        'sluice_upsert_events_total{feed="f",kind="deleted",table="t"}': 0,
        'sluice_upsert_server_mark_age_seconds{feed="f",server="one:9000",table="t"}': 1,
        'sluice_upsert_server_left_out{feed="f",server="one:9000",table="t"}': 0,
        'sluice_upsert_server_left_out{feed="f",server="two:9000",table="t"}': 1,
    }


def test_what_is_not_known_has_no_sample() -> None:
    found = of(UpsertReport(feed="f", table="t"))
    assert {name.partition("{")[0] for name in found} == {
        "sluice_upsert_ticks_total",
        "sluice_upsert_rows_total",
        "sluice_upsert_records_expired_total",
        "sluice_upsert_dead_letters_total",
        "sluice_upsert_events_total",
    }
    assert of() == {}


def test_a_tick_ahead_of_the_clock_has_no_age_below_zero() -> None:
    found = of(UpsertReport(feed="f", table="t", tick_ms=2_000_000))
    assert found['sluice_upsert_tick_age_seconds{feed="f",table="t"}'] == 0


def test_refused_queries_count_by_reason() -> None:
    refused = RefusedQueries()
    assert served(refused) == {}
    for reason in ("horizon", "horizon", "statement"):
        refused.add("f", "t", reason)
    name = "sluice_upsert_queries_refused_total"
    assert served(refused) == {
        f'{name}{{feed="f",reason="horizon",table="t"}}': 2,
        f'{name}{{feed="f",reason="statement",table="t"}}': 1,
    }


def test_the_page_explains_each_metric_and_no_other() -> None:
    rows = re.findall(r"^\| (`sluice_upsert_.*?) \|", SECTION, re.M)
    explained = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert explained == NAMES
