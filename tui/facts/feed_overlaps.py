"""Overlaps of feeds: records that two feeds load into one table, which would be there twice. Pure.

A loader asks the table for the rows of a block only if that block may have been sent before, so
that another feed's rows do not keep it from inserting its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from replicator.config.feed_contradictions import Sources, same_records
from tui.facts.feed_findings import Finding, ReplicaFacts, ShardFacts


@dataclass(frozen=True, slots=True)
class Overlap:
    """Records that two shards of two feeds load into one table.

    Args:
        reason: why both read the same records.
        path: the table's path in ZooKeeper if only that shows that it is one table; None if the
            shards have a server in common. Two ZooKeepers may have the same path.
    """

    one: ShardFacts
    other: ShardFacts
    table: str
    topics: tuple[str, ...]
    reason: str
    path: str | None = None

    @property
    def finding(self) -> Finding:
        both = f"feeds {self.one.feed.name} and {self.other.feed.name}"
        how = f" (ZooKeeper path {self.path})" if self.path else ""
        return Finding(
            f"{self.other.shard.database}.{self.table}",
            f"{both} load the same records of {', '.join(self.topics)} into this table{how}: "
            f"{self.reason}. Each would be there twice: take the topics from one of them",
        )


def overlaps(shards: Sequence[ShardFacts], sources: Sources) -> Iterator[Overlap]:
    """Yields the overlaps of all shards. The shards of one feed have no topic in common.

    Args:
        sources: regional clusters that feed each aggregate.
    """
    for one, other in combinations(shards, 2):
        if one.feed.name == other.feed.name:
            continue
        reasons: dict[str, str] = {}
        for (cluster, topic), (other_cluster, other_topic) in product(one.read, other.read):
            if topic == other_topic and (reason := same_records(cluster, other_cluster, sources)):
                reasons.setdefault(topic, reason)
        for table in sorted({*one.tables} & {*other.tables}):
            by_name = "topic" in (one.feed.table_from, other.feed.table_from)
            topics = [topic for topic in sorted(reasons) if topic == table or not by_name]
            if topics and (place := _shared_place(one, other, table)) is not None:
                reason = reasons[topics[0]]
                yield Overlap(one, other, table, tuple(topics), reason, place or None)


def _shared_place(one: ShardFacts, other: ShardFacts, table: str) -> str | None:
    """Returns the ZooKeeper path by which the shards have one table; an empty text if they have a
    server in common; None if they have no table in common."""
    if one.shard.database == other.shard.database and _servers(one) & _servers(other):
        return ""
    found = _paths(one.replicas, table) & _paths(other.replicas, table)
    return min(found, default=None)


def _servers(shard: ShardFacts) -> set[tuple[str, int]]:
    return {(each.host, each.port) for each in shard.shard.replicas}


def _paths(replicas: Sequence[ReplicaFacts], table: str) -> set[str]:
    return {each.replication[table].path for each in replicas if table in each.replication}
