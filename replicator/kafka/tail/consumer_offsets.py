"""Tailer of `__consumer_offsets`: the commits of all groups of one cluster, as they are made."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

from confluent_kafka import Message

from replicator.config.names import COMMITS_GROUP
from replicator.config.topology import KafkaCluster
from replicator.kafka.protocol.commit_record import (
    Commit,
    Committed,
    UnknownCommit,
    commit_of,
    key_of,
)
from replicator.kafka.tail.topic_tailer import TopicTailer

logger = logging.getLogger(__name__)

TOPIC = "__consumer_offsets"


class CommitRecord(NamedTuple):
    """Commit that was made, or (None) deleted."""

    committed: Committed
    commit: Commit | None


def commit_tailer(name: str, cluster: KafkaCluster, **options: Any) -> TopicTailer[CommitRecord]:
    """Returns a tailer of a cluster's commits.

    Args:
        name: for people: "west aggregate".
        options: those of TopicTailer.
    """
    return TopicTailer(name, cluster, TOPIC, COMMITS_GROUP, _CommitReader(name).read, **options)


class _CommitReader:
    def __init__(self, name: str) -> None:
        self._name = name
        self._unreadable: set[str] = set()

    def read(self, message: Message) -> CommitRecord | None:
        key, value = message.key(), message.value()
        try:
            committed = key_of(key or b"")
            if committed is None:
                return None
            return CommitRecord(committed, None if value is None else commit_of(value))
        except UnknownCommit as unknown:
            self._note(str(unknown), f"{TOPIC}-{message.partition()} at {message.offset()}")
            return None

    def _note(self, reason: str, where: str) -> None:
        """Logs each reason once: what is wrong with one record is wrong with thousands."""
        if reason not in self._unreadable:
            self._unreadable.add(reason)
            logger.warning(
                "event=commit-unreadable %s: %s: %s; it is left out, and what was committed "
                "before it is what other regions know",
                self._name,
                where,
                reason,
            )
