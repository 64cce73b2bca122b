"""Looks at a source cluster's logs: their start and end offsets, and their sizes in bytes.

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

from balancer.plan import TopicPartition
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import EARLIEST, LATEST, Cluster
from replicator.kafka.protocol.log_dirs import LogDirsRequest, log_sizes
from replicator.placement.traffic.log_snapshot import Look, SeenLog
from replicator.runtime.gather import gather_or_cancel

_SILENT = (OSError, KafkaError, TimeoutError, KeyError, Unreachable)

_Numbers = dict[TopicPartition, int]
_Seen = dict[TopicPartition, SeenLog]


class LogSampler:
    """Looks at logs of one cluster.

    Args:
        cluster: opened and closed by the caller. A broker that takes longer than its
            request_timeout_ms is left out of that look. No latency-critical task should share its
            event loop: with 100 000 partitions the answers take seconds to parse.
    """

    def __init__(self, cluster: Cluster):
        self._cluster = cluster

    async def look(self, partitions: Iterable[TopicPartition]) -> Look:
        """Returns the logs of these partitions as they are now.

        A partition is left out if it has no leader, or its request is refused, or its broker does
        not answer. A size is None if the user lacks Describe on the cluster, or the broker did not
        answer.

        Raises:
            Unreachable: no broker answers; nothing was learned.
        """
        wanted = set(partitions)
        self._cluster.watch({place.topic for place in wanted})
        try:
            await self._cluster.refresh()
        except (OSError, KafkaError, TimeoutError) as error:
            raise Unreachable(
                f"{self._cluster.name}: a broker went while it told who leads what "
                f"({error or type(error).__name__}); check that they run"
            ) from error
        led: dict[int, list[TopicPartition]] = {}
        for place in wanted:
            leader = self._cluster.leader(*place)
            if leader:
                led.setdefault(leader.node, []).append(place)
        at_ms = time.time_ns() // 1_000_000
        answers = await gather_or_cancel(
            *(self._of_broker(node, places) for node, places in led.items())
        )
        if answers and all(answer is None for answer in answers):
            raise Unreachable(
                f"{self._cluster.name}: of {len(led)} brokers that lead what was asked for, none "
                "says where its logs end; check that they run"
            )
        logs = {place: log for answer in answers if answer for place, log in answer.items()}
        return Look(at_ms, logs, missing=len(wanted) - len(logs))

    async def _of_broker(self, node: int, places: Sequence[TopicPartition]) -> _Seen | None:
        """Returns the logs that this leader answers for, or None if it does not answer."""
        try:
            # Ends first: records that arrive in between count in the next window.
            ends, starts, sizes = await gather_or_cancel(
                self._offsets(node, places, LATEST),
                self._offsets(node, places, EARLIEST),
                self._sizes(node, places),
            )
        except _SILENT:
            return None
        return dict(self._seen(node, starts, ends, sizes))

    def _seen(
        self, node: int, starts: _Numbers, ends: _Numbers, sizes: _Numbers
    ) -> Iterator[tuple[TopicPartition, SeenLog]]:
        for place, end in ends.items():
            topic = self._cluster.topic(place.topic)
            if topic and place in starts:
                start = min(starts[place], end)
                yield place, SeenLog(topic.id, node, start, end, sizes.get(place))

    async def _offsets(self, node: int, places: Sequence[TopicPartition], which: int) -> _Numbers:
        asked: dict[str, list[tuple[int, int]]] = {}
        for topic, number in places:
            asked.setdefault(topic, []).append((number, which))
        response = await self._send(node, OffsetRequest(-1, 0, list(asked.items())))
        return {
            TopicPartition(topic, number): offset
            for topic, rows in response.topics
            for number, code, _, offset in rows
            if not code and offset >= 0
        }

    async def _sizes(self, node: int, places: Sequence[TopicPartition]) -> _Numbers:
        """Returns the sizes that the broker gives. Without them traffic is still counted in
        records."""
        with suppress(*_SILENT, NotImplementedError):
            return log_sizes(await self._send(node, LogDirsRequest(places)))
        return {}

    async def _send(self, node: int, request: Any) -> Any:
        return await self._cluster.send(node, request, purpose="looks")
