"""Window watch: how much of their tables' deduplication windows has passed for blocks under way."""

from __future__ import annotations

from collections.abc import Mapping

from aggregator.intents.table_range import TableRange
from aggregator.loader.counters import BLOCKS
from aggregator.loader.loader_counts import LoaderCounts
from aggregator.loader.sink import Tables
from balancer.topic_partition import TopicPartition


class WindowWatch:
    """Watch over the blocks of a loader.

    Args:
        loader_counts: of the blocks that this loader stored.
    """

    def __init__(self, tables: Tables, loader_counts: LoaderCounts) -> None:
        self._tables = tables
        self._loader_counts = loader_counts
        self._begun: dict[TopicPartition, dict[tuple[str, int], float]] = {}
        """Blocks under way, and how many were stored when they were first seen."""

    def used(
        self, place: TopicPartition, in_flight: Mapping[str, TableRange], now_ms: int
    ) -> float | None:
        """Returns the part of the window that has passed for the block that is nearest to its end.

        0 without a block under way; None if no table of such a block has a window.
        """
        before, begun = self._begun.get(place, {}), {}
        parts = []
        for name, block in in_flight.items():
            stored = self._loader_counts.value(BLOCKS, place.topic, name)
            since = begun[name, block.begin] = before.get((name, block.begin), stored)
            age_seconds = max(0, now_ms - block.sealed_at_ms) / 1000
            facts = self._tables.facts(place.topic, name)
            part = facts.window_used(age_seconds, stored - since) if facts else None
            if part is not None:
                parts.append(part)
        self._begun[place] = begun
        return max(parts, default=None) if in_flight else 0.0
