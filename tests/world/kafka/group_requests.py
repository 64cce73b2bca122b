"""Answers of a group coordinator: committed offsets, plain and in transactions.

Offsets of a transaction are pending until its marker is in the group's partition. Readers see what
is replicated. Source: org.apache.kafka.coordinator.group.OffsetMetadataManager.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from aiokafka.protocol.types import CompactString, Int16, Int32, Int64, Schema

from replicator.kafka.protocol.error_codes import Code
from replicator.kafka.protocol.fields import TAGS, TOPIC, rows
from tests.world.kafka.broker import Broker
from tests.world.kafka.coordinator_log import Fold, coordinator, write
from tests.world.kafka.kafka_cluster import GROUPS, KafkaCluster
from tests.world.kafka.log_batch import Batch, Refused
from tests.world.kafka.partition import Partition
from tests.world.kafka.requests import Asked
from tests.world.kafka.transaction_requests import takes_part

Place = tuple[str, int]
ALL_OF_GROUPS = Schema(
    ("throttle_time_ms", Int32),
    rows(
        "groups",
        ("group_id", CompactString()),
        rows(
            "topics",
            TOPIC,
            rows(
                "partitions",
                ("partition", Int32),
                ("offset", Int64),
                ("leader_epoch", Int32),
                ("metadata", CompactString()),
                ("error_code", Int16),
            ),
        ),
        ("error_code", Int16),
    ),
    TAGS,
)
"""Answer of OffsetFetch v8, which our struct only reads."""
METADATA_MAX = 4096
"""Kafka's default of offset.metadata.max.bytes, in characters
(OffsetMetadataManager.isMetadataInvalid)."""
Rows = tuple[tuple[Place, tuple[int, str]], ...]


@dataclass(frozen=True, slots=True)
class OffsetCommit:
    """Commit of one group, as it stands in the log.

    Args:
        at: time of the commit, by the coordinator's clock.
    """

    group: str
    rows: Rows
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class TopicDeletion:
    """Deletion of a topic, which takes the committed offsets of its partitions along."""

    topic: str


@dataclass(frozen=True, slots=True)
class CommitsExpired:
    """Expiry of a group's committed offset of a partition (cleanupExpiredOffsets)."""

    group: str
    place: Place


@dataclass(slots=True)
class Groups:
    """Committed offsets of the groups of one partition."""

    shown: dict[str, dict[Place, tuple[int, str]]] = field(default_factory=dict)
    pending: dict[int, list[tuple[int, OffsetCommit]]] = field(default_factory=dict)
    """Commits of open transactions by producer id, each with its offset."""
    written_at: dict[tuple[str, Place], int] = field(default_factory=dict)
    """Offset at which what is shown was written."""
    committed_at: dict[tuple[str, Place], float] = field(default_factory=dict)


def _step(groups: Groups, batch: Batch) -> None:
    """Applies a batch (OffsetMetadataManager.replay, replayEndTransactionMarker)."""
    if batch.is_marker:
        for at, commit in groups.pending.pop(batch.producer_id, []):
            if batch.is_commit:
                _show(groups, commit, at)
    elif batch.is_transactional:
        pending = groups.pending.setdefault(batch.producer_id, [])
        pending.append((batch.base_offset, batch.value))
    elif isinstance(batch.value, OffsetCommit):
        _show(groups, batch.value, batch.base_offset)
    elif isinstance(batch.value, CommitsExpired):
        groups.shown.get(batch.value.group, {}).pop(batch.value.place, None)
    elif isinstance(batch.value, TopicDeletion):
        for rows in groups.shown.values():
            for place in [it for it in rows if it[0] == batch.value.topic]:
                del rows[place]


def _show(groups: Groups, commit: OffsetCommit, at: int) -> None:
    """Shows a commit, but for rows of which a later one is shown."""
    shown = groups.shown.setdefault(commit.group, {})
    for place, row in commit.rows:
        key = (commit.group, place)
        if place not in shown or groups.written_at.get(key, -1) < at:
            shown[place], groups.written_at[key] = row, at
            groups.committed_at[key] = commit.at


def committed(broker: Broker, partition: Partition) -> Groups:
    """Returns the groups of a partition, as readers see them on a broker."""
    folds = broker.memory.setdefault("groups", {})
    fold = folds.setdefault(partition.number, Fold(Groups, _step))
    log = partition.logs[broker.node]
    found: Groups = fold.state(log, log.high_watermark)
    return found


def forget_topic(cluster: KafkaCluster, topic: str) -> None:
    """Lets coordinators delete the committed offsets of a topic that was deleted.

    Source: OffsetMetadataManager.onTopicsDeleted.
    """
    for partition in cluster.topics[GROUPS].partitions:
        leader = cluster.brokers.get(partition.decided.leader)
        if leader is not None and cluster.is_connected(leader.node):
            leader.begin(_forget(leader, partition, topic))


async def _forget(broker: Broker, partition: Partition, topic: str) -> None:
    with suppress(Refused):  # a coordinator that is not there in time keeps them
        await write(broker, partition, value=TopicDeletion(topic))


async def write_commits(
    cluster: KafkaCluster, group: str, value: OffsetCommit | CommitsExpired
) -> bool:
    """Writes into the log of a group without any client; returns False if its leader cannot."""
    partition = cluster.internal(GROUPS, group)
    leader = cluster.brokers.get(partition.decided.leader)
    if leader is None or not cluster.is_connected(leader.node):
        return False
    with suppress(Refused):
        await write(leader, partition, value=value)
        return True
    return False


async def offset_fetch(broker: Broker, asked: Asked) -> Any:
    if asked.version >= 8:
        return _many(broker, asked.body.groups, is_stable=asked.body.require_stable)
    group, topics = asked.body.consumer_group, asked.body.topics
    code, known = _of_group(broker, group)
    if topics is None:
        topics = _by_topic(known)
    found = [
        (topic, [(n, *known.get((topic, n), (-1, "")), Code.NONE) for n in numbers])
        for topic, numbers in topics
    ]
    return (0, found if not code else [], code)


def _of_group(broker: Broker, group: str) -> tuple[int, dict[Place, tuple[int, str]]]:
    try:
        partition = coordinator(broker, GROUPS, group)
    except Refused as refused:
        return refused.code, {}
    return Code.NONE, committed(broker, partition).shown.get(group, {})


def _stable(broker: Broker, group: str, asked: Any) -> Any:
    """Answers about some partitions of a group; those with pending offsets are refused
    (OffsetMetadataManager.hasPendingTransactionalOffsets)."""
    code, known = _of_group(broker, group)
    pending: set[Place] = set()
    if not code:
        groups = committed(broker, coordinator(broker, GROUPS, group))
        pending = {
            place
            for commits in groups.pending.values()
            for _, commit in commits
            if commit.group == group
            for place, _ in commit.rows
        }
    topics = []
    for topic, numbers, _ in asked if not code else ():
        rows: list[Any] = []
        for number in numbers:
            if (topic, number) in pending:
                rows.append((number, -1, -1, "", Code.UNSTABLE_OFFSET_COMMIT, {}))
            else:
                offset, text = known.get((topic, number), (-1, ""))
                rows.append((number, offset, -1, text, Code.NONE, {}))
        topics.append((topic, rows, {}))
    return (group, topics, code, {})


def _by_topic(places: Iterable[Place]) -> list[tuple[str, list[int]]]:
    topics: dict[str, list[int]] = {}
    for topic, number in sorted(places):
        topics.setdefault(topic, []).append(number)
    return list(topics.items())


def _many(broker: Broker, groups: Any, *, is_stable: bool) -> bytes:
    answers = []
    for group, asked, _ in groups:
        if is_stable:
            answers.append(_stable(broker, group, asked))
            continue
        code, found = _of_group(broker, group)
        topics = [
            (topic, [(n, found[topic, n][0], -1, found[topic, n][1], 0, {}) for n in numbers], {})
            for topic, numbers in _by_topic(found)
        ]
        answers.append((group, topics, code, {}))
    return ALL_OF_GROUPS.encode((0, answers, {}))


async def offset_commit(broker: Broker, asked: Asked) -> Any:
    body = asked.body
    rows = [
        ((topic, row[0]), (row[1], row[-1] or "")) for topic, some in body.topics for row in some
    ]
    codes: dict[Place, int] = {}
    try:
        partition = coordinator(broker, GROUPS, body.consumer_group)
        codes = _too_long(rows)
        taken = tuple(row for row in rows if row[0] not in codes)
        if taken:
            await write(broker, partition, value=_commit(broker, body.consumer_group, taken))
    except Refused as refused:
        codes = {place: refused.code for place, _ in rows} | codes
    answer = [
        (topic, [(row[0], codes.get((topic, row[0]), 0)) for row in some])
        for topic, some in body.topics
    ]
    return (0, answer) if asked.version >= 3 else (answer,)


def _commit(broker: Broker, group: str, rows: Rows) -> OffsetCommit:
    return OffsetCommit(group, rows, broker.cluster.network.loop.time())


def _too_long(rows: Iterable[tuple[Place, tuple[int, str]]]) -> dict[Place, int]:
    """Returns the errors of rows whose metadata are too long; a broker commits the others."""
    return {
        place: Code.OFFSET_METADATA_TOO_LARGE
        for place, (_, text) in rows
        if len(text) > METADATA_MAX
    }


async def transactional_commit(broker: Broker, asked: Asked) -> Any:
    body = asked.body
    codes: dict[Place, int] = {}
    known: list[tuple[Place, tuple[int, str]]] = []
    for topic, some in body.topics:
        for number, offset, text in some:
            if broker.cluster.partition(topic, number) is None:
                codes[topic, number] = Code.UNKNOWN_TOPIC_OR_PARTITION
            else:
                known.append(((topic, number), (offset, text or "")))
    if known:
        try:
            codes |= await _write_in_transaction(broker, body, known)
        except Refused as refused:
            codes |= {place: refused.code for place, _ in known}
    answer = [
        (topic, [(number, codes.get((topic, number), 0)) for number, _, _ in some])
        for topic, some in body.topics
    ]
    return (0, answer)


async def _write_in_transaction(
    broker: Broker, body: Any, rows: list[tuple[Place, tuple[int, str]]]
) -> dict[Place, int]:
    """Writes the rows of a transaction; returns the errors of those that are left out."""
    partition = coordinator(broker, GROUPS, body.group_id)
    producer = (body.producer_id, body.producer_epoch)
    if not takes_part(broker, body.transactional_id, producer, partition):
        raise Refused(Code.INVALID_TXN_STATE)
    codes = _too_long(rows)
    taken = tuple(row for row in rows if row[0] not in codes)
    if taken:
        await write(
            broker,
            partition,
            producer_id=body.producer_id,
            producer_epoch=body.producer_epoch,
            is_transactional=True,
            value=_commit(broker, body.group_id, taken),
        )
    return codes


HANDLERS = {8: offset_commit, 9: offset_fetch, 28: transactional_commit}
