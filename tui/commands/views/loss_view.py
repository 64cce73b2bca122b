"""Output of `sluice accept-loss`: parked partitions, and those that go on."""

from __future__ import annotations

from typing import Any

from tui.commands.text import table
from tui.facts.loss_report import LossReport


def as_values(report: LossReport) -> list[dict[str, Any]]:
    """Returns plain values for JSON and YAML: parked partitions, or accepted and left ones."""
    values: list[dict[str, Any]] = [
        {**each.partition._asdict(), "reason": each.reason} for each in report.parked
    ]
    values += [
        {
            **each.partition._asdict(),
            "accepted": list(each.losses),
            "goes_on_at_source_offset": each.source_offset,
            "left_because": None,
        }
        for each in report.accepted
    ]
    values += [
        {
            **partition._asdict(),
            "accepted": [],
            "goes_on_at_source_offset": None,
            "left_because": reason,
        }
        for partition, reason in report.left.items()
    ]
    return values


def as_text(report: LossReport) -> str:
    """Formats a table for people: parked partitions, or accepted and left ones."""
    if report.parked:
        parked = [(*each.partition, each.reason) for each in report.parked]
        return table(("TOPIC", "PARTITION", "REASON"), parked)
    if not report.accepted and not report.left:
        return "nothing is parked"
    rows: list[tuple[Any, ...]] = [
        (*each.partition, each.source_offset, "; ".join(each.losses)) for each in report.accepted
    ]
    rows += [
        (*partition, None, f"left as it is: {reason}") for partition, reason in report.left.items()
    ]
    return table(("TOPIC", "PARTITION", "GOES ON AT", "ACCEPTED"), rows)
