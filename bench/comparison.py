"""Writes the README's comparison with MirrorMaker 2 from bench/results.

python -m bench.comparison
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import failover_table, results
from bench.table import OURS, PEER, STRICT_PEER

README = Path(__file__).parents[1] / "README.md"
BEGIN = "<!-- comparison: made by `python -m bench.comparison` -->"
END = "<!-- end of comparison -->"
SYSTEMS = {
    PEER: "MirrorMaker 2",
    STRICT_PEER: "MirrorMaker 2, exactly once",
    OURS: "Sluice",
}
RATES = {
    "bytes200": "records of 200 bytes in batches of 1000",
    "bytes1000": "records of 1000 bytes in batches of 200",
    "one_record_batches": "records of 200 bytes, each a batch",
}
RECORDS_BEHIND = 100_000

Row = Mapping[str, Any]


def main() -> None:
    before, _, rest = README.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    README.write_text(f"{before}{written()}{after}")


def written() -> str:
    """Returns the comparison with its two marks, as it stands in the README."""
    mirrored = json.loads(results.FILE.read_text())["results"]
    moved = json.loads(failover_table.FILE.read_text())["results"]
    return f"{BEGIN}\n\n{table(mirrored, moved)}\n\n{END}"


def table(mirrored: Sequence[Row], moved: Sequence[Row]) -> str:
    """Returns a Markdown table with a column for each system.

    Args:
        mirrored: rows of bench/results/replicate.json.
        moved: rows of bench/results/failover.json.
    """
    heads = [f"| | {' | '.join(SYSTEMS.values())} |", f"|---|{'--:|' * len(SYSTEMS)}"]
    rows = {(row["case"], row["system"]): row for row in mirrored}
    return "\n".join([*heads, *_throughput(rows), *_latency(rows), *_kills(rows), *_moves(moved)])


def _throughput(rows: Mapping[tuple[str, str], Row]) -> Iterator[str]:
    for case, what in RATES.items():
        peer = rows[case, PEER]
        for field, name in (
            ("records_per_second", "rate"),
            ("cpu_seconds_per_million", "CPU for each record"),
        ):
            ratios = [rows[case, system][field] / peer[field] for system in SYSTEMS]
            yield _row(f"{name}, {what}", [f"{ratio:.2f}" for ratio in ratios])


def _latency(rows: Mapping[tuple[str, str], Row]) -> Iterator[str]:
    found = [rows["latency2000", system]["latency_ms"] for system in SYSTEMS]
    yield _row("latency at 2000 records/s, p50, ms", [f"{each['p50']:.1f}" for each in found])
    yield _row("latency at 2000 records/s, p99, ms", [f"{each['p99']:.1f}" for each in found])


def _kills(rows: Mapping[tuple[str, str], Row]) -> Iterator[str]:
    found = [rows["kills", system] for system in SYSTEMS]
    for level in ("committed", "uncommitted"):
        copies = [f"{each[f'duplicates_{level}']:,}" for each in found]
        yield _row(f"duplicates after 4 kills, read_{level}", copies)


def _moves(moved: Sequence[Row]) -> Iterator[str]:
    again = {
        row["system"]: f"{row['read_again']:,}"
        for row in moved
        if (row["case"], row["lag"]) == ("single", RECORDS_BEHIND)
    }
    what = f"read again by a group that moves {RECORDS_BEHIND:,} records behind"
    yield _row(what, [again.get(system, "not measured") for system in SYSTEMS])


def _row(what: str, cells: Sequence[str]) -> str:
    return f"| {what} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
