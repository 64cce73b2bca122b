"""Writes the failover tables of bench/README.md from bench/results/failover.json.

python -m bench.failover_table
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "results" / "failover.json"
README = Path(__file__).with_name("README.md")
BEGIN = "<!-- failover: made by `python -m bench.failover_table` -->"
END = "<!-- end of failover -->"

Row = Mapping[str, Any]


def main() -> None:
    if not FILE.exists():
        sys.exit(f"{FILE} is not there: run `python -m bench.failover` first")
    write(FILE)


def write(results: Path, readme: Path = README) -> None:
    """Puts the tables between the two marks of the README."""
    before, _, rest = readme.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    found = json.loads(results.read_text())
    readme.write_text(f"{before}{BEGIN}\n\n{tables(found)}\n{END}{after}")


def tables(found: Mapping[str, Any]) -> str:
    parts = ["\n".join(part) for part in (_moves(found), _unplanned(found), _sizes(found))]
    run = found["run"]
    measured = f"Measured: {run['at']} (load {run['load_average']}), {found['seconds']} s in all."
    return "\n\n".join([*(part for part in parts if part), measured]) + "\n"


def _moves(found: Mapping[str, Any]) -> Iterator[str]:
    yield (
        "| topic | records behind | system | read again | in one partition"
        " | the least possible | missed |"
    )
    yield "|---|--:|---|--:|--:|--:|--:|"
    for row in sorted(found["results"], key=lambda row: (row["case"] != "single", row["lag"])):
        low, high = row["read_again_min"], row["read_again_max"]
        yield (
            f"| {row['case']} | {row['lag']:,} | {row['system']} | {row['read_again']:,}"
            f" | {low:,}{f' to {high:,}' if high != low else ''}"
            f" | {row['read_again_least']:,} | {row['missed']:,} |"
        )


def _unplanned(found: Mapping[str, Any]) -> Iterator[str]:
    if not found["unplanned"]:
        return
    yield (
        "| region killed; application | handled before | beyond the last copied commit"
        " | age of the copies, s | read again | the least possible of the copies, of all"
        " | the plan said | missed |"
    )
    yield "|---|--:|--:|--:|--:|--:|--:|--:|"
    for row in found["unplanned"]:
        yield (
            f"| {row['means']} | {row['handled_before']:,} | {row['after_last_copied_commit']:,}"
            f" ({row['after_last_copied_commit_seconds']:.2f} s)"
            f" | {row['copies_age_seconds']:.2f} | {row['read_again']:,}"
            f" | {row['read_again_least_of_copies']:,}, {row['read_again_least']:,}"
            f" | {row['read_again_said']} | {row['missed']:,} |"
        )


def _sizes(found: Mapping[str, Any]) -> Iterator[str]:
    if not found["map_size"]:
        return
    yield (
        "| offset map of | records | runs | records a run | bytes in Redis | bytes a run"
        " | packed | bytes per million records |"
    )
    yield "|---|--:|--:|--:|--:|--:|--:|--:|"
    for row in found["map_size"]:
        yield (
            f"| {row['route'].replace('.', '>')} | {row['records']:,} | {row['runs']:,}"
            f" | {row['records_per_run']:.1f} | {row['state_bytes']:,}"
            f" | {row['bytes_per_run']:.1f} | {row['packed_bytes_per_run']:.1f}"
            f" | {row['bytes_per_million_records']:,} |"
        )


if __name__ == "__main__":
    main()
