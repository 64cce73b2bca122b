"""Output of `sluice aggregate objects`: a row for each object, and what the store has otherwise."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tui.cli.views.table import joined, table
from tui.state.feed_objects import ObjectListing

HEADS = ("CLUSTER", "TOPIC", "PARTITION", "BEGIN", "END", "RECORDS", "LEFT OUT", "MIB", "KEY")
MIB = 1 << 20


def as_values(listing: ObjectListing) -> dict[str, Any]:
    """Returns plain values for JSON and YAML."""
    found = listing.differences
    return {
        "objects": [asdict(each) for each in listing.objects],
        "differences": None if found is None else [asdict(each) for each in found],
    }


def as_text(listing: ObjectListing) -> str:
    """Formats a table for people."""
    rows = [
        (
            each.cluster,
            each.topic,
            each.partition,
            each.begin,
            each.end,
            each.records,
            each.left_out,
            f"{each.size_bytes / MIB:.1f}",
            each.key,
        )
        for each in listing.objects
    ]
    text = table(HEADS, rows) if rows else "no object is told of"
    if listing.differences is None:
        return text
    lines = [f"differs: {each.key}: {each.text}" for each in listing.differences]
    return "\n\n".join([text, joined(lines or ["the store has all of them"])])
