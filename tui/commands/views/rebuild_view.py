"""Output of `sluice offsets rebuild`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from replicator.mirror.offset_map.read_back import ReadBack
from tui.commands.text import table

HEADS = ("ROUTE", "PARTITIONS", "RUNS", "RECORDS", "COMPLETE")


def as_values(found: Sequence[ReadBack]) -> list[dict[str, Any]]:
    """Returns plain values for JSON and YAML."""
    return [
        {
            "route": each.route,
            "partitions": each.partitions,
            "runs": each.runs,
            "records": each.records,
            "complete": each.is_complete,
            "trouble": each.trouble,
        }
        for each in found
    ]


def as_text(found: Sequence[ReadBack]) -> str:
    """Formats a table for people."""
    rows = [
        (it.route, it.partitions, it.runs, it.records, f"no: {it.trouble}" if it.trouble else "yes")
        for it in found
    ]
    return table(HEADS, rows)
