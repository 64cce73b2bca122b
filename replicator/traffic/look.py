"""What was seen of a cluster's logs at one time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from balancer.plan import TopicPartition


class SeenLog(NamedTuple):
    """A partition's log as its leader told of it.

    Args:
        leader: the broker's number. Another broker's log of the same records has another size.
        start, end: the first offset that is there, and the first that is not yet.
        size_bytes: None: not told.
    """

    topic_id: UUID
    leader: int
    start: int
    end: int
    size_bytes: int | None = None

    @property
    def density(self) -> float | None:
        """Bytes per record, on the average of the log; None where that cannot be said."""
        if not self.size_bytes or self.end <= self.start:
            return None
        return self.size_bytes / (self.end - self.start)


@dataclass(frozen=True, slots=True)
class Look:
    """All logs that were asked for, but those that nobody told of.

    Args:
        at_ms: since 1970, when they were asked for.
        missing: how many were left out: without a leader, or theirs did not answer or refused.
    """

    at_ms: int
    logs: Mapping[TopicPartition, SeenLog]
    missing: int = 0

    @property
    def unsized(self) -> int:
        """How many of the logs have no size: a right is missing (Describe on the cluster), or a
        broker did not tell in time."""
        return sum(log.size_bytes is None for log in self.logs.values())
