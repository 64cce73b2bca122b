"""Tables of a results file in bench/README.md, and the cells and verdicts that they share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

README = Path(__file__).parent / "README.md"

Row = Mapping[str, Any]
Rows = Mapping[tuple[str, ...], Row]
"""Results by what tells them apart: case and system, mostly."""


def case_and_system(row: Row) -> tuple[str, ...]:
    """Returns the case and the system of a result."""
    return row["case"], row["system"]


@dataclass(frozen=True, slots=True)
class Tables:
    """Tables of a results file, between two marks of the README.

    Args:
        name: in the marks.
        parts: each writes the lines of one part.
        identity: tells a result from all others.
    """

    file: Path
    name: str
    parts: Sequence[Callable[[Rows], Iterator[str]]]
    identity: Callable[[Row], tuple[str, ...]] = case_and_system

    def write(self) -> None:
        """Puts the tables between their two marks, once there are results."""
        if self.file.exists():
            begin = f"<!-- {self.name}: made by `python -m bench.table` -->"
            part = self.text(json.loads(self.file.read_text()))
            readme = replaced(README.read_text(), begin, f"<!-- end of {self.name} -->", part)
            README.write_text(readme)

    def text(self, found: Mapping[str, Any]) -> str:
        """Returns the parts, the systems that were left out, and the machine."""
        rows = {self.identity(row): row for row in found["results"]}
        texts = ["\n".join(part(rows)) for part in self.parts]
        texts += ["\n".join(left_out(found["runs"])), machine_line(found["machine"], found["runs"])]
        return "\n\n".join(text for text in texts if text) + "\n"


def latency_table(rows: Rows, memory: str = "MB") -> Iterator[str]:
    """Yields the lines of the table of latencies, if there are any."""
    chosen = [row for row in rows.values() if row["latency_ms"] is not None]
    if chosen:
        yield f"| case | system | p50 ms | p99 ms | CPU s per million | {memory} |"
        yield "|---|---|--:|--:|--:|--:|"
    for row in chosen:
        yield (
            f"| {row['case']} | {row['system']} | {number(row['latency_ms']['p50'])}"
            f" | {number(row['latency_ms']['p99'])} | {number(row['cpu_seconds_per_million'])}"
            f" | {number(row['peak_rss_mb'])} |"
        )


def kills_table(rows: Rows) -> Iterator[str]:
    """Yields the lines of the table of losses and duplicates, if there are any."""
    chosen = [row for row in rows.values() if row["lost"] is not None]
    if chosen:
        yield "| case | system | duplicates | lost |"
        yield "|---|---|--:|--:|"
    for row in chosen:
        yield (
            f"| {row['case']} | {row['system']} | {number(row['duplicates'])}"
            f" | {number(row['lost'])} |"
        )


def left_out(runs: Mapping[str, Any]) -> Iterator[str]:
    """Yields for each system and reason the cases that it cannot do."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for case, run in runs.items():
        for system, reason in run.get("impossible", {}).items():
            reasons.setdefault((system, reason), []).append(case)
    for (system, reason), cases in reasons.items():
        yield f"- {system}, not in {', '.join(cases)}: {reason}."


def replaced(text: str, begin: str, end: str, part: str) -> str:
    """Returns a text with another part between its two marks."""
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n\n{part}\n{end}{after}"


def ratio(over: Row, under: Row, field: str) -> float | None:
    """Returns the ratio of two figures; None if a figure is missing."""
    high, low = over.get(field), under.get(field)
    return high / low if high and low else None


def number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.2f}"


def met(is_met: bool) -> str:
    return "met" if is_met else "**missed**"


def against(
    what: str, value: float, aim: float, prefix: str = "", *, aim_text: str | None = None
) -> str:
    """Returns a figure beside its aim, and by how much it was missed.

    Args:
        value, aim: the larger, the better.
        prefix: before the aim as it is shown.
        aim_text: the aim as it is shown; None: as a number.
    """
    missed = "" if value >= aim else f", by {1 - value / aim:.0%}"
    shown = f"{aim:g}" if aim_text is None else aim_text
    return f"{what}, aim {prefix}{shown} {met(value >= aim)}{missed}"


def machine_line(machine: Row, runs: Mapping[str, Any]) -> str:
    """Returns the machine, and when each case was measured."""
    described = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in machine.items())
    whens = ", ".join(
        f"{case} {run['at']} (load {run['load_average']}, rounds {run['rounds']})"
        for case, run in runs.items()
    )
    return f"Machine: {described}.\n\nMeasured: {whens}."
