"""Writes the tables of bench/README.md from bench/results.

python -m bench.table
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import feed_table, object_table
from bench.results import FILE
from bench.table_cells import README, against, machine_line, met, number, ratio, replaced

BEGIN, END = "<!-- results: made by `python -m bench.table` -->", "<!-- end of results -->"
PEER, STRICT_PEER, OURS = "mirrormaker2", "mirrormaker2_exactly_once", "sluice"

Row = Mapping[str, Any]


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
    if not FILE.exists():
        sys.exit(f"{FILE} is not there: run `make bench` first")
    write(FILE, README)
    feed_table.main()
    object_table.main()


def write(results: Path, readme: Path) -> None:
    """Puts the tables between the two marks of the README."""
    found = json.loads(results.read_text())
    readme.write_text(replaced(readme.read_text(), BEGIN, END, tables(found)))


def tables(found: Mapping[str, Any]) -> str:
    rows = {(row["case"], row["system"]): row for row in found["results"]}
    parts = [
        "\n".join(_throughput(rows)),
        "\n".join(_latency(rows)),
        "\n".join(_kills(rows)),
        "\n".join(_verdicts(rows)),
        machine_line(found["machine"], found["runs"]),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _throughput(rows: Mapping[tuple[str, str], Row]) -> Iterator[str]:
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


def _latency(rows: Mapping[tuple[str, str], Row]) -> Iterator[str]:
    chosen = [row for row in rows.values() if row["latency_ms"] is not None]
    if not chosen:
        return
    yield "| case | system | p50 ms | p99 ms | CPU s per million | peak RSS MB |"
    yield "|---|---|--:|--:|--:|--:|"
    for row in chosen:
        yield (
            f"| {row['case']} | {row['system']} | {number(row['latency_ms']['p50'])}"
            f" | {number(row['latency_ms']['p99'])} | {number(row['cpu_seconds_per_million'])}"
            f" | {number(row['peak_rss_mb'])} |"
        )


def _kills(rows: Mapping[tuple[str, str], Row]) -> Iterator[str]:
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


def _verdicts(rows: Mapping[tuple[str, str], Row]) -> Iterator[str]:
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


if __name__ == "__main__":
    main()
