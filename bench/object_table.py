"""Tables of the object cases in bench/README.md, from bench/results/s3.json."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bench.results import OBJECT_FILE
from bench.table_cells import Rows, Tables, against, kills_table, met, number, ratio

RIVALS = ("spark", "flink")
OURS, BARE = "sluice", "sluice_without_intents"
INTENTS_COST_MAX = 0.03
OBJECTS_MAX = 1.05
VISIBLE_SECONDS_MAX = 11.0


@dataclass(frozen=True, slots=True)
class Aim:
    """Aim of Sluice in one case, as ratios to the better of Spark and Flink."""

    rate_times: float
    cpu_part: float


AIMS = {
    "lines200": Aim(2.0, 1 / 3),
    "parquet200": Aim(1.5, 1 / 2),
    "avro_to_avro": Aim(2.0, 1 / 3),
    "avro_to_parquet": Aim(1.0, 2 / 3),
}


def _throughput(rows: Rows) -> Iterator[str]:
    yield (
        "| case | system | records/s | CPU s per million | the store's | MB | objects | the fewest"
        " | requests an object |"
    )
    yield "|---|---|--:|--:|--:|--:|--:|--:|--:|"
    for (case, system), row in rows.items():
        if row["requests_per_object"] is None:
            continue
        yield (
            f"| {case} | {system} | {number(row['records_per_second'])}"
            f" | {number(row['cpu_seconds_per_million'])}"
            f" | {number(row['store_cpu_seconds_per_million'])} | {number(row['peak_rss_mb'])}"
            f" | {number(row['objects'])} | {number(row['objects_least'])}"
            f" | {number(row['requests_per_object'])} |"
        )


def _visible(rows: Rows) -> Iterator[str]:
    chosen = [row for row in rows.values() if row["visible_seconds"] is not None]
    if chosen:
        yield "| case | system | visible after, p50 s | p99 s | CPU s per million | MB |"
        yield "|---|---|--:|--:|--:|--:|"
    for row in chosen:
        yield (
            f"| {row['case']} | {row['system']} | {number(row['visible_seconds']['p50'])}"
            f" | {number(row['visible_seconds']['p99'])}"
            f" | {number(row['cpu_seconds_per_million'])} | {number(row['peak_rss_mb'])} |"
        )


def _verdicts(rows: Rows) -> Iterator[str]:
    """Yields for each aim whether it was met, or by how much it was missed."""
    for case, aim in AIMS.items():
        ours = rows.get((case, OURS), {})
        rates = [ratio(ours, rows.get((case, each), {}), "records_per_second") for each in RIVALS]
        parts = [
            ratio(rows.get((case, each), {}), ours, "cpu_seconds_per_million") for each in RIVALS
        ]
        rate = min((each for each in rates if each is not None), default=None)
        cpu = min((each for each in parts if each is not None), default=None)
        if rate is None or cpu is None:
            continue
        rate_text, cpu_text = f"{rate:.2f} times the better rate", f"{1 / cpu:.2f} of the least CPU"
        yield f"- {case}: {against(rate_text, rate, aim.rate_times)};"
        yield f"  {against(cpu_text, cpu, 1 / aim.cpu_part, aim_text=f'{aim.cpu_part:.2f}')}."
    for case in AIMS:
        rate = ratio(rows.get((case, OURS), {}), rows.get((case, BARE), {}), "records_per_second")
        if rate is not None:
            is_met = 1 - rate <= INTENTS_COST_MAX
            yield f"- {case}, intents: {rate:.3f} of the rate without them, aim 0.97 {met(is_met)}."
    ours = rows.get(("interleaved50", OURS), {})
    if (times := ratio(ours, {"objects": ours.get("objects_least")}, "objects")) is not None:
        is_met = times <= OBJECTS_MAX
        yield f"- interleaved50: {times:.3f} times the fewest objects, aim 1.05 {met(is_met)}."
    if visible := rows.get(("visible2000", OURS), {}).get("visible_seconds"):
        is_met = visible["p99"] <= VISIBLE_SECONDS_MAX
        yield f"- visible2000: p99 {visible['p99']:.1f} s, aim 11 s {met(is_met)}."
    ours = rows.get(("kills", OURS), {})
    if ours.get("lost") is not None:
        faults = ours["duplicates"] + ours["lost"]
        yield f"- kills: {faults} duplicated or lost, aim 0 {met(faults == 0)}."


TABLES = Tables(OBJECT_FILE, "objects", (_throughput, _visible, kills_table, _verdicts))
