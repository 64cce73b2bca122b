"""Cluster metadata: brokers, topics and leaders, as the answers to Metadata requests show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from replicator.kafka.protocol.error_codes import Code
from replicator.kafka.protocol.topic_id import NO_TOPIC_ID


@dataclass(frozen=True, slots=True)
class Leader:
    """The broker that leads a partition, and its leader epoch."""

    node: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as the cluster's metadata shows it. A partition without a leader has None."""

    id: UUID
    leaders: dict[int, Leader | None]


class ClusterMetadata:
    """Metadata of one cluster, as of the last answer.

    A leader is replaced only by one of a newer leader epoch, or by `accept_leader`: a broker that
    is cut off from its quorum keeps reporting old leaders.
    """

    def __init__(self) -> None:
        self.cluster_id: str | None = None
        """None until a broker has answered with it."""
        self._brokers: dict[int, tuple[str, int]] = {}
        self._topics: dict[str, Topic] = {}
        self._reported: dict[str, Mapping[int, Leader | None]] = {}
        self._missing: dict[str, tuple[float, float]] = {}  # first and last of consecutive answers
        self._refused: set[str] = set()

    def update_metadata(self, response: Any, now: float) -> None:
        """Takes an answer to a Metadata request; `now` is monotonic, in seconds."""
        self.cluster_id = response.cluster_id or self.cluster_id
        if response.brokers:
            self._brokers = {row[0]: (row[1], row[2]) for row in response.brokers}
        for code, name, topic_id, _, partitions, *_ in response.topics:
            if code == Code.TOPIC_AUTHORIZATION_FAILED:
                self._refused.add(name)
            else:
                self._refused.discard(name)
            if code == Code.UNKNOWN_TOPIC_OR_PARTITION:
                self._topics.pop(name, None)
                first, _ = self._missing.get(name, (now, now))
                self._missing[name] = first, now
                continue
            self._missing.pop(name, None)
            if topic_id != NO_TOPIC_ID:
                leaders = {row[1]: _leader(row) for row in partitions}
                self._reported[name] = leaders
                self._topics[name] = Topic(topic_id, _newest(self.topic(name), topic_id, leaders))

    @property
    def nodes(self) -> list[int]:
        """Node ids of all brokers that the metadata names."""
        return list(self._brokers)

    def topic(self, name: str) -> Topic | None:
        """Returns the topic; None if the cluster has no such topic, as of the last refresh."""
        return self._topics.get(name)

    def missing_seconds(self, name: str) -> float:
        """Returns for how many seconds every answer has reported that there is no such topic.

        Returns 0 after the first such answer: a broker that has just started reports it of any
        topic.
        """
        first, last = self._missing.get(name, (0.0, 0.0))
        return last - first

    def is_refused(self, name: str) -> bool:
        """Returns True when we lack the right to describe the topic, whether or not it exists."""
        return name in self._refused

    def leader(self, topic: str, partition: int) -> Leader | None:
        """Returns the leader with the newest epoch that is known."""
        known = self.topic(topic)
        return known.leaders.get(partition) if known else None

    def reported_leader(self, topic: str, partition: int) -> Leader | None:
        """Returns the leader by the last answer, even if its epoch is older than the one known."""
        return self._reported.get(topic, {}).get(partition)

    def accept_leader(self, topic: str, partition: int, leader: Leader) -> None:
        """Takes a leader as the known one, even if its epoch is older."""
        known = self._topics[topic]
        self._topics[topic] = replace(known, leaders={**known.leaders, partition: leader})


def leader_in(response: Any, topic_id: UUID, partition: int) -> Leader | None:
    """Returns the leader that one answer to a Metadata request reports."""
    for _, _, found_id, _, partitions, *_ in response.topics:
        if found_id == topic_id:
            return next((_leader(row) for row in partitions if row[1] == partition), None)
    return None


def _leader(row: tuple[Any, ...]) -> Leader | None:
    _, _, node, epoch, *_ = row
    return Leader(node, epoch) if node >= 0 else None


def _newest(
    known: Topic | None, topic_id: UUID, reported: Mapping[int, Leader | None]
) -> dict[int, Leader | None]:
    """Returns the leaders as reported, except those with an older epoch than is known."""
    before = known.leaders if known and known.id == topic_id else {}
    newest = {}
    for number, leader in reported.items():
        older = before.get(number)
        is_stale = leader and older and leader.epoch < older.epoch
        newest[number] = older if is_stale else leader
    return newest
