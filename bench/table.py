"""Writes the tables of bench/README.md from bench/results.

python -m bench.table
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

from bench import feed_table, object_table, upsert_table
from bench.results import FILE
from bench.table_cells import Row, Rows, Tables, against, latency_table, met, number, ratio

PEER, STRICT_PEER, OURS = "mirrormaker2", "mirrormaker2_exactly_once", "sluice"


@dataclass(frozen=True, slots=True)
class Aim:
    """Aim of Sluice in one case, as ratios to MirrorMaker 2."""

    rate_times: float
    cpu_part: float


AIMS = {
    "bytes200": Aim(6, 12),
    "bytes1000": Aim(4, 7),
    "one_record_batches": Aim(2.5, 4),
}


def main() -> None:
    """Writes all tables."""
    if not FILE.exists():
        sys.exit(f"{FILE} is not there: run `make bench` first")
    for each in ALL:
        each.write()


def _throughput(rows: Rows) -> Iterator[str]:
    yield (
        "| case | system | records/s | to MM2 | CPU s per million | to MM2"
        " | brokers' CPU s per million | peak RSS MB |"
    )
    yield "|---|---|--:|--:|--:|--:|--:|--:|"
    for (case, system), row in rows.items():
        if row["records_per_second"] is None or row["latency_ms"] is not None:
            continue
        peer = rows.get((case, PEER), {})
        yield (
            f"| {case} | {system} | {number(row['records_per_second'])}"
            f" | {_times(row, peer, 'records_per_second')}"
            f" | {number(row['cpu_seconds_per_million'])}"
            f" | {_part(row, peer)} | {number(row.get('brokers_cpu_seconds_per_million'))}"
            f" | {number(row['peak_rss_mb'])} |"
        )


def _latency(rows: Rows) -> Iterator[str]:
    return latency_table(rows, "peak RSS MB")


def _kills(rows: Rows) -> Iterator[str]:
    chosen = [row for row in rows.values() if row["case"] == "kills"]
    if not chosen:
        return
    yield "| case | system | duplicates, read_uncommitted | duplicates, read_committed | lost |"
    yield "|---|---|--:|--:|--:|"
    for row in chosen:
        yield (
            f"| kills | {row['system']} | {number(row['duplicates_uncommitted'])}"
            f" | {number(row['duplicates_committed'])} | {number(row['lost'])} |"
        )


def _verdicts(rows: Rows) -> Iterator[str]:
    """Yields for each aim whether it was met, or by how much it was missed."""
    for case, aim in AIMS.items():
        ours, peer = rows.get((case, OURS), {}), rows.get((case, PEER), {})
        rate = ratio(ours, peer, "records_per_second")
        cpu = ratio(peer, ours, "cpu_seconds_per_million")
        if rate is not None and cpu is not None:
            yield f"- {case}: {against(f'{rate:.1f} times the rate', rate, aim.rate_times)};"
            yield f"  {against(f'1/{cpu:.1f} of the CPU', cpu, aim.cpu_part, '1/')}."
    ours_ms, peer_ms, strict_ms = (
        (rows.get(("latency2000", system), {}).get("latency_ms") or {}).get("p99")
        for system in (OURS, PEER, STRICT_PEER)
    )
    if ours_ms and peer_ms and strict_ms:
        yield (
            f"- latency2000: p99 {met(ours_ms <= peer_ms)}: {ours_ms:.1f} ms against"
            f" {peer_ms:.1f} ms at least once; {met(ours_ms <= strict_ms / 4)}:"
            f" 1/{strict_ms / ours_ms:.1f} of exactly-once mode's {strict_ms:.1f} ms (aim 1/4)."
        )
    ours = rows.get(("kills", OURS), {})
    if ours.get("lost") is not None:
        faults = ours["duplicates_uncommitted"] + ours["duplicates_committed"] + ours["lost"]
        yield f"- kills: aim {met(faults == 0)}: {faults} duplicated or lost (aim 0)."


def _times(row: Row, peer: Row, field: str) -> str:
    times = ratio(row, peer, field)
    return "-" if times is None else f"{times:.2f}x"


def _part(row: Row, peer: Row) -> str:
    part = ratio(peer, row, "cpu_seconds_per_million")
    return "-" if part is None else f"1/{part:.1f}" if part >= 1 else f"{1 / part:.1f}x"


TABLES = Tables(FILE, "results", (_throughput, _latency, _kills, _verdicts))
ALL = (
    TABLES,
    feed_table.TABLES,
    object_table.TABLES,
    upsert_table.TABLES,
    upsert_table.COORDINATOR_TABLES,
)

if __name__ == "__main__":
    main()
