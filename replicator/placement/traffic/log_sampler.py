"""Sampler of a source cluster's logs: their start and end offsets, and their sizes in bytes.

Each broker gets two offset requests and one size request, whatever the number of partitions that it
leads. All brokers are asked at the same time.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from aiokafka.errors import KafkaError
from aiokafka.protocol.offset import OffsetRequest

from balancer.topic_partition import TopicPartition
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import EARLIEST, LATEST, Cluster
from replicator.kafka.protocol.log_dirs import LogDirsRequest, log_sizes
from replicator.placement.traffic.log_snapshot import LogSnapshot, LogState
from replicator.runtime.error_text import error_text
from replicator.runtime.gather import gather_or_cancel

_NO_ANSWER = (OSError, KafkaError, TimeoutError, KeyError, Unreachable)

_Offsets = dict[TopicPartition, int]
_Logs = dict[TopicPartition, LogState]


class LogSampler:
    """Sampler of the logs of one cluster.

    Args:
        cluster: opened and closed by the caller. A broker that takes longer than its
            request_timeout_ms is left out of that snapshot. No latency-critical task should share
            its event loop: with 100 000 partitions the answers take seconds to parse.
    """

    def __init__(self, cluster: Cluster):
        self._cluster = cluster

    async def sample(self, partitions: Iterable[TopicPartition]) -> LogSnapshot:
        """Returns the logs of these partitions as they are now.

        A partition is left out if it has no leader, or its request is refused, or its broker does
        not answer. A size is None if the user lacks Describe on the cluster, or the broker did not
        answer.

        Raises:
            Unreachable: no broker answers; nothing was learned.
        """
        wanted = set(partitions)
        self._cluster.watch({each.topic for each in wanted})
        try:
            await self._cluster.refresh()
        except (OSError, KafkaError, TimeoutError) as error:
            raise Unreachable(
                f"{self._cluster.name}: a broker went away during the metadata request "
                f"({error_text(error)}); check that the brokers run"
            ) from error
        led: dict[int, list[TopicPartition]] = {}
        for partition in wanted:
            leader = self._cluster.leader(*partition)
            if leader:
                led.setdefault(leader.node, []).append(partition)
        at_ms = time.time_ns() // 1_000_000
        answers = await gather_or_cancel(
            *(self._of_broker(node, partitions) for node, partitions in led.items())
        )
        if answers and all(answer is None for answer in answers):
            raise Unreachable(
                f"{self._cluster.name}: none of the {len(led)} leaders answered the request for "
                "log ends; check that the brokers run"
            )
        logs = {each: log for answer in answers if answer for each, log in answer.items()}
        return LogSnapshot(at_ms, logs, missing=len(wanted) - len(logs))

    async def _of_broker(self, node: int, partitions: Sequence[TopicPartition]) -> _Logs | None:
        """Returns the logs that this leader answers for, or None if it does not answer."""
        try:
            # Ends first: records that arrive in between count in the next window.
            ends, starts, sizes = await gather_or_cancel(
                self._offsets(node, partitions, LATEST),
                self._offsets(node, partitions, EARLIEST),
                self._sizes(node, partitions),
            )
        except _NO_ANSWER:
            return None
        return dict(self._logs(node, starts, ends, sizes))

    def _logs(
        self, node: int, starts: _Offsets, ends: _Offsets, sizes: _Offsets
    ) -> Iterator[tuple[TopicPartition, LogState]]:
        for partition, end in ends.items():
            topic = self._cluster.topic(partition.topic)
            if topic and partition in starts:
                start = min(starts[partition], end)
                yield partition, LogState(topic.id, node, start, end, sizes.get(partition))

    async def _offsets(
        self, node: int, partitions: Sequence[TopicPartition], which: int
    ) -> _Offsets:
        asked: dict[str, list[tuple[int, int]]] = {}
        for topic, number in partitions:
            asked.setdefault(topic, []).append((number, which))
        response = await self._send(node, OffsetRequest(-1, 0, list(asked.items())))
        return {
            TopicPartition(topic, number): offset
            for topic, rows in response.topics
            for number, code, _, offset in rows
            if not code and offset >= 0
        }

    async def _sizes(self, node: int, partitions: Sequence[TopicPartition]) -> _Offsets:
        """Returns the sizes that the broker gives. Without them traffic is still counted in
        records."""
        with suppress(*_NO_ANSWER, NotImplementedError):
            return log_sizes(await self._send(node, LogDirsRequest(partitions)))
        return {}

    async def _send(self, node: int, request: Any) -> Any:
        return await self._cluster.send(node, request, purpose="looks")
