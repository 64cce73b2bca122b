"""Output of `sluice aggregate accept-loss`: parked partitions, and those that go on."""

from __future__ import annotations

from typing import Any

from tui.commands.text import table
from tui.facts.feed_losses import FeedLosses

PARKED_HEADS = ("CLUSTER", "TOPIC", "PARTITION", "LOADED TO", "REASON")
CONTINUED_HEADS = ("CLUSTER", "TOPIC", "PARTITION", "GOES ON AT", "ACCEPTED")


def as_values(losses: FeedLosses) -> dict[str, Any]:
    """Returns plain values for JSON and YAML."""
    return {
        "parked": [
            {
                **each.partition._asdict(),
                "loaded_to": each.intent.offset if each.intent else None,
                "reason": each.reason,
            }
            for each in losses.parked
        ],
        "continued": [
            {**each.partition._asdict(), "accepted": each.reason, "goes_on_at": each.offset}
            for each in losses.continued
        ],
        "left": [
            {**partition._asdict(), "reason": reason} for partition, reason in losses.left.items()
        ],
    }


def as_text(losses: FeedLosses) -> str:
    """Formats a table for people: parked partitions, or continued and left ones."""
    if losses.parked:
        parked = [
            (*each.partition, each.intent.offset if each.intent else None, each.reason)
            for each in losses.parked
        ]
        return table(PARKED_HEADS, parked)
    if not losses.continued and not losses.left:
        return "nothing is parked"
    rows: list[tuple[Any, ...]] = [
        (*each.partition, each.offset, each.reason) for each in losses.continued
    ]
    rows += [
        (*partition, None, f"left as it is: {reason}") for partition, reason in losses.left.items()
    ]
    return table(CONTINUED_HEADS, rows)
