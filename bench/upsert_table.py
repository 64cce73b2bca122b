"""Tables of the cases of upsert tables in bench/README.md, from bench/results/upsert.json."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bench import upsert_growth
from bench.table_cells import Row, Rows, Tables, against, met, number
from bench.upsert_results import COORDINATOR_FILE, UPSERT_FILE

SETTLED, FRESH = "sluice_settled", "sluice_fresh"
VERSIONS = 3.0
"""Versions per key at which the aims are stated."""
APPEND_TIMES_MAX = 1.5
CPU_TIMES_MAX = 3.0
LATER_SECONDS_MAX, SETTLED_SECONDS_MAX = 10.0, 60.0


class Rival(NamedTuple):
    """Way of ClickHouse's own, and how many times faster a query has to be, settled and fresh."""

    system: str
    settled_times: float
    fresh_times: float


RIVALS = (
    Rival("replacing_final_best", 2.0, 1.3),
    Rival("replacing_final", 5.0, 3.0),
    Rival("argmax", 3.0, 2.0),
)


def identity(row: Row) -> tuple[str, ...]:
    """Returns what tells a result from all others."""
    names = ("case", "engine", "system", "query", "keys", "versions_per_key")
    return tuple(str(row.get(name)) for name in names)


def _reads(rows: Rows) -> Iterator[str]:
    """Yields the times of queries as multiples of the append table's."""
    chosen = [row for row in rows.values() if row["case"] == "read"]
    if not chosen:
        return
    queries = list(dict.fromkeys(row["query"] for row in chosen))
    yield f"| engine | versions per key | system | {' | '.join(queries)} | median |"
    yield f"|---|--:|---|{'--:|' * (len(queries) + 1)}"
    groups: dict[tuple[str, float, str], dict[str, Row]] = {}
    for row in chosen:
        of = (row["engine"], row["versions_per_key"], row["system"])
        groups.setdefault(of, {})[row["query"]] = row
    for (engine, versions, system), found in groups.items():
        ratios = [found[query]["ratio_to_append"] if query in found else None for query in queries]
        median = statistics.median(each for each in ratios if each is not None)
        cells = " | ".join("-" if each is None else f"{each:.2f}" for each in (*ratios, median))
        yield f"| {engine} | {versions:g} | {system} | {cells} |"


def _others(rows: Rows) -> Iterator[str]:
    chosen = [row for row in rows.values() if row["case"] not in ("read", "scale")]
    if not chosen:
        return
    yield (
        "| case | engine | system | of | records/s | CPU s per million | p50 s | p99 s"
        " | bytes per row | MB |"
    )
    yield "|---|---|---|---|--:|--:|--:|--:|--:|--:|"
    for row in chosen:
        seconds = row["freshness_seconds"] or {}
        yield (
            f"| {row['case']} | {row['engine']} | {row['system']} | {row['query'] or '-'}"
            f" | {number(row['records_per_second'])} | {number(row['cpu_seconds_per_million'])}"
            f" | {number(seconds.get('p50'))} | {number(seconds.get('p99'))}"
            f" | {number(row['bytes_per_row'])} | {number(row['peak_rss_mb'])} |"
        )


def _verdicts(rows: Rows) -> Iterator[str]:
    """Yields for each aim whether it was met, or by how much it was missed."""
    all_rows = list(rows.values())
    yield from _loading(all_rows)
    yield from _reading([row for row in all_rows if row["versions_per_key"] == VERSIONS])
    yield from upsert_growth.verdicts(rows)


def _loading(rows: Sequence[Row]) -> Iterator[str]:
    cpu = {
        row["system"]: row["cpu_seconds_per_million"]
        for row in rows
        if row["case"] == "ingest" and row["query"] == "catch-up"
    }
    if cpu.get("append") and cpu.get(FRESH):
        times = cpu[FRESH] / cpu["append"]
        yield (
            f"- ingest: {times:.1f} times the append sink's CPU per record, aim at most"
            f" {CPU_TIMES_MAX:g} {met(times <= CPU_TIMES_MAX)}."
        )
    p99 = {
        row["system"]: row["freshness_seconds"]["p99"]
        for row in rows
        if row["case"] == "freshness" and row["freshness_seconds"]
    }
    if "append" in p99 and FRESH in p99:
        later = p99[FRESH] - p99["append"]
        yield (
            f"- freshness: {later:.1f} s later than in the append table (p99), aim at most"
            f" {LATER_SECONDS_MAX:g} {met(later <= LATER_SECONDS_MAX)}."
        )
    if SETTLED in p99:
        yield (
            f"- freshness: settled after {p99[SETTLED]:.0f} s (p99), aim at most"
            f" {SETTLED_SECONDS_MAX:g} {met(p99[SETTLED] <= SETTLED_SECONDS_MAX)}."
        )


def _reading(rows: Sequence[Row]) -> Iterator[str]:
    reads = [row for row in rows if row["case"] == "read"]
    for engine in dict.fromkeys(row["engine"] for row in reads):
        found: dict[str, dict[str, Row]] = {}
        for row in reads:
            if row["engine"] == engine:
                found.setdefault(row["system"], {})[row["query"]] = row
        for system in (SETTLED, FRESH):
            ratios = {query: row["ratio_to_append"] for query, row in found.get(system, {}).items()}
            if not ratios:
                continue
            median = statistics.median(ratios.values())
            worst = max(ratios, key=ratios.__getitem__)
            yield (
                f"- read, {engine}: {system} takes {median:.2f} times the append table's time"
                f" in the median, aim at most {APPEND_TIMES_MAX:g}"
                f" {met(median <= APPEND_TIMES_MAX)}; worst query: {worst}, {ratios[worst]:.2f}."
            )
        for rival in RIVALS:
            for system, aim in ((SETTLED, rival.settled_times), (FRESH, rival.fresh_times)):
                times = _times_faster(found.get(system, {}), found.get(rival.system, {}))
                if times is not None:
                    text = f"{system} is {times:.1f} times faster than {rival.system}"
                    yield f"  - {against(text, times, aim)}."


def _times_faster(ours: dict[str, Row], theirs: dict[str, Row]) -> float | None:
    """Returns by how many times our queries are faster, in the median over the queries."""
    common = [query for query in ours if query in theirs]
    if not common:
        return None
    times: list[float] = [
        theirs[query]["seconds"]["median"] / ours[query]["seconds"]["median"] for query in common
    ]
    return statistics.median(times)


def _coordinator(rows: Rows) -> Iterator[str]:
    """Yields what the key coordinator costs by itself."""
    yield (
        "| case | keys | parts | rows of a tick | CPU s per million rows"
        " | rows per CPU s beside the ticks | CPU s of an empty tick"
        " | bootstrap: keys per CPU s | bytes per key | MB |"
    )
    yield f"|---|{'--:|' * 9}"
    for row in rows.values():
        cpu = row["bootstrap_cpu_seconds"]
        yield (
            f"| {row['case']} | {row['keys']:,} | {row['parts']} | {row['rows_per_tick']:,}"
            f" | {number(row['cpu_seconds_per_million'])} | {number(row['rows_per_cpu_second'])}"
            f" | {number(row['empty_cpu_seconds'])} | {number(row['keys'] / cpu if cpu else None)}"
            f" | {number(row['bytes_per_key'])} | {number(row['peak_rss_mb'])} |"
        )


COORDINATOR_TABLES = Tables(COORDINATOR_FILE, "key coordinator", (_coordinator,))
TABLES = Tables(UPSERT_FILE, "upsert", (_reads, _others, upsert_growth.table, _verdicts), identity)
