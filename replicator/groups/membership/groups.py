"""Consumer groups of a cluster: which have members, their commits, and writing their offsets.

Groups of all protocols that commit offsets (classic, group.protocol=consumer and =streams) are read
and written in the same way. librdkafka is not used for requests to a single group's coordinator: if
that broker dies meanwhile, ListConsumerGroupOffsets and DescribeConsumerGroups end the whole
process (librdkafka issue 4605). Connections of our own list groups, read commits and write them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from aiokafka.protocol.commit import OffsetCommitRequest
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka import TopicPartition as KafkaTopicPartition

from balancer.topic_partition import TopicPartition
from replicator.kafka.admin.admin_error import AdminError, admin_errors
from replicator.kafka.admin.group_members import GroupMembers
from replicator.kafka.client.cluster import GROUP, Answered, Cluster
from replicator.kafka.client.progress_expiry import RENEWED_PART, read_expiry
from replicator.kafka.protocol.error_codes import Code, Verdict, named, verdict
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from replicator.runtime.gather import gather_or_cancel

UNKNOWN_MEMBER_ID = 25
"""Error code of a commit by a client that is no member, to a group that has members."""
GROUP_ID_NOT_FOUND = 69
"""Error code of an OffsetFetch for a share group."""
NO_GENERATION, NO_MEMBER = -1, ""
"""Generation and member of a client that is no member of the group."""
MOVING = frozenset(
    {
        Code.COORDINATOR_LOAD_IN_PROGRESS,
        Code.COORDINATOR_NOT_AVAILABLE,
        Code.NOT_COORDINATOR,
    }
)
"""Codes of a coordinator that moves; nothing was written."""
GROUPS_AT_ONCE = 100
"""Number of groups whose commits are read at once: a broker answers requests one by one."""
AGAIN_SECONDS = 0.2
MISSING_SECONDS_MAX = 2.0
"""Time for which a broker that has just started, or a topic just created, may answer that there is
no such partition. After that, the answer counts.
"""


class GroupActive(AdminError):
    """The group has members, so only they may commit its offsets. Stop them first."""


class Groups(GroupMembers):
    """Consumer groups of one cluster."""

    # -- commits

    def commits(
        self, groups: Iterable[str], partitions: Iterable[TopicPartition]
    ) -> dict[str, dict[TopicPartition, OffsetAndMetadata]]:
        """Returns each group's commits on these partitions; those without one are left out."""
        topics: dict[str, list[int]] = {}
        for topic, partition in dict.fromkeys(partitions):
            topics.setdefault(topic, []).append(partition)
        wanted = list(dict.fromkeys(groups))
        if not topics or not wanted:
            return {group: {} for group in wanted}
        with admin_errors(self.name, "reading commits"):
            return asyncio.run(self._commits(wanted, list(topics.items())))

    async def _commits(
        self, groups: Sequence[str], topics: list[tuple[str, list[int]]]
    ) -> dict[str, dict[TopicPartition, OffsetAndMetadata]]:
        cluster = Cluster(self.name, self.cluster, client_id="sluice-admin")
        found: dict[str, dict[TopicPartition, OffsetAndMetadata]] = {}
        async with asyncio.timeout(self.timeout_seconds):
            await cluster.open()
            try:
                for at in range(0, len(groups), GROUPS_AT_ONCE):
                    some = groups[at : at + GROUPS_AT_ONCE]
                    answers = await gather_or_cancel(
                        *(_commits_of(cluster, group, topics) for group in some)
                    )
                    found |= dict(zip(some, answers, strict=True))
            finally:
                await cluster.close()
        return found

    def renewal_seconds(self) -> float:
        """Returns the time after which an offset is to be committed again that nobody moves.

        Brokers forget the offsets of a group without members. Asks them when.
        """
        with admin_errors(self.name, "reading when offsets expire"):
            return asyncio.run(self._renewal_seconds())

    async def _renewal_seconds(self) -> float:
        cluster = Cluster(self.name, self.cluster, client_id="sluice-admin")
        async with asyncio.timeout(self.timeout_seconds):
            await cluster.open()
            try:
                return (await read_expiry(cluster)).offsets_seconds * RENEWED_PART
            finally:
                await cluster.close()

    # -- writing

    def write(
        self, group: str, offsets: Mapping[TopicPartition, tuple[int, str]]
    ) -> dict[TopicPartition, str]:
        """Sets a group's offsets, each with its metadata; a group that does not exist is created.

        All offsets go in one request. Those refused for a reason that may pass are sent again.

        Returns: the partitions that the broker refused, and why; empty when all are written.

        Raises:
            GroupActive: the group has members; nothing was written.
            AdminUnreachable: no answer, so the offsets may be written: read them back.
            AdminError: anything else; nothing was written.
        """
        left = dict(offsets)
        refused: dict[TopicPartition, str] = {}
        begun_at = time.monotonic()
        while left:
            codes = self._write(group, left)
            if UNKNOWN_MEMBER_ID in codes.values():
                raise GroupActive(
                    self.name, f"group {group!r} has members: its offsets cannot be set"
                )
            seconds = time.monotonic() - begun_at
            again = {
                partition for partition, code in codes.items() if seconds < self._patience(code)
            }
            refused |= {p: named(code) for p, code in codes.items() if code and p not in again}
            left = {partition: left[partition] for partition in again}
            if left:
                time.sleep(AGAIN_SECONDS)
        return refused

    def _patience(self, code: int) -> float:
        """Returns for how many seconds a refusal may pass by itself."""
        if code == Code.UNKNOWN_TOPIC_OR_PARTITION:
            return MISSING_SECONDS_MAX
        return self.timeout_seconds if verdict(code) is Verdict.AGAIN else 0.0

    def _write(
        self, group: str, offsets: Mapping[TopicPartition, tuple[int, str]]
    ) -> dict[TopicPartition, int]:
        """Returns the broker's error code by partition; 0 where the offset is written.

        librdkafka's admin client adds a zero byte to all metadata. Others go by a request of our
        own, which needs connections of its own and takes several times as long.
        """
        if not all(_is_terminated(metadata) for _, metadata in offsets.values()):
            return self._write_exactly(group, offsets)
        rows = [
            _row(partition, offset, metadata) for partition, (offset, metadata) in offsets.items()
        ]
        client = self.client()
        answers: Any = client.alter_consumer_group_offsets(
            [ConsumerGroupTopicPartitions(group, rows)], request_timeout=self.timeout_seconds
        )
        (answer,) = answers.values()
        found = self.wait(answer, f"setting offsets of group {group!r}")
        return {
            TopicPartition(row.topic, row.partition): row.error.code() if row.error else 0
            for row in found.topic_partitions
        }

    def _write_exactly(
        self, group: str, offsets: Mapping[TopicPartition, tuple[int, str]]
    ) -> dict[TopicPartition, int]:
        topics: dict[str, list[tuple[int, int, str]]] = {}
        for (topic, partition), row in offsets.items():
            topics.setdefault(topic, []).append((partition, *row))
        request = OffsetCommitRequest(group, NO_GENERATION, NO_MEMBER, -1, list(topics.items()))
        with admin_errors(self.name, f"setting offsets of group {group!r}"):
            return asyncio.run(self._answered(group, request))

    async def _answered(
        self, group: str, request: OffsetCommitRequest
    ) -> dict[TopicPartition, int]:
        cluster = Cluster(self.name, self.cluster, client_id="sluice-admin")
        async with asyncio.timeout(self.timeout_seconds):
            await cluster.open()
            try:
                found = await cluster.ask_coordinator(GROUP, group, request, _elsewhere)
            finally:
                await cluster.close()
        return {
            TopicPartition(topic, partition): code
            for topic, rows in found.topics
            for partition, code in rows
        }


def _is_terminated(metadata: str) -> bool:
    """Returns True for metadata as librdkafka sends them: nothing, or text and a zero byte."""
    return not metadata or (len(metadata) > 1 and metadata.find("\0") == len(metadata) - 1)


def _row(partition: TopicPartition, offset: int, metadata: str) -> KafkaTopicPartition:
    if not metadata:
        return KafkaTopicPartition(*partition, offset)
    return KafkaTopicPartition(*partition, offset, metadata=metadata.removesuffix("\0"))


def _elsewhere(response: Any) -> list[int]:
    """Returns the codes of a commit that another coordinator, or a later attempt, answers."""
    return [code for _, rows in response.topics for _, code in rows if code in MOVING]


async def _commits_of(
    cluster: Cluster, group: str, topics: list[tuple[str, list[int]]]
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Returns a group's commits; none for a group of another type than consumers'."""
    try:
        return await cluster.commits(group, topics)
    except Answered as error:
        if set(error.codes) == {GROUP_ID_NOT_FOUND}:
            return {}
        raise
