"""Source side of a carrier: fetches into pipelines, one request at a time per source broker."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Container, Iterable, Mapping
from contextlib import suppress
from typing import Any

from aiokafka.errors import KafkaError

from balancer.plan import TopicPartition
from replicator.batches.batch import BrokenBatch
from replicator.batches.outgoing_batch import RecordTooLarge
from replicator.batches.packer import PackingRule, pack
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import (
    MISSING_SECONDS_MAX,
    UNKNOWN_TOPIC,
    Answered,
    Cluster,
    Forbidden,
)
from replicator.kafka.client.fetch_session import FetchSession, TopicIdPartition
from replicator.kafka.protocol.error_codes import Verdict, named, verdict
from replicator.kafka.protocol.fetch import FetchPosition, FetchRequest
from replicator.kafka.protocol.topic_id import NO_TOPIC_ID
from replicator.mirror.carrier.epoch_regress import EpochRegress
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.ledger.inspection import inspect_source
from replicator.mirror.ledger.loss import Loss, LossKind

LANE_BYTES_MAX = 4 << 20
CARRIER_BYTES_MAX = 192 << 20
RESPONSE_BYTES_MAX = 8 << 20
RESPONSES_BYTES_MAX = 64 << 20
"""Limit of the responses of all brokers together. Requests to all brokers run at the same time, and
their responses add to CARRIER_BYTES_MAX."""
WAIT_MS = 100
SHORT_WAIT_MS = 5
"""Wait of a fetch while some pipeline is full: it may have room again before records arrive."""
PAUSE_SECONDS = 0.01
RETRY_SECONDS = 0.2
LOOK_SECONDS = 0.1
LATE_SECONDS = 1.0
"""Longest time after a request at which its response counts as current. A response that is read
later waited while this process was stopped, and describes the source as it was then."""


class Reader:
    """Keeps the pipelines filled.

    Args:
        pipelines: read again in every round; other parts add and remove pipelines meanwhile.
        rule_of: returns the packing rule of a topic.
        fetch_bytes: fetch size per partition.
        filled: called with the pipelines that received records.
    """

    def __init__(
        self,
        *,
        source: Cluster,
        pipelines: Mapping[TopicPartition, PartitionPipeline],
        rule_of: Callable[[str], PackingRule],
        fetch_bytes: int,
        filled: Callable[[list[PartitionPipeline]], None],
    ):
        self._source = source
        self._pipelines = pipelines
        self._rule_of = rule_of
        self._fetch_bytes = fetch_bytes
        self._filled = filled
        self._regress = EpochRegress(source)
        self._brokers: dict[int, asyncio.Task[None]] = {}
        self._checks: dict[TopicPartition, asyncio.Task[None]] = {}
        self.changed = asyncio.Event()
        """Set when pipelines were added, so that they do not wait for the next round."""

    async def run(self) -> None:
        """Fetches until cancelled.

        Raises:
            Forbidden: the user lacks a right on the source. Any other exception is a bug.
        """
        try:
            while True:
                self._check_where_needed()
                for node in self._nodes():
                    task = self._brokers.get(node)
                    if task is None or task.done():
                        if task:
                            task.result()
                        self._brokers[node] = asyncio.create_task(self._fetch_from(node))
                self.changed.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_SECONDS):
                        await self.changed.wait()
        finally:
            tasks = [*self._brokers.values(), *self._checks.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _nodes(self) -> set[int]:
        leaders = (self._source.leader(*partition) for partition in self._pipelines)
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
                {place: self._position(pipeline) for place, pipeline in wanted.items()}
            )
            request = FetchRequest(
                changes.positions,
                session=(changes.session_id, changes.epoch),
                forgotten=changes.forgotten,
                wait_ms=WAIT_MS if is_all else SHORT_WAIT_MS,
                bytes_max=min(RESPONSE_BYTES_MAX, RESPONSES_BYTES_MAX // len(self._brokers)),
                read_committed=True,
            )
            asked_at = time.time()
            try:
                response = await self._source.send(node, request, "fetch")
            except (OSError, KafkaError, TimeoutError, KeyError, Unreachable) as error:
                self._say(f"{error or type(error).__name__}")
                session.forget()
                await asyncio.sleep(RETRY_SECONDS)
                await self._source.try_refresh()
                continue
            if response.error_code:
                # The session was evicted, or the broker restarted: the next request is a full one.
                self._say(named(response.error_code))
                session.forget()
                if has_failed:
                    await asyncio.sleep(RETRY_SECONDS)
                    await self._source.try_refresh()
                has_failed = True
                continue
            has_failed = False
            session.answered(response.session_id)
            told_at = min(time.time(), asked_at + LATE_SECONDS)
            if self._take(response, wanted, session, told_at):
                await asyncio.sleep(RETRY_SECONDS * random.uniform(0.2, 0.5))
                await self._source.try_refresh()

    def _say(self, trouble: str) -> None:
        self._source.trouble = f"{self._source.name}: Fetch: {trouble}"

    def _wanted(self, node: int) -> tuple[dict[TopicIdPartition, PartitionPipeline], bool]:
        """Returns the pipelines to fetch from this broker: checked under its epoch, and with room.

        The second value is False if pipelines were skipped for lack of room.
        """
        wanted: dict[TopicIdPartition, PartitionPipeline] = {}
        is_all = True
        room = CARRIER_BYTES_MAX - sum(
            pipeline.queued_bytes for pipeline in self._pipelines.values()
        )
        for partition, pipeline in self._pipelines.items():
            leader = self._source.leader(*partition)
            if leader is None or leader.node != node or pipeline.is_settling or pipeline.stopping:
                continue
            if leader.epoch != pipeline.source_leader:
                continue
            if pipeline.queued_bytes >= LANE_BYTES_MAX or room <= 0:
                is_all = False
                continue
            topic = pipeline.entry.source_topic
            assert topic is not None, "a pipeline begins with the source topic's id in its entry"
            wanted[topic, partition.partition] = pipeline
        return wanted, is_all

    def _position(self, pipeline: PartitionPipeline) -> FetchPosition:
        return FetchPosition(
            pipeline.entry.source_topic or NO_TOPIC_ID,
            pipeline.partition.partition,
            pipeline.position,
            max(self._fetch_bytes, pipeline.fetch_bytes),
            pipeline.source_leader,
        )

    def _take(
        self,
        response: Any,
        wanted: Mapping[TopicIdPartition, PartitionPipeline],
        session: FetchSession,
        told_at: float,
    ) -> bool:
        """Queues the records of a fetch response.

        Returns True when a partition was answered with an error, so that metadata needs a refresh.
        """
        is_odd = False
        filled = []
        unheard: set[PartitionPipeline] = set()
        for topic, rows, _ in response.topics:
            for number, code, high_watermark, stable_offset, _, aborted, _, records, _ in rows:
                pipeline = wanted.get((topic, number))
                if (
                    pipeline is None
                    or self._pipelines.get(pipeline.partition) is not pipeline
                    or pipeline.is_settling
                ):
                    continue
                if code:
                    is_odd = True
                    unheard.add(pipeline)
                    self._answered_oddly(pipeline, code)
                elif self._is_current(pipeline, session.asked((topic, number))):
                    pipeline.source_end, pipeline.source_high = stable_offset, high_watermark
                    if records:
                        filled.append(pipeline)
                        self._fill(pipeline, records, aborted, told_at)
                else:
                    unheard.add(pipeline)
        # A throttled response lists no partitions and confirms nothing about any.
        if not response.throttle_time_ms:
            self._note_heard(wanted.values(), unheard, told_at)
        if filled:
            self._filled(filled)
        return is_odd

    def _note_heard(
        self,
        pipelines: Iterable[PartitionPipeline],
        unheard: Container[PartitionPipeline],
        told_at: float,
    ) -> None:
        """Notes the time at which the source's ends were reported or confirmed.

        A response of a fetch session leaves out partitions whose ends have not changed.
        """
        for pipeline in pipelines:
            if pipeline.source_end is not None and pipeline not in unheard:
                pipeline.heard_at = told_at

    def _is_current(self, pipeline: PartitionPipeline, asked: FetchPosition | None) -> bool:
        """Returns False for a late response of a former leader: the new one may lack its
        records."""
        return asked is not None and (asked.offset, asked.leader_epoch) == (
            pipeline.position,
            pipeline.source_leader,
        )

    def _fill(
        self, pipeline: PartitionPipeline, records: memoryview, aborted: Any, told_at: float
    ) -> None:
        packed = pack(
            records,
            position=pipeline.position,
            aborted=[(row[0], row[1]) for row in aborted or ()],
            rule=self._rule_of(pipeline.partition.topic),
        )
        if packed.next_offset == pipeline.position and packed.cut_bytes and not packed.trouble:
            pipeline.fetch_bytes = packed.cut_bytes
            return
        pipeline.fetch_bytes = 0
        pipeline.add(packed.batches, packed.next_offset, packed.leader_epoch, told_at)
        if packed.trouble:
            self._found_trouble(pipeline, packed.trouble)

    def _found_trouble(
        self, pipeline: PartitionPipeline, trouble: BrokenBatch | RecordTooLarge
    ) -> None:
        if isinstance(trouble, RecordTooLarge):
            pipeline.stopping = Loss(
                LossKind.RECORD_TOO_LARGE, trouble.offset, trouble.offset + 1, str(trouble)
            )
        elif pipeline.broken_at == pipeline.position:
            end = trouble.last_offset + 1
            pipeline.stopping = Loss(
                LossKind.SOURCE_CORRUPT, trouble.first_offset, end, trouble.what
            )
        else:
            pipeline.broken_at = pipeline.position

    def _answered_oddly(self, pipeline: PartitionPipeline, code: int) -> None:
        """Handles a partition's error; the leader's log is checked before the next fetch."""
        self._source.trouble = f"{self._source.name}: Fetch {pipeline.partition}: {named(code)}"
        pipeline.source_leader = -1
        if verdict(code) is Verdict.FORBIDDEN:
            raise Forbidden(f"{self._source.name}: Fetch {pipeline.partition}", [code])
        if verdict(code) is Verdict.POISON:
            detail = f"the source answers {named(code)}"
            pipeline.stopping = Loss(LossKind.SOURCE_CORRUPT, pipeline.position, None, detail)

    # -- leaders

    def _check_where_needed(self) -> None:
        """Starts a check of each pipeline whose source leader differs from the one last checked."""
        for partition, task in list(self._checks.items()):
            if task.done():
                task.result()
                del self._checks[partition]
        for partition, pipeline in self._pipelines.items():
            leader = self._source.leader(*partition)
            is_checked = leader is not None and leader.epoch == pipeline.source_leader
            if not is_checked and not pipeline.stopping and partition not in self._checks:
                self._checks[partition] = asyncio.create_task(self._check(pipeline))

    def _is_gone(self, topic: str) -> bool:
        """Returns True when the topic was deleted, and is not just unknown to a starting broker."""
        return self._source.missing_seconds(topic) >= MISSING_SECONDS_MAX

    async def _check(self, pipeline: PartitionPipeline) -> None:
        partition, topic = pipeline.partition, pipeline.partition.topic
        await self._source.try_refresh()
        if self._source.topic(topic) is None:
            is_known = self._is_gone(topic)
        else:
            is_known = self._source.leader(*partition) is not None
        if not is_known:
            await asyncio.sleep(RETRY_SECONDS)
            return
        if await self._regress.holds_up(pipeline):
            await asyncio.sleep(RETRY_SECONDS)
            return
        position = pipeline.position
        try:
            found = await inspect_source(self._source, partition, pipeline.checkable, position)
        except Answered as answer:
            if UNKNOWN_TOPIC not in answer.codes:
                raise
            return  # just deleted: the metadata will show it
        if pipeline.position != position:
            return  # the position has moved, and the new one is not checked
        if found.loss and found.loss.kind is LossKind.SOURCE_DELETED and not self._is_gone(topic):
            await asyncio.sleep(RETRY_SECONDS)
            return
        if found.loss:
            pipeline.stopping = found.loss
        elif found.leader < 0:
            await asyncio.sleep(RETRY_SECONDS)
        pipeline.source_leader = found.leader
