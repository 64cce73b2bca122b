"""Window watch: how much of their tables' deduplication windows has passed for blocks under way."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from aggregator.intents.table_range import TableRange
from aggregator.store.schema_reader import TableFacts
from balancer.topic_partition import TopicPartition


class WindowWatch:
    """Watch over the blocks of a loader.

    Args:
        facts: returns a table of a topic; None if it is not known.
        stored: returns the number of blocks of a topic that this loader stored in a table.
    """

    def __init__(
        self,
        facts: Callable[[str, str], TableFacts | None],
        stored: Callable[[str, str], float],
    ) -> None:
        self._facts = facts
        self._stored = stored
        self._begun: dict[TopicPartition, dict[tuple[str, int], float]] = {}
        """Blocks under way, and what `stored` was when they were first seen."""

    def used(
        self, place: TopicPartition, in_flight: Mapping[str, TableRange], now_ms: int
    ) -> float | None:
        """Returns the part of the window that has passed for the block that is nearest to its end.

        0 without a block under way; None if no table of such a block has a window.
        """
        before, begun = self._begun.get(place, {}), {}
        parts = []
        for name, block in in_flight.items():
            stored = self._stored(place.topic, name)
            since = begun[name, block.begin] = before.get((name, block.begin), stored)
            age_seconds = max(0, now_ms - block.sealed_at_ms) / 1000
            facts = self._facts(place.topic, name)
            part = facts.window_used(age_seconds, stored - since) if facts else None
            if part is not None:
                parts.append(part)
        self._begun[place] = begun
        return max(parts, default=None) if in_flight else 0.0
