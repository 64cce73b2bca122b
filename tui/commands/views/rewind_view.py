"""Output of `sluice stream rewind-topic`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from replicator.mirror.repair.rewind import Rewound
from tui.commands.text import table

SCHEMA_VERSION = 1
HEADS = ("TOPIC", "PARTITION", "WAS AT", "GOES ON AT", "OFFSETS AGAIN")


def as_values(found: Sequence[Rewound], *, is_done: bool) -> dict[str, Any]:
    """Returns plain values for JSON and YAML."""
    return {
        "schema_version": SCHEMA_VERSION,
        "is_done": is_done,
        "partitions": [
            {
                **each.partition._asdict(),
                "was_at_source_offset": each.was_at,
                "goes_on_at_source_offset": each.goes_on_at,
                "offsets_again": each.was_at - each.goes_on_at,
            }
            for each in found
        ],
    }


def as_text(found: Sequence[Rewound], *, is_done: bool) -> str:
    """Formats a table for people, with the next step below it."""
    rows = [
        (*each.partition, each.was_at, each.goes_on_at, each.was_at - each.goes_on_at)
        for each in found
    ]
    last = "Rewound: resume it." if is_done else "Nothing was changed. To do it, say --yes."
    return f"{table(HEADS, rows)}\n{last}"
