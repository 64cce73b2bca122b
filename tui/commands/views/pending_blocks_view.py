"""Output of blocks that loaders have to repeat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tui.commands.text import instant, table
from tui.facts.feed_scope import PendingBlock

HEADS = ("CLUSTER", "TOPIC", "PARTITION", "TABLE", "BEGIN", "END", "RECORDS", "SEALED")


def blocks_values(blocks: Sequence[PendingBlock]) -> list[dict[str, Any]]:
    """Returns plain values for JSON and YAML."""
    return [
        {
            **each.partition._asdict(),
            "table": each.table,
            "begin": each.block.begin,
            "end": each.block.end,
            "records": each.block.records,
            "sealed_at": instant(each.block.sealed_at_ms),
        }
        for each in blocks
    ]


def blocks_text(blocks: Sequence[PendingBlock]) -> str:
    """Formats a table for people."""
    if not blocks:
        return "no block has to be repeated"
    rows = [
        (
            *each.partition,
            each.table,
            each.block.begin,
            each.block.end,
            each.block.records,
            instant(each.block.sealed_at_ms),
        )
        for each in blocks
    ]
    return f"would be skipped, with --confirm:\n{table(HEADS, rows)}"
