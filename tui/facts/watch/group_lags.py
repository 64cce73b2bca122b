"""Lag of consumer groups in one region: what they have committed against the ends of the logs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from balancer.topic_partition import TopicPartition
from replicator.groups.membership.committed_offsets import CommittedOffsets
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.admin_error import AdminUnreachable
from replicator.kafka.protocol.group_offsets import Commits


@dataclass(frozen=True, slots=True)
class GroupLag:
    """Lag of one group.

    Args:
        records: offsets that are left; None when the end of a log is not known.
        partitions: number of partitions with a commit.
        topics: with a commit, sorted.
    """

    records: int | None
    partitions: int
    topics: tuple[str, ...] = ()


class Position(NamedTuple):
    """Position of a group in one partition; the lag is None when the log's end is not known."""

    committed: int
    lag: int | None


class LagProbe:
    """Probe of one region's aggregate. Blocking; its client is kept.

    Args:
        admin: client of the cluster.
    """

    def __init__(self, admin: Admin) -> None:
        self._offsets = CommittedOffsets(admin.name, admin.cluster, admin.timeout_seconds)
        self._admin = admin

    def positions(self, group: str) -> dict[TopicPartition, Position]:
        """Returns all positions of one group. Raises AdminError."""
        commits = self._offsets.of([group]).get(group)
        if commits is None:
            raise AdminUnreachable(self._admin.name, f"the coordinator of {group!r} is away")
        committed = {
            TopicPartition(topic, partition): offset
            for topic, rows in commits.items()
            for partition, offset in rows
        }
        ends = self._admin.offsets(committed, "latest")
        return {
            place: Position(offset, max(0, ends[place] - offset) if place in ends else None)
            for place, offset in committed.items()
        }

    def read(self, groups: Iterable[str]) -> dict[str, GroupLag]:
        """Returns the lag of each group whose commits are known. Raises AdminError."""
        commits = self._offsets.of(groups)
        places = {
            TopicPartition(topic, partition)
            for of_group in commits.values()
            for topic, rows in of_group.items()
            for partition, _ in rows
        }
        # Read after the commits, so that lag is never shown smaller than it is.
        ends = self._admin.offsets(places, "latest")
        return {group: lag_of(of_group, ends) for group, of_group in commits.items()}


def lag_of(commits: Commits, ends: Mapping[TopicPartition, int]) -> GroupLag:
    """Returns the lag of a group.

    Args:
        ends: of the logs, as far as they are known.
    """
    count = records = 0
    is_known = True
    for topic, rows in commits.items():
        count += len(rows)
        for partition, committed in rows:
            end = ends.get(TopicPartition(topic, partition))
            if end is None:
                is_known = False
            elif end > committed:
                records += end - committed
    return GroupLag(records if is_known else None, count, tuple(sorted(commits)))
