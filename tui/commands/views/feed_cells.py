"""Cells that the tables of feeds into ClickHouse and of feeds into S3 share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from tui.commands.text import NONE
from tui.facts.feed_status import FeedPartitionView
from tui.facts.totals import largest

MIB = 1 << 20


def ages(partitions: Sequence[FeedPartitionView]) -> tuple[Any, Any]:
    """Returns the age of the oldest block, and the largest part of a window that has passed.

    Both are ? where an intent is unknown, and - where no block may have been sent.
    """
    if any(each.blocks is None for each in partitions):
        return None, None
    some = [each for each in partitions if each.blocks]
    if not some:
        return NONE, NONE
    oldest = max((each.intent_age_seconds or 0.0 for each in some), default=None)
    return oldest, percent(largest(each.window_used for each in some))


def counts(words: Iterable[str | None]) -> str | None:
    """Returns how often each word occurs: "3 held, 1 parked"; None when one is unknown."""
    found = Counter(words)
    if None in found:
        return None
    return ", ".join(f"{count} {word}" for word, count in sorted(found.items()) if word)


def custody(partition: FeedPartitionView) -> str | None:
    """Returns the custody of a partition, or that it is frozen; None when it is not known."""
    if partition.frozen is not None and partition.parked is None:
        return "frozen"
    return partition.custody


def mib(size_bytes: int | None) -> float | None:
    """Converts bytes to MiB."""
    return None if size_bytes is None else size_bytes / MIB


def percent(part: float | None) -> str | None:
    """Formats a part as a percentage."""
    return None if part is None else f"{part:.0%}"
