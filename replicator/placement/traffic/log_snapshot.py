"""Snapshot of a cluster's logs: their offsets and sizes at one time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from balancer.topic_partition import TopicPartition


class LogState(NamedTuple):
    """A partition's log as its leader reported it.

    Args:
        leader: node id of the broker. The same records take another size on another broker.
        start: first offset in the log.
        end: offset after the last record.
        size_bytes: None if the broker gave no size: permission is missing (Describe on the
            cluster), or it did not answer in time.
    """

    topic_id: UUID
    leader: int
    start: int
    end: int
    size_bytes: int | None = None

    @property
    def density(self) -> float | None:
        """Average bytes per record of the log; None if it cannot be computed."""
        if not self.size_bytes or self.end <= self.start:
            return None
        return self.size_bytes / (self.end - self.start)


@dataclass(frozen=True, slots=True)
class LogSnapshot:
    """Snapshot of all requested logs for which a broker answered.

    Args:
        at_ms: time of the request, Unix time in milliseconds.
        missing: number of logs left out: there was no leader, or the leader refused or did not
            answer.
    """

    at_ms: int
    logs: Mapping[TopicPartition, LogState]
    missing: int = 0
