"""Reader of many partitions: fetches into pipelines, one request at a time per source broker."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar
from uuid import UUID

from aiokafka.errors import KafkaError

from balancer.topic_partition import TopicPartition
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.fetch_session import FetchSession, TopicIdPartition
from replicator.kafka.protocol.error_codes import named
from replicator.kafka.protocol.fetch import FetchPosition, FetchRequest
from replicator.kafka.protocol.topic_id import NO_TOPIC_ID
from replicator.runtime.error_text import error_text

PIPELINE_BYTES_MAX = 4 << 20
PIPELINES_BYTES_MAX = 192 << 20
RESPONSE_BYTES_MAX = 8 << 20
RESPONSES_BYTES_MAX = 64 << 20
"""Limit of the responses of all brokers together. Requests to all brokers run at the same time, and
their responses add to PIPELINES_BYTES_MAX."""
WAIT_MS = 100
SHORT_WAIT_MS = 5
"""Wait of a fetch while some pipeline is full: it may have room again before records arrive."""
PAUSE_SECONDS = 0.01
RETRY_SECONDS = 0.2
POLL_SECONDS = 0.1
LATE_SECONDS = 1.0
"""Longest time after a request at which its response counts as current. A response that is read
later waited while this process was stopped, and describes the source as it was then."""


class FetchedPartition(Protocol):
    """Pipeline of one partition, as far as the reader knows it."""

    @property
    def partition(self) -> TopicPartition: ...

    @property
    def topic_id(self) -> UUID | None:
        """Topic that is read; known once the pipeline is fetching."""

    @property
    def position(self) -> int:
        """Source offset to fetch next."""

    @property
    def leader_epoch(self) -> int:
        """Leader epoch under which the position was last checked; -1: not checked."""

    @property
    def fetch_bytes(self) -> int:
        """Fetch size that the next batch needs, if it exceeds the configured one; else 0."""

    @property
    def buffered_bytes(self) -> int:
        """Size of all records that were taken in and are not handled yet."""

    @property
    def is_fetching(self) -> bool:
        """True while records are wanted: the pipeline is not settling, and no loss has ended it."""


P = TypeVar("P", bound=FetchedPartition)
P_contra = TypeVar("P_contra", bound=FetchedPartition, contravariant=True)


class Checks(Protocol):
    """Checks of positions in the source's logs."""

    def start(self) -> None:
        """Starts a check of each pipeline whose source leader differs from the one last checked."""

    @property
    def running(self) -> Sequence[asyncio.Task[None]]:
        """Checks that are under way."""


class Intake(Protocol[P_contra]):
    """Destination of fetch responses."""

    def take(
        self,
        response: Any,
        wanted: Mapping[TopicIdPartition, P_contra],
        session: FetchSession,
        reported_at: float,
    ) -> bool:
        """Takes a response in.

        Returns True when a partition was answered with an error, so that metadata needs a refresh.

        Args:
            wanted: pipelines that were fetched for.
            session: the fetch session that the response answers.
            reported_at: unix seconds at which the source reported its ends.
        """


@dataclass(eq=False)
class Reader(Generic[P]):
    """Keeps the pipelines filled.

    Args:
        pipelines: read again in every round; other parts add and remove pipelines meanwhile.
        checks: run before the first fetch under each leader.
        intake: takes the responses.
        fetch_bytes: fetch size per partition.
        pipeline_bytes_max, pipelines_bytes_max: a pipeline that has buffered so much is not
            fetched, and no pipeline is once all of them together have.
        response_bytes_max, responses_bytes_max: limits of one response, and of all brokers'
            responses together.
        bytes_min: a response waits for so many, but never longer than WAIT_MS.
        clock: unix seconds.
    """

    source: Cluster
    pipelines: Mapping[TopicPartition, P]
    checks: Checks
    intake: Intake[P]
    fetch_bytes: int
    retry_seconds: float = RETRY_SECONDS
    pipeline_bytes_max: int = PIPELINE_BYTES_MAX
    pipelines_bytes_max: int = PIPELINES_BYTES_MAX
    response_bytes_max: int = RESPONSE_BYTES_MAX
    responses_bytes_max: int = RESPONSES_BYTES_MAX
    bytes_min: int = 1
    clock: Callable[[], float] = lambda: time.time()  # looked up when called: it may be simulated
    changed: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    """Set when pipelines were added, so that they do not wait for the next round."""
    _brokers: dict[int, asyncio.Task[None]] = field(init=False, default_factory=dict)

    async def run(self) -> None:
        """Fetches until cancelled.

        Raises:
            Forbidden: the user lacks a right on the source. Any other exception is a bug.
        """
        try:
            while True:
                self.checks.start()
                for node in self._nodes():
                    task = self._brokers.get(node)
                    if task is None or task.done():
                        if task:
                            task.result()
                        self._brokers[node] = asyncio.create_task(self._fetch_from(node))
                self.changed.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(POLL_SECONDS):
                        await self.changed.wait()
        finally:
            tasks = [*self._brokers.values(), *self.checks.running]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _nodes(self) -> set[int]:
        leaders = (self.source.leader(*partition) for partition in self.pipelines)
        return {leader.node for leader in leaders if leader}

    # -- one broker

    async def _fetch_from(self, node: int) -> None:
        """Fetches from one broker while it leads a carried partition."""
        session = FetchSession()
        has_failed = False
        while node in self._nodes():
            wanted, is_all = self._wanted(node)
            if not wanted:
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            changes = session.next(
                {
                    place: fetch_position(pipeline, self.fetch_bytes)
                    for place, pipeline in wanted.items()
                }
            )
            request = FetchRequest(
                changes.positions,
                session=(changes.session_id, changes.epoch),
                forgotten=changes.forgotten,
                wait_ms=WAIT_MS if is_all else SHORT_WAIT_MS,
                bytes_min=self.bytes_min,
                bytes_max=min(
                    self.response_bytes_max, self.responses_bytes_max // len(self._brokers)
                ),
                read_committed=True,
            )
            asked_at = self.clock()
            try:
                response = await self.source.send(node, request, "fetch")
            except (OSError, KafkaError, TimeoutError, KeyError, Unreachable) as error:
                self._note_trouble(error_text(error))
                session.forget()
                await asyncio.sleep(self.retry_seconds)
                await self.source.try_refresh()
                continue
            if response.error_code:
                # The session was evicted, or the broker restarted: the next request is a full one.
                self._note_trouble(named(response.error_code))
                session.forget()
                if has_failed:
                    await asyncio.sleep(self.retry_seconds)
                    await self.source.try_refresh()
                has_failed = True
                continue
            has_failed = False
            session.answered(response.session_id)
            reported_at = min(self.clock(), asked_at + LATE_SECONDS)
            if self.intake.take(response, wanted, session, reported_at):
                await asyncio.sleep(self.retry_seconds * random.uniform(0.2, 0.5))
                await self.source.try_refresh()

    def _note_trouble(self, trouble: str) -> None:
        self.source.trouble = f"{self.source.name}: Fetch: {trouble}"

    def _wanted(self, node: int) -> tuple[dict[TopicIdPartition, P], bool]:
        """Returns the pipelines to fetch from this broker: checked under its epoch, and with room.

        The second value is False if pipelines were skipped for lack of room.
        """
        wanted: dict[TopicIdPartition, P] = {}
        is_all = True
        room = self.pipelines_bytes_max - sum(
            pipeline.buffered_bytes for pipeline in self.pipelines.values()
        )
        for partition, pipeline in self.pipelines.items():
            leader = self.source.leader(*partition)
            if leader is None or leader.node != node or not pipeline.is_fetching:
                continue
            if leader.epoch != pipeline.leader_epoch:
                continue
            if pipeline.buffered_bytes >= self.pipeline_bytes_max or room <= 0:
                is_all = False
                continue
            topic_id = pipeline.topic_id
            assert topic_id is not None, "a pipeline that fetches knows its topic's id"
            wanted[topic_id, partition.partition] = pipeline
        return wanted, is_all


def fetch_position(pipeline: FetchedPartition, fetch_bytes: int) -> FetchPosition:
    """Returns where to fetch next for a pipeline, and at least `fetch_bytes`."""
    return FetchPosition(
        pipeline.topic_id or NO_TOPIC_ID,
        pipeline.partition.partition,
        pipeline.position,
        max(fetch_bytes, pipeline.fetch_bytes),
        pipeline.leader_epoch,
    )
