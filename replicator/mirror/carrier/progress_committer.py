"""Progress committer of one carrier: publishes runs; commits, parks and releases ledger entries.

The order matters. Runs are on disk before an entry that passes them is committed. An entry that
covers a gap is committed before any batch behind the gap is sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field

from balancer.topic_partition import TopicPartition
from replicator.kafka.client.cluster import UNKNOWN_TOPIC, Answered, Cluster, ProducerStateLost
from replicator.kafka.client.fenced_committer import FencedCommitter, NotCommitted
from replicator.kafka.client.loss import Loss, LossKind
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.receipt_book import ReceiptBook
from replicator.mirror.ledger.entry import Entry
from replicator.mirror.ledger.ledger import Ledger
from replicator.mirror.ledger.published_runs import runs_key
from replicator.mirror.offset_map.redis_writer import RedisWriter
from replicator.mirror.offset_map.run_segment import RunSegment
from replicator.mirror.offset_map.runs_publisher import RunsNotWritten, RunsPublisher
from replicator.mirror.offset_map.runs_topic import RunsKey

RETRY_SECONDS = 0.5


@dataclass(eq=False)
class ProgressCommitter:
    """Commits the progress of a carrier.

    Args:
        pipelines: of the carrier; parked and released pipelines are removed from it here.
        receipts: gets each of these, at the moment from which its answers are ignored; None: nobody
            asks for receipts.
    """

    ledger: Ledger
    fenced_committer: FencedCommitter
    target: Cluster
    pipelines: MutableMapping[TopicPartition, PartitionPipeline]
    publisher: RunsPublisher
    redis_writer: RedisWriter
    receipts: ReceiptBook | None = None
    retry_seconds: float = RETRY_SECONDS
    parked: dict[TopicPartition, Loss] = field(init=False, default_factory=dict)
    """Partitions that were parked while carried, with the loss; an acquisition removes them
    again."""
    publisher_start: asyncio.Future[None] | None = field(init=False, default=None)
    """Start of the publisher, awaited before the first runs are published."""
    _lock: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)
    _publishing: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)
    _is_torn: bool = field(init=False, default=False)
    """True while a hand-over runs, and after one whose outcome is unknown. Releasing its partitions
    again could overwrite the entries of their next carriers."""

    def shown_parked(self) -> dict[TopicPartition, str]:
        """Returns the partitions that were parked while carried, with the reason as text."""
        return {partition: str(loss) for partition, loss in self.parked.items()}

    # -- runs

    async def publish_runs(self) -> None:
        """Publishes all buffered runs to the runs topic, then hands them to Redis.

        On return, runs that a concurrent call was publishing are on disk as well.
        """
        await self._publish_runs_of(list(self.pipelines.values()))

    async def publish_found(self, found: Mapping[TopicPartition, tuple[Entry, RunSegment]]) -> None:
        """Publishes the runs that a takeover found in the target's log."""
        async with self._publishing:
            await self._publish(
                [(runs_key(p, entry), [segment]) for p, (entry, segment) in found.items()]
            )

    async def _publish_runs_of(self, pipelines: Iterable[PartitionPipeline]) -> None:
        async with self._publishing:
            await self._publish(
                [
                    (runs_key(pipeline.partition, pipeline.entry), segments)
                    for pipeline in pipelines
                    if (segments := pipeline.run_buffer.take())
                ]
            )

    async def _publish(self, runs: list[tuple[RunsKey, list[RunSegment]]]) -> None:
        if not runs:
            return
        if self.publisher_start:
            await asyncio.shield(self.publisher_start)
        await self.publisher.publish((key, segment) for key, some in runs for segment in some)
        while True:
            try:
                await self.publisher.flush()
                break
            except RunsNotWritten as error:
                self.target.trouble = str(error)
                await asyncio.sleep(self.retry_seconds)
        for key, segments in runs:
            self.redis_writer.append(key, segments)

    # -- entries

    async def commit(
        self, pipelines: Iterable[PartitionPipeline], *, even_unchanged: bool = False
    ) -> bool:
        """Commits the current entries of pipelines, after their runs.

        Skips pipelines that are no longer carried. Unless `even_unchanged`, also skips unchanged
        entries and settling pipelines.

        Returns True when entries were committed.

        Raises:
            Fenced: another producer has taken over the transactional id.
        """
        async with self._lock:
            statements = {}
            for pipeline in pipelines:
                is_carried = self.pipelines.get(pipeline.partition) is pipeline
                if not is_carried or (pipeline.is_settling and not even_unchanged):
                    continue
                statement = pipeline.statement()
                if statement.entry != pipeline.last_stated or even_unchanged:
                    statements[pipeline] = statement
                else:
                    pipeline.committed(statement)  # the ledger has this entry already
            if not statements:
                return False
            await self.publish_runs()
            done = await self._commit(
                {pipeline.partition: each.entry for pipeline, each in statements.items()},
                self.ledger.commit,
            )
            for pipeline, statement in statements.items():
                if done and pipeline.partition in done:
                    pipeline.committed(statement)
                    pipeline.last_stated = statement.entry
            return bool(done)

    async def park(self, pipeline: PartitionPipeline, loss: Loss) -> bool:
        """Parks one pipeline; the others continue.

        Batches in flight may still land, so the entry stays HELD and the next carrier reads the
        tail.

        Returns False if the carrier no longer had the partition.
        """
        pipeline.is_parking = True
        async with self._lock:
            # A partition released meanwhile has an entry that is no longer ours to write.
            if self.pipelines.get(pipeline.partition) is not pipeline:
                return False
            # Taken before the runs are published: the next carrier finds later records in the tail.
            entry = pipeline.statement().entry
            await self._publish_runs_of([pipeline])
            self._remove(pipeline)
            self.parked[pipeline.partition] = loss
            await self._commit({pipeline.partition: entry.park(loss)}, self.ledger.commit)
            return True

    async def release(self, transactional_id: str) -> set[TopicPartition]:
        """Releases the empty pipelines in one transaction; the others stay HELD.

        Returns the partitions that are known to be released.

        Args:
            transactional_id: id that the released entries name; their next carrier opens it.
        """
        async with self._lock:
            if self._is_torn:
                return set()
            return await self._release(dict.fromkeys(self.pipelines, transactional_id)) or set()

    async def hand_over(self, ids: Mapping[TopicPartition, str]) -> set[TopicPartition]:
        """Releases the empty ones among these pipelines in one transaction.

        Partitions that the target's metadata no longer shows are left out. Returns the released
        partitions.

        Args:
            ids: by partition, the transactional id that its next carrier opens.
        Raises:
            ProducerStateLost: all or some of them may have been released. Other carriers may hold
                them already, so the release must not be retried.
        """
        async with self._lock:
            shown = {
                partition: each
                for partition, each in ids.items()
                if self.target.topic(partition.topic)
            }
            asked = {partition for partition in shown if self._may_be_released(partition)}
            if not asked:
                return set()
            self._is_torn = True
            done = await self._release(shown)
            if done is None:
                raise ProducerStateLost("the target may have taken a part of a release")
            self._is_torn = False
            return done

    async def _release(self, ids: Mapping[TopicPartition, str]) -> set[TopicPartition] | None:
        """Returns the released partitions; None if an unknown part of them was released."""
        # Selected before the runs are published: a pipeline that becomes empty meanwhile has landed
        # records whose runs are not published.
        pipelines = [
            self.pipelines[partition] for partition in ids if self._may_be_released(partition)
        ]
        entries = {
            pipeline.partition: pipeline.released(ids[pipeline.partition]) for pipeline in pipelines
        }
        await self.publish_runs()
        done = await self._commit(entries, self.ledger.release)
        for pipeline in pipelines:
            if done and pipeline.partition in done:
                self._remove(pipeline)
        return done

    def _remove(self, pipeline: PartitionPipeline) -> None:
        del self.pipelines[pipeline.partition]
        self.fenced_committer.left_at(pipeline.partition, pipeline.entry.sequence)
        if self.receipts:
            self.receipts.add(pipeline)

    def _may_be_released(self, partition: TopicPartition) -> bool:
        pipeline = self.pipelines.get(partition)
        if pipeline is None or not pipeline.is_empty:
            return False
        loss = pipeline.loss_to_park
        # The next carrier meets a record again that is too large, perhaps under a higher limit.
        return loss is None or loss.kind is LossKind.RECORD_TOO_LARGE

    async def _commit(
        self,
        entries: Mapping[TopicPartition, Entry],
        write: Callable[[FencedCommitter, Mapping[TopicPartition, Entry]], Awaitable[None]],
    ) -> set[TopicPartition] | None:
        """Commits the entries of topics that the target's metadata shows.

        A deleted target topic must not hold up the entries of all others. Returns the committed
        partitions; None if an unknown part of them was committed.
        """
        known = {p: entry for p, entry in entries.items() if self.target.topic(p.topic)}
        if known:
            try:
                await write(self.fenced_committer, known)
            except Answered as answer:
                if UNKNOWN_TOPIC not in answer.codes:
                    raise
                await asyncio.sleep(self.retry_seconds)
                await self.target.refresh()
                return set() if isinstance(answer, NotCommitted) else None
        return set(known)
