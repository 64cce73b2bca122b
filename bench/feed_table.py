"""Tables of the feed cases in bench/README.md, from bench/results/clickhouse.json."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bench.results import FEED_FILE
from bench.table_cells import Rows, Tables, against, kills_table, latency_table, met, number, ratio

ENGINE, MODERN, LOOP = "kafka_engine", "kafka_engine_modern", "driver_loop"
OURS, BARE = "sluice", "sluice_without_intents"
SEAL_MS = 1000.0
INTENTS_COST_MAX = 0.05


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


TABLES = Tables(FEED_FILE, "feeds", (_throughput, latency_table, kills_table, _verdicts))
