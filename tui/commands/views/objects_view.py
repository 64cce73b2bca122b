"""Output of `sluice aggregate objects`: a row for each object, and what the store has otherwise."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from aggregator.objects.forgotten import Log
from tui.commands.text import joined, table
from tui.facts.feed_objects import ObjectListing

HEADS = ("CLUSTER", "TOPIC", "PARTITION", "BEGIN", "END", "RECORDS", "LEFT OUT", "MIB", "KEY")
MIB = 1 << 20


def named(log: Log) -> str:
    """Returns a log for people."""
    later = f", log {log.incarnation}" if log.incarnation else ""
    return f"{log.topic}-{log.partition} in {log.cluster}{later}"


def as_values(listing: ObjectListing) -> dict[str, Any]:
    """Returns plain values for JSON and YAML."""
    found = listing.differences
    return {
        "objects": [asdict(each) for each in listing.objects],
        "differences": None if found is None else [asdict(each) for each in found],
        "forgotten": [
            {**each.log._asdict(), **some._asdict()}
            for each in listing.forgotten
            for some in each.ranges
        ],
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
    if gone := [
        f"forgotten: {named(it.log)}: {each}" for it in listing.forgotten for each in it.ranges
    ]:
        text = "\n\n".join([text, joined(gone)])
    if listing.differences is None:
        return text
    lines = [f"differs: {each.key}: {each.text}" for each in listing.differences]
    return "\n\n".join([text, joined(lines or ["the store has all of them"])])
