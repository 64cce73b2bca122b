"""Scope: the part of a feed that a command names."""

from __future__ import annotations

from dataclasses import dataclass

from aggregator.intents.table_range import TableRange
from aggregator.loader.reports import FeedPartition


@dataclass(frozen=True, slots=True)
class Scope:
    """Part of a feed; None for all of it."""

    cluster: str | None = None
    topic: str | None = None
    partition: int | None = None
    table: str | None = None

    def has(self, partition: FeedPartition) -> bool:
        """Returns True for a partition in the scope, whatever its tables."""
        wanted = (self.cluster, self.topic, self.partition)
        return all(name in (None, own) for name, own in zip(wanted, partition, strict=True))


@dataclass(frozen=True, slots=True)
class PendingBlock:
    """Block that an intent names: a loader that takes its partition over has to repeat it.

    Args:
        incarnation: of the partition's log.
    """

    partition: FeedPartition
    table: str
    block: TableRange
    incarnation: int = 0
