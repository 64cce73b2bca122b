"""Cells, verdicts and marks that the tables of bench/README.md share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

README = Path(__file__).parent / "README.md"

Row = Mapping[str, Any]


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
