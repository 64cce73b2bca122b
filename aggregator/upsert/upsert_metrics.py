"""Prometheus metrics of upsert tables, from what their keeper knows of them.

An unknown value has no sample: a gap in the graph, never a 0. Counters begin at 0 with the process.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from time import time
from types import MappingProxyType

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from aggregator.upsert.version import EndKind

log = logging.getLogger(__name__)

LABELS = ("feed", "table")


@dataclass(frozen=True, slots=True)
class ServerFigures:
    """Figures of one server of a table's shard.

    Args:
        mark_ms: time of the newest tick that the server holds whole; None: it does not answer.
        is_left_out: the server is too far behind, and gets no queries.
    """

    mark_ms: int | None
    is_left_out: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UpsertReport:
    """Report of one upsert table at one time. None is what is not known.

    Args:
        tick: number of the newest claimed tick.
        tick_ms: time of that tick.
        tick_seconds: from the cut of the tick to its claim.
        tick_offsets: taken by the tick.
        settled: number of the newest settle point.
        settled_ms: time of that tick.
        horizon: number of the published horizon: ends up to that tick may be gone.
        horizon_ms: time of that tick.
        unsettled_events: ends of rows that are not in the rows yet.
        dead_rows: share of the stored rows that have ended, from 0 to 1.
        state_keys, state_bytes: of the coordinator's state.
        lanes: input partitions.
        stopped_lanes: those that take nothing, as records of them are lost.
        servers: figures by address.
        ticks, rows, expired, letters: claimed since the process began: ticks, rows, records older
            than the retention, dead letters.
        events: ends of rows since then, by kind.
    """

    feed: str
    table: str
    tick: int | None = None
    tick_ms: int | None = None
    tick_seconds: float | None = None
    tick_offsets: int | None = None
    settled: int | None = None
    settled_ms: int | None = None
    horizon: int | None = None
    horizon_ms: int | None = None
    unsettled_events: int | None = None
    dead_rows: float | None = None
    state_keys: int | None = None
    state_bytes: int | None = None
    lanes: int | None = None
    stopped_lanes: int | None = None
    servers: Mapping[str, ServerFigures] = field(default_factory=lambda: MappingProxyType({}))
    ticks: int = 0
    rows: int = 0
    expired: int = 0
    letters: int = 0
    events: Mapping[EndKind, int] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class UpsertGauge:
    """Gauge: its name, its meaning, and its value in a report at a time in milliseconds."""

    name: str
    help: str
    value: Callable[[UpsertReport, float], float | None]


GAUGES = (
    UpsertGauge("sluice_upsert_tick", "Newest claimed tick.", lambda r, _: r.tick),
    UpsertGauge(
        "sluice_upsert_tick_age_seconds",
        "Age of the newest claimed tick.",
        lambda r, now_ms: _age_seconds(r.tick_ms, now_ms),
    ),
    UpsertGauge(
        "sluice_upsert_tick_seconds",
        "Time from the cut of the newest claimed tick to its claim.",
        lambda r, _: r.tick_seconds,
    ),
    UpsertGauge(
        "sluice_upsert_tick_offsets",
        "Offsets that the newest claimed tick took.",
        lambda r, _: r.tick_offsets,
    ),
    UpsertGauge("sluice_upsert_settled_tick", "Newest settle point.", lambda r, _: r.settled),
    UpsertGauge(
        "sluice_upsert_settled_age_seconds",
        "Age of the newest settle point.",
        lambda r, now_ms: _age_seconds(r.settled_ms, now_ms),
    ),
    UpsertGauge(
        "sluice_upsert_horizon_tick",
        "Published horizon: ends up to this tick may be gone.",
        lambda r, _: r.horizon,
    ),
    UpsertGauge(
        "sluice_upsert_horizon_age_seconds",
        "Age of the published horizon.",
        lambda r, now_ms: _age_seconds(r.horizon_ms, now_ms),
    ),
    UpsertGauge(
        "sluice_upsert_unsettled_events",
        "Ends of rows that are not in the rows yet.",
        lambda r, _: r.unsettled_events,
    ),
    UpsertGauge(
        "sluice_upsert_dead_rows_ratio",
        "Share of the stored rows that have ended.",
        lambda r, _: r.dead_rows,
    ),
    UpsertGauge("sluice_upsert_state_keys", "Keys in the state.", lambda r, _: r.state_keys),
    UpsertGauge("sluice_upsert_state_bytes", "Bytes of the state.", lambda r, _: r.state_bytes),
    UpsertGauge("sluice_upsert_partitions", "Input partitions.", lambda r, _: r.lanes),
    UpsertGauge(
        "sluice_upsert_partitions_stopped",
        "Input partitions that lost records, and take nothing.",
        lambda r, _: r.stopped_lanes,
    ),
)
COUNTERS: Mapping[str, tuple[str, Callable[[UpsertReport], int]]] = MappingProxyType(
    {
        "sluice_upsert_ticks": ("Claimed ticks.", lambda r: r.ticks),
        "sluice_upsert_rows": ("Rows of claimed ticks.", lambda r: r.rows),
        "sluice_upsert_records_expired": (
            "Records older than the retention when their tick was cut.",
            lambda r: r.expired,
        ),
        "sluice_upsert_dead_letters": ("Records set aside.", lambda r: r.letters),
    }
)
"""Counters by name, with their meaning and value."""
EVENTS = "sluice_upsert_events"
SERVER_AGE = "sluice_upsert_server_mark_age_seconds"
SERVER_LEFT_OUT = "sluice_upsert_server_left_out"
REFUSED = "sluice_upsert_queries_refused"
NAMES = frozenset(
    (
        *(gauge.name for gauge in GAUGES),
        SERVER_AGE,
        SERVER_LEFT_OUT,
        *(f"{name}_total" for name in (*COUNTERS, EVENTS, REFUSED)),
    )
)
"""All metrics as they are scraped."""


class UpsertCollector(Collector):
    """Collects the reports each time Prometheus asks for the metrics.

    Args:
        reports: of the tables that the process keeps; called in a thread of the metrics server.
        clock: Unix time in seconds.
    """

    def __init__(
        self, reports: Callable[[], Iterable[UpsertReport]], clock: Callable[[], float] = time
    ) -> None:
        self._reports = reports
        self._clock = clock

    def describe(self) -> Iterable[Metric]:
        """Returns nothing, so that registering the collector asks for no reports."""
        return ()

    def collect(self) -> Iterator[Metric]:
        reports, now_ms = list(self._reports()), self._clock() * 1000
        for gauge in GAUGES:
            family = GaugeMetricFamily(gauge.name, gauge.help, labels=LABELS)
            for each in reports:
                if (value := gauge.value(each, now_ms)) is not None:
                    family.add_metric((each.feed, each.table), value)
            yield family
        for name, (text, count) in COUNTERS.items():
            counter = CounterMetricFamily(name, text, labels=LABELS)
            for each in reports:
                counter.add_metric((each.feed, each.table), count(each))
            yield counter
        yield _events(reports)
        yield from _servers(reports, now_ms)


class RefusedQueries(Collector):
    """Counter of the queries that a process refused, by table and reason.

    The process of a Reader makes it, gives it to the Reader and registers it: queries pass by the
    daemon.
    """

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str, str], int] = {}

    def add(self, feed: str, table: str, reason: str) -> None:
        """Counts one query.

        Args:
            feed, table: empty while they are not known; several tables are joined by commas.
            reason: "query" for one that cannot be read at a mark, "mark" for a mark that is too old
                or not there yet, "rights" for a user who cannot be sure of an answer.
        """
        place = feed, table, reason
        self._counts[place] = self._counts.get(place, 0) + 1

    def collect(self) -> Iterator[Metric]:
        family = CounterMetricFamily(REFUSED, "Refused queries.", labels=(*LABELS, "reason"))
        for place, count in sorted(self._counts.copy().items()):
            family.add_metric(place, count)
        yield family


def _age_seconds(time_ms: int | None, now_ms: float) -> float | None:
    return None if time_ms is None else max(0.0, now_ms - time_ms) / 1000


def _events(reports: Iterable[UpsertReport]) -> Metric:
    family = CounterMetricFamily(EVENTS, "Ends of rows by kind.", labels=(*LABELS, "kind"))
    for each in reports:
        for kind in EndKind:
            family.add_metric((each.feed, each.table, str(kind)), each.events.get(kind, 0))
    return family


def _servers(reports: Iterable[UpsertReport], now_ms: float) -> Iterator[Metric]:
    labels = (*LABELS, "server")
    ages = GaugeMetricFamily(
        SERVER_AGE, "Age of the newest tick that a server holds.", None, labels
    )
    outs = GaugeMetricFamily(SERVER_LEFT_OUT, "1 while a server gets no queries.", None, labels)
    for each in reports:
        for address, level in sorted(each.servers.items()):
            place = (each.feed, each.table, address)
            if (age := _age_seconds(level.mark_ms, now_ms)) is not None:
                ages.add_metric(place, age)
            outs.add_metric(place, level.is_left_out)
    yield ages
    yield outs
