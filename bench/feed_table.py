"""Writes the tables of the feed cases into bench/README.md from bench/results/clickhouse.json.

`python -m bench.table` writes them too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bench.feed_results import FILE
from bench.table_cells import README, against, machine_line, met, number, ratio, replaced

BEGIN = "<!-- feeds: made by `python -m bench.table` -->"
END = "<!-- end of feeds -->"
ENGINE, MODERN, LOOP = "kafka_engine", "kafka_engine_modern", "driver_loop"
OURS, BARE = "sluice", "sluice_without_intents"
SEAL_MS = 1000.0
INTENTS_COST_MAX = 0.05

Row = Mapping[str, Any]
Rows = Mapping[tuple[str, str], Row]


@dataclass(frozen=True, slots=True)
class Aim:
    """Aim of Sluice in one case, as ratios to a rival in a case of its own."""

    case: str
    rival: str
    rival_case: str
    rate_times: float
    cpu_part: float


AIMS = (
    Aim("json200", ENGINE, "json200", 1.3, 0.9),
    Aim("rowbatch50", ENGINE, "json200", 2.0, 0.6),
    *(
        Aim(case, LOOP, case, 2.0, 0.5)
        for case in ("json200", "ten_tables", "quorum2", "rowbatch50", "avro200")
    ),
)


def main() -> None:
    """Puts the tables between their two marks, once there are results."""
    if FILE.exists():
        README.write_text(
            replaced(README.read_text(), BEGIN, END, tables(json.loads(FILE.read_text())))
        )


def tables(found: Mapping[str, Any]) -> str:
    rows = {(row["case"], row["system"]): row for row in found["results"]}
    parts = [_throughput(rows), _latency(rows), _kills(rows), _verdicts(rows)]
    texts = ["\n".join(part) for part in parts]
    texts += ["\n".join(_impossible(found["runs"])), machine_line(found["machine"], found["runs"])]
    return "\n\n".join(text for text in texts if text) + "\n"


def _throughput(rows: Rows) -> Iterator[str]:
    yield "| case | system | rows/s | to the engine | CPU s per million | to the engine | MB |"
    yield "|---|---|--:|--:|--:|--:|--:|"
    for (case, system), row in rows.items():
        if row["rows_per_second"] is None or row["latency_ms"] is not None:
            continue
        engine = rows.get((case, ENGINE), {})
        rate = ratio(row, engine, "rows_per_second")
        cpu = ratio(row, engine, "cpu_seconds_per_million")
        yield (
            f"| {case} | {system} | {number(row['rows_per_second'])} | {_times(rate)}"
            f" | {number(row['cpu_seconds_per_million'])} | {_times(cpu)}"
            f" | {number(row['peak_rss_mb'])} |"
        )


def _times(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}x"


def _latency(rows: Rows) -> Iterator[str]:
    chosen = [row for row in rows.values() if row["latency_ms"] is not None]
    if chosen:
        yield "| case | system | p50 ms | p99 ms | CPU s per million | MB |"
        yield "|---|---|--:|--:|--:|--:|"
    for row in chosen:
        yield (
            f"| {row['case']} | {row['system']} | {number(row['latency_ms']['p50'])}"
            f" | {number(row['latency_ms']['p99'])} | {number(row['cpu_seconds_per_million'])}"
            f" | {number(row['peak_rss_mb'])} |"
        )


def _kills(rows: Rows) -> Iterator[str]:
    chosen = [row for row in rows.values() if row["lost"] is not None]
    if chosen:
        yield "| case | system | duplicates | lost |"
        yield "|---|---|--:|--:|"
    for row in chosen:
        yield (
            f"| {row['case']} | {row['system']} | {number(row['duplicates'])}"
            f" | {number(row['lost'])} |"
        )


def _verdicts(rows: Rows) -> Iterator[str]:
    """Yields for each aim whether it was met, or by how much it was missed."""
    for aim in AIMS:
        ours, rival = rows.get((aim.case, OURS), {}), rows.get((aim.rival_case, aim.rival), {})
        rate = ratio(ours, rival, "rows_per_second")
        cpu = ratio(rival, ours, "cpu_seconds_per_million")
        if rate is None or cpu is None:
            continue
        rival_name = aim.rival if aim.case == aim.rival_case else f"{aim.rival} at {aim.rival_case}"
        rate_text, cpu_text = (
            f"{rate:.2f} times the rate of {rival_name}",
            f"{1 / cpu:.2f} of its CPU",
        )
        yield f"- {aim.case}: {against(rate_text, rate, aim.rate_times)};"
        yield f"  {against(cpu_text, cpu, 1 / aim.cpu_part, aim_text=f'{aim.cpu_part:g}')}."
    for case in ("json200", "ten_tables", "quorum2"):
        ours, bare = rows.get((case, OURS), {}), rows.get((case, BARE), {})
        rate = ratio(ours, bare, "rows_per_second")
        cpu = ratio(ours, bare, "cpu_seconds_per_million")
        if rate is not None and cpu is not None:
            is_met = 1 - rate <= INTENTS_COST_MAX
            yield (
                f"- {case}: the intents cost {1 - rate:.1%} of the rate (aim"
                f" {INTENTS_COST_MAX:.0%} at most, {met(is_met)}) and {cpu - 1:.1%} of the CPU."
            )
    ours_ms = (rows.get(("latency2000", OURS), {}).get("latency_ms") or {}).get("p99")
    if ours_ms:
        aim_ms = SEAL_MS + 1000
        verdict = met(ours_ms <= aim_ms)
        yield f"- latency2000: p99 {ours_ms:,.0f} ms, aim {aim_ms:,.0f} ms {verdict}."
    ours = rows.get(("kills", OURS), {})
    if ours.get("lost") is not None:
        faults = ours["duplicates"] + ours["lost"]
        yield f"- kills: {faults} duplicated or lost, aim 0 {met(faults == 0)}."


def _impossible(runs: Mapping[str, Any]) -> Iterator[str]:
    reasons: dict[tuple[str, str], list[str]] = {}
    for case, run in runs.items():
        for system, reason in run["impossible"].items():
            reasons.setdefault((system, reason), []).append(case)
    for (system, reason), cases in reasons.items():
        yield f"- {system}, not in {', '.join(cases)}: {reason}."


if __name__ == "__main__":
    main()
