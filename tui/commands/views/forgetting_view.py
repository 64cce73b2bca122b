"""Output of `sluice aggregate forget`: a row for each log that has lost objects in the bucket."""

from __future__ import annotations

from typing import Any

from tui.commands.text import instant, table
from tui.facts.feed_objects import DroppedObjects, Forgetting

HEADS = (
    "CLUSTER", "TOPIC", "PARTITION", "LOG", "OBJECTS", "RECORDS", "MIB", "BEGIN", "END", "TOLD",
    "UP TO",
)  # fmt: skip
MIB = 1 << 20


def as_values(found: Forgetting) -> dict[str, Any]:
    """Returns plain values for JSON and YAML."""
    return {
        "is_done": found.is_done,
        "forgotten": [
            {
                **each.log._asdict(),
                "objects": each.objects,
                "records": each.records,
                "size_bytes": each.size_bytes,
                "begin": each.begin,
                "end": each.end,
                "first_told_at": instant(each.first_told_ms),
                "last_told_at": instant(each.last_told_ms),
            }
            for each in found.dropped
        ],
    }


def as_text(found: Forgetting) -> str:
    """Formats a table for people."""
    if not found.dropped:
        return "nothing to forget: the bucket has all objects of this age that the feed has passed"
    what = "forgotten" if found.is_done else "not in the bucket any more; --confirm forgets them"
    return "\n\n".join([table(HEADS, map(_row, found.dropped)), what])


def _row(each: DroppedObjects) -> tuple[Any, ...]:
    return (
        *each.log,
        each.objects,
        each.records,
        f"{each.size_bytes / MIB:.1f}",
        each.begin,
        each.end,
        instant(each.first_told_ms),
        instant(each.last_told_ms),
    )
