"""Runs of the routes into a region, read from its Redis: those new since the last question."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from confluent_kafka import IsolationLevel, TopicCollection
from confluent_kafka import TopicPartition as KafkaTopicPartition
from confluent_kafka.admin import OffsetSpec

from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Region, Route
from replicator.groups.resume.runs_memory import PublishedPieces, Source
from replicator.kafka.admin.admin import uuid_of
from replicator.kafka.admin.admin_connection import AdminConnection
from replicator.kafka.admin.admin_error import AdminError, UnknownTopic
from replicator.mirror.offset_map.offset_store import OffsetStore
from replicator.mirror.offset_map.packed_map import unpack
from replicator.mirror.offset_map.runs_topic import RunsKey

KEYS_SECONDS = 1.0
"""Interval between scans for partitions with a first run. A scan reads the names of all keys."""
IDS_SECONDS = 10.0
"""Interval after which the ids of the topics that are asked about are read again."""


@dataclass(slots=True)
class Question:
    """Question of one partition, and what it was answered before.

    Args:
        wants_start: True if the first offset of the log is needed.
        seen: the packed pieces that earlier answers had, by source region and runs key.
    """

    wants_start: bool = False
    seen: dict[tuple[str, RunsKey], frozenset[bytes]] = field(default_factory=dict)


class Answer(NamedTuple):
    """News for one partition since its last answer."""

    published: tuple[PublishedPieces, ...]
    log_start: int | None


class RunsReader:
    """Reader of a region's runs. Blocking; for one thread at a time."""

    def __init__(self, region: Region, routes: Iterable[Route], logs: AggregateLogs) -> None:
        url = region.redis_url()
        self._stores = {route.source: OffsetStore(url, route.key) for route in routes}
        self._logs = logs
        self._keys: dict[str, list[RunsKey]] = {}
        self._keys_read_at = self._ids_read_at = float("-inf")
        self._ids: dict[str, str] = {}

    def close(self) -> None:
        for store in self._stores.values():
            store.close()

    def read(self, questions: Mapping[TopicPartition, Question]) -> dict[TopicPartition, Answer]:
        """Returns what is new for each question.

        Raises AdminError, StoreUnreachable, UnknownVersion or BrokenPiece. No question is then
        marked as answered, and the next answer has everything.
        """
        self._look_for_keys()
        self._look_for_ids({partition.topic for partition in questions})
        wanted = [partition for partition, question in questions.items() if question.wants_start]
        starts = self._logs.starts(wanted) if wanted else {}
        published: dict[TopicPartition, list[PublishedPieces]] = {
            partition: [] for partition in questions
        }
        seen: list[tuple[Question, tuple[str, RunsKey], frozenset[bytes]]] = []
        for region, store in self._stores.items():
            keys = [key for key in self._keys[region] if self._is_asked_for(key, questions)]
            for key, members in store.pieces(keys).items():
                partition = TopicPartition(key.topic, key.partition)
                question = questions[partition]
                before = question.seen.get((region, key), frozenset())
                source = Source(region, key.source_topic_id)
                published[partition] += _published(
                    source, {p: n for p, n in members.items() if p not in before}
                )
                seen.append((question, (region, key), frozenset(members)))
        for question, key_of_route, members_seen in seen:
            question.seen[key_of_route] = members_seen
        return {
            partition: Answer(tuple(published[partition]), starts.get(partition))
            for partition in questions
        }

    def _look_for_keys(self) -> None:
        if time.monotonic() - self._keys_read_at >= KEYS_SECONDS:
            self._keys = {region: store.keys() for region, store in self._stores.items()}
            self._keys_read_at = time.monotonic()

    def _look_for_ids(self, topics: set[str]) -> None:
        is_old = time.monotonic() - self._ids_read_at >= IDS_SECONDS
        if is_old or not topics <= self._ids.keys():
            self._ids |= self._logs.topic_ids(topics)
            self._ids_read_at = time.monotonic()

    def _is_asked_for(self, key: RunsKey, questions: Mapping[TopicPartition, Question]) -> bool:
        partition = TopicPartition(key.topic, key.partition)
        return partition in questions and key.target_topic_id == self._ids.get(key.topic)


def _published(source: Source, members: Mapping[bytes, int]) -> Iterable[PublishedPieces]:
    by_losses: dict[int, list[bytes]] = {}
    for piece, losses in members.items():
        by_losses.setdefault(losses, []).append(piece)
    for losses, pieces in by_losses.items():
        yield PublishedPieces(source, losses, tuple(unpack(piece) for piece in pieces))


class AggregateLogs(AdminConnection):
    """Client of the aggregate cluster that needs no more than a consumer's rights."""

    def __init__(self, region: Region) -> None:
        super().__init__(ClusterName.aggregate(region.name), region.aggregate)

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        """Returns topic ids as in runs keys; topics that do not exist are left out."""
        names = sorted(topics)
        client = self.client()
        answers = client.describe_topics(
            TopicCollection(names), request_timeout=self.timeout_seconds
        )
        ids = {}
        for name, answer in answers.items():
            try:
                described = self.wait(answer, f"describing topic {name!r}")
            except UnknownTopic:
                continue
            ids[name] = uuid_of(described.topic_id).hex
        return ids

    def starts(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Returns the first offset of each partition's log."""
        answers = self.list_offsets(
            {KafkaTopicPartition(*partition): OffsetSpec.earliest() for partition in partitions},
            IsolationLevel.READ_UNCOMMITTED,
        )
        found = {}
        for each, answer in answers.items():
            if isinstance(answer, AdminError):
                raise answer
            found[TopicPartition(each.topic, each.partition)] = answer.offset
        return found
