"""Target side of a carrier for one broker: produce requests, a few of them in flight.

A failed request is never repeated alone. The window is drained first; then all unacknowledged
batches are sent again, the same bytes in the same order.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from math import inf
from typing import Any
from uuid import UUID

from aiokafka.errors import KafkaError

from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered, Cluster, Fenced, Forbidden, ProducerStateLost
from replicator.kafka.client.connection import Connection
from replicator.kafka.client.loss import Loss, LossKind
from replicator.kafka.protocol.error_codes import Code, Verdict, may_have_appended, named, verdict
from replicator.kafka.protocol.produce import Outcome, Produced, ProduceRequest, outcomes
from replicator.mirror.carrier.pace import Pace
from replicator.mirror.carrier.parking import Parking
from replicator.mirror.carrier.partition_pipeline import AcknowledgedTooLow, PartitionPipeline
from replicator.mirror.carrier.pipelines import Pipelines
from replicator.mirror.carrier.progress_committer import ProgressCommitter
from replicator.mirror.carrier.refusals import Refusal
from replicator.mirror.carrier.retransmission import Retransmission
from replicator.mirror.carrier.sequenced_batch import SequencedBatch
from replicator.mirror.carrier.stamped_times import stamped_times
from replicator.mirror.ledger.inspection import Inspect, inspect_target
from replicator.runtime.error_text import error_text

REQUEST_BYTES_MAX = 8 << 20
RETRY_SECONDS = 0.1
SILENCE_SECONDS_MAX = 60.0
"""Longest silence before `confirm_unfenced` is required again. It is far below the brokers'
producer.id.expiration.ms, and time in which the process is stopped counts."""

Shipment = list[tuple[PartitionPipeline, SequencedBatch]]


@dataclass(eq=False)
class Sender:
    """Ships the pipelines that one target broker leads.

    Args:
        node: id of the broker.
        pipelines: of the carrier; the busy ones are read again in each round.
        producer_id: of the carrier.
        window: requests in flight at most; the broker remembers five batches of a producer.
        timeout_ms: of a produce request.
        committer: confirms that the producer is not fenced.
        retransmission: prepares the pipelines whose batches are to be sent again.
        parking: parks a pipeline whose target no longer holds its records, or has changed their
            timestamps.
        pace: counts each acknowledged batch.
        silence_seconds_max: longest silence before `confirm_unfenced` is required again.
        inspect: inspects a partition's target log.
        stamped_times: returns the loss of timestamps that an acknowledgement reveals.
        may_have_appended: returns True for an error code after which the batch may have landed.
    """

    node: int
    target: Cluster
    pipelines: Pipelines
    producer_id: int
    window: int
    timeout_ms: int
    committer: ProgressCommitter
    retransmission: Retransmission
    parking: Parking
    pace: Pace
    silence_seconds_max: float = SILENCE_SECONDS_MAX
    inspect: Inspect = inspect_target
    stamped_times: Callable[[PartitionPipeline, SequencedBatch, int], Loss | None] = stamped_times
    may_have_appended: Callable[[int], bool] = may_have_appended
    wake: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    """Set when there may be batches to send."""
    _connection: Connection | None = field(init=False, default=None)
    _requests: set[asyncio.Task[None]] = field(init=False, default_factory=set)
    _was_connected: bool = field(init=False, default=False)
    _must_rewind: bool = field(init=False, default=False)
    _must_reconnect: bool = field(init=False, default=False)
    _turn: int = field(init=False, default=0)
    _active_at: float = field(init=False, default=-inf)

    async def run(self) -> None:
        """Sends until cancelled.

        Raises:
            Fenced, ProducerStateLost, Forbidden, Answered: the producer cannot go on.
        """
        self.wake.set()
        try:
            while True:
                await self.wake.wait()
                self.wake.clear()
                await self._round()
        finally:
            for task in self._requests:
                task.cancel()
            if self._connection:
                self._connection.close()

    async def _round(self) -> None:
        """Sends until nothing is ready or the window is full."""
        while True:
            self._raise_failures()
            if self._must_rewind:
                await self._recover()
            if len(self._requests) >= self.window:
                return
            ready = self._ready()
            if not ready:
                return
            unchecked = [pipeline for pipeline in ready if not self._is_checked(pipeline)]
            if unchecked:
                await self._check(unchecked)
                continue
            if self._connection is None or not self._connection.connected():
                await self._connect()
            elif time.monotonic() - self._active_at > self.silence_seconds_max:
                await self._confirm_after_silence(ready)
            else:
                self._send(self._connection, ready)

    # -- sending

    def _ready(self) -> list[PartitionPipeline]:
        ready = []
        for pipeline in self.pipelines.busy():
            leader = self.target.leader(*pipeline.partition)
            if leader is None or leader.node != self.node:
                continue
            if pipeline.waits_for_cover:
                self.pipelines.uncovered.set()
            if not pipeline.is_ready(self.window):
                continue
            if pipeline.queue.in_flight and pipeline.sender != self.node:
                continue  # the sender of the former leader still awaits answers, or must rewind
            ready.append(pipeline)
        return ready

    def _led(self) -> list[PartitionPipeline]:
        leaders = (
            (pipeline, self.target.leader(*pipeline.partition))
            for pipeline in self.pipelines.values()
        )
        return [pipeline for pipeline, leader in leaders if leader and leader.node == self.node]

    def _send(self, connection: Connection, ready: list[PartitionPipeline]) -> None:
        # Rotates the start, so that a full request does not make the same pipelines wait each time.
        self._turn = (self._turn + 1) % len(ready)
        shipment: Shipment = []
        batches: dict[tuple[str, UUID], list[Produced]] = {}
        size, now = 0, time.time()
        for pipeline in ready[self._turn :] + ready[: self._turn]:
            head = pipeline.queue.head
            if shipment and head and size + head.size_bytes > REQUEST_BYTES_MAX:
                break
            self.retransmission.check(pipeline, now)
            batch = pipeline.take()
            pipeline.sender = self.node
            size += batch.size_bytes
            shipment.append((pipeline, batch))
            topic, number = pipeline.partition
            topic_id = pipeline.entry.target_topic or UUID(int=0)
            batches.setdefault((topic, topic_id), []).append((number, batch.outgoing.data))
        request = ProduceRequest(batches, timeout_ms=self.timeout_ms)
        # Set at the send: an answer that waited while the process was stopped would hide a silence.
        self._active_at = time.monotonic()
        try:
            # `send` writes at once, so the order of calls is the order on the wire.
            answer = connection.send(request)
        except (OSError, KafkaError) as error:
            self._connection_lost(error)
            return
        task = asyncio.create_task(self._answered(answer, shipment))
        self._requests.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or task.exception() is None:
            self._requests.discard(task)
        self.wake.set()

    def _raise_failures(self) -> None:
        for task in list(self._requests):
            if task.done():
                self._requests.discard(task)
                task.result()

    # -- answers

    async def _answered(self, answer: Awaitable[Any], shipment: Shipment) -> None:
        try:
            response = await answer
        except (OSError, KafkaError, TimeoutError) as error:
            for _, batch in shipment:
                batch.is_in_doubt = True
            self._connection_lost(error)
            return
        found = outcomes(response)
        for pipeline, batch in shipment:
            topic, number = pipeline.partition
            by_id = (pipeline.entry.target_topic or UUID(int=0), number)
            outcome = found.get(by_id) or found[topic, number]
            if self.pipelines.get(pipeline.partition) is not pipeline:
                continue
            if outcome.code in (Code.NONE, Code.DUPLICATE_SEQUENCE_NUMBER):
                await self._landed(pipeline, batch, outcome)
            else:
                await self._failed(pipeline, batch, outcome)

    async def _landed(
        self, pipeline: PartitionPipeline, batch: SequencedBatch, outcome: Outcome
    ) -> None:
        is_duplicate = outcome.code == Code.DUPLICATE_SEQUENCE_NUMBER
        changed = self.stamped_times(pipeline, batch, outcome.log_append_time_ms)
        try:
            pipeline.acknowledge(batch, -1 if is_duplicate else outcome.base_offset)
        except AcknowledgedTooLow:
            await self.parking.park(
                pipeline,
                Loss(LossKind.TARGET_TRUNCATED, outcome.base_offset, pipeline.entry.target_offset),
            )
            return
        self.pace.shipped(batch, time.time())
        if changed:
            await self.parking.park(pipeline, changed)

    async def _failed(
        self, pipeline: PartitionPipeline, batch: SequencedBatch, outcome: Outcome
    ) -> None:
        code = outcome.code
        self.target.trouble = f"{self.target.name}: Produce {pipeline.partition}: {named(code)}"
        decision = verdict(code)
        if code == Code.OUT_OF_ORDER_SEQUENCE_NUMBER and not pipeline.queue.is_first_in_flight(
            batch
        ):
            self._must_rewind = True  # caused by the failure of an earlier batch
        elif code == Code.OUT_OF_ORDER_SEQUENCE_NUMBER:
            await self._out_of_order(pipeline, batch)
        elif decision is Verdict.AGAIN or code == Code.UNKNOWN_TOPIC_ID:
            self._must_rewind = self._must_reconnect = True
            pipeline.target_leader, pipeline.refused = -1, named(code)
            batch.is_in_doubt |= self.may_have_appended(code)
        elif decision is Verdict.POISON:
            # Handled in `_recover`, once all requests in flight are answered.
            self._must_rewind = True
            batch.is_in_doubt |= self.may_have_appended(code)
            batch.refusal = Refusal(code, outcome.refused_records, outcome.message)
        else:
            raised = {Verdict.FENCED: Fenced, Verdict.START_OVER: ProducerStateLost}.get(decision)
            raised = raised or (Forbidden if decision is Verdict.FORBIDDEN else Answered)
            raise raised(f"{self.target.name}: Produce {pipeline.partition}", [code])

    async def _out_of_order(self, pipeline: PartitionPipeline, batch: SequencedBatch) -> None:
        """Handles a sequence error of the first unacknowledged batch."""
        states = await self.target.producer_states(*pipeline.partition)
        state = states.get(self.producer_id)
        if state is None or pipeline.entry.landed_up_to(state.last_sequence):
            # The broker forgot the producer, or records landed unanswered. A restarted broker
            # remembers only the last batch, so an earlier one of the window is no duplicate to it.
            # A takeover must read the tail.
            where = f"{self.target.name}: Produce {pipeline.partition}"
            raise ProducerStateLost(where, [Code.OUT_OF_ORDER_SEQUENCE_NUMBER])
        found = await self.inspect(self.target, pipeline.partition, pipeline.entry)
        detail = f"the broker knows sequence {state.last_sequence}, we sent {batch.sequence}"
        unseen = Loss(LossKind.TARGET_TRUNCATED, 0, pipeline.entry.target_offset, detail)
        await self.parking.park(pipeline, found.loss or unseen)

    # -- recovery

    def _connection_lost(self, error: BaseException) -> None:
        self.target.trouble = f"{self.target.name}: Produce: {error_text(error)}"
        self._must_rewind = self._must_reconnect = True
        if self._connection:
            self._connection.close()
            self._connection = None
        self.wake.set()

    async def _recover(self) -> None:
        """Drains the window, rewinds, and refreshes the leaders."""
        while self._requests:
            await asyncio.wait(self._requests)
            await asyncio.sleep(0)
            self._raise_failures()
        now = time.time()
        for pipeline in list(self.pipelines.values()):
            if pipeline.sender == self.node:
                await self.retransmission.prepare(pipeline, now)
                self.pipelines.mark_busy([pipeline])
        self._must_rewind = False
        if not self._must_reconnect:
            return
        self._must_reconnect = False
        if self._connection:
            self._connection.close()
            self._connection = None
        await asyncio.sleep(RETRY_SECONDS)
        await self.target.try_refresh()
        self.wake.set()

    async def _connect(self) -> None:
        if self._requests:
            # Requests of the old connection are still unanswered.
            self._must_rewind = self._must_reconnect = True
            return
        try:
            connection = await self.target.connect(self.node)
        except (OSError, KafkaError, TimeoutError, KeyError, Unreachable) as error:
            self._connection_lost(error)
            return
        if self._was_connected:
            # A restarted broker may have lost records before its leader epoch shows it.
            for pipeline in self._led():
                pipeline.target_leader = -1
        self._was_connected = True
        try:
            if await self.confirm_unfenced(self._ready()):
                self._connection, self._active_at = connection, time.monotonic()
                return
        finally:
            if self._connection is not connection:
                connection.close()
        await asyncio.sleep(RETRY_SECONDS)

    async def confirm_unfenced(self, pipelines: list[PartitionPipeline]) -> bool:
        """Commits the entries of pipelines, which only an unfenced producer can do.

        Awaited before the first batch on a new connection and after a long silence. It stops a
        zombie producer even if the broker has forgotten its fence.

        Returns False if no entry was committed.
        """
        return await self.committer.commit(pipelines, even_unchanged=True)

    async def _confirm_after_silence(self, ready: list[PartitionPipeline]) -> None:
        for pipeline in ready:
            pipeline.note_silence()
        if await self.confirm_unfenced(ready):
            self._active_at = time.monotonic()
        else:
            await asyncio.sleep(RETRY_SECONDS)

    def _is_checked(self, pipeline: PartitionPipeline) -> bool:
        leader = self.target.leader(*pipeline.partition)
        return leader is not None and leader.epoch == pipeline.target_leader

    async def _check(self, pipelines: list[PartitionPipeline]) -> None:
        """Checks that new leaders still hold the acknowledged records, before they get more."""
        await self.target.try_refresh()
        for pipeline in pipelines:
            if pipeline.queue.in_flight:
                self._must_rewind = self._must_reconnect = True
                continue
            if self.target.leader(*pipeline.partition) is None:
                continue
            found = await self.inspect(self.target, pipeline.partition, pipeline.entry)
            if found.loss:
                await self.parking.park(pipeline, found.loss)
            pipeline.target_leader = found.leader
