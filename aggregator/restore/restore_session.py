"""Restore session: writes the records of sources into the target topic, under one producer epoch.

One transaction has some batches of some partitions, their runs, and the entries that pass them. So
read_committed consumers see each record once, and a session that is killed leaves entries that tell
exactly what is there.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from aggregator.loader.intent_effects import EffectProducer
from aggregator.restore.record_source import RecordSource
from aggregator.restore.restore_entry import RestoreEntries, RestoreEntry
from aggregator.restore.restore_plan import CannotRestore
from aggregator.restore.restored_runs import runs_record
from balancer.topic_partition import TopicPartition
from replicator.batches import batch as batches_of
from replicator.batches.outgoing_batch import OutgoingBatch
from replicator.kafka.client.cluster import Answered, ProducerStateLost
from replicator.kafka.client.fenced_committer import FencedCommitter, Identity
from replicator.kafka.client.progress_expiry import ProgressExpiry
from replicator.kafka.protocol.error_codes import VERDICTS, Verdict
from replicator.mirror.offset_map.run_segment import RunBuffer, RunSegment
from replicator.runtime.clock import monotonic
from replicator.runtime.gather import gather_or_cancel
from replicator.runtime.run_in_thread import run_in_thread

BATCHES_MAX = 5
"""Batches of a partition in one transaction. One that is repeated sends the same batches again, and
the broker recognizes five of each partition."""
PARTITIONS_MAX = 8
"""Partitions that are restored at the same time."""
SEQUENCE_MASK = 0x7FFFFFFF
REFUSALS = frozenset(code for code, verdict in VERDICTS.items() if verdict is Verdict.POISON)
"""Error codes of a broker that will never take a batch."""


@dataclass(eq=False)
class RestoredPartition:
    """Partition of the target topic.

    Args:
        source: of its records.
        entry: as committed.
    """

    place: TopicPartition
    source: RecordSource
    entry: RestoreEntry
    sequence: int = field(init=False, default=0)

    def stamped(self, batches: Sequence[OutgoingBatch], identity: Identity) -> None:
        """Writes producer and sequences into batches; the same ones if called again."""
        sequence = self.sequence
        for each in batches:
            batches_of.stamp(
                each.data,
                producer_id=identity.producer_id,
                producer_epoch=identity.epoch,
                base_sequence=sequence,
                is_transactional=True,
            )
            sequence = (sequence + each.count) & SEQUENCE_MASK

    def position_behind(self, batches: Sequence[OutgoingBatch]) -> int:
        """Returns the source offset behind the batches; fewer than a full round are the last."""
        return batches[-1].next_offset if len(batches) == BATCHES_MAX else self.entry.end

    def landed(self, batches: Sequence[OutgoingBatch], base_offsets: Sequence[int]) -> RunSegment:
        """Returns the runs of batches, whose first records have these target offsets."""
        # Nothing below the first record is ever restored: the map is complete from 0 on.
        is_first = self.entry.position == self.entry.begin
        runs = RunBuffer(0 if is_first else self.entry.position)
        for each, base_offset in zip(batches, base_offsets, strict=True):
            runs.land_all(base_offset, each.spans)
        runs.pass_over(self.position_behind(batches))
        (segment,) = runs.take()
        return segment


Note = Callable[[Mapping[TopicPartition, RestoreEntry]], None]
"""Called with the entries of each transaction."""


@dataclass(eq=False)
class RestoreSession:
    """Restore of some partitions.

    Args:
        fenced_committer: opened.
        entries: of the target topic.
        producer: of the target's cluster.
        partitions: that are not done, with their sources.
        note: told of each transaction.
        known: entries of all partitions. Those that rest, as they are done or wait for their turn,
            are committed again before they expire.
        expiry: of committed offsets in the target's cluster.
    """

    topic_id: str
    fenced_committer: FencedCommitter
    entries: RestoreEntries
    producer: EffectProducer
    partitions: Sequence[RestoredPartition]
    note: Note
    known: Mapping[TopicPartition, RestoreEntry] = field(default_factory=dict)
    expiry: ProgressExpiry = field(default_factory=ProgressExpiry)
    clock: Callable[[], float] = monotonic
    _renewed_at: float = field(init=False, default=-math.inf)

    async def run(self) -> None:
        """Restores all partitions.

        Raises:
            Fenced: another restore into the topic has begun.
            CannotRestore: an object, or the topic, does not allow it; what was committed stays.
            StoreProblem: the store gives no answer; what was committed stays.
        """
        waiting = list(self.partitions)
        active: list[RestoredPartition] = []
        while waiting or active:
            room = PARTITIONS_MAX - len(active)
            active, waiting = active + waiting[:room], waiting[room:]
            taken = await gather_or_cancel(
                *(run_in_thread(each.source.take, BATCHES_MAX) for each in active)
            )
            await self._commit(list(zip(active, taken, strict=True)))
            active = [each for each in active if not each.entry.is_done]

    async def _commit(
        self, taken: Sequence[tuple[RestoredPartition, Sequence[OutgoingBatch]]]
    ) -> None:
        self._refuse_another_topic(taken[0][0].place.topic)
        committed = {
            each.place: each.entry.passed(
                each.position_behind(batches), sum(it.count for it in batches)
            )
            for each, batches in taken
        }
        resting: Mapping[TopicPartition, RestoreEntry] = {}
        if self.clock() - self._renewed_at >= self.expiry.renewal_seconds:
            resting, self._renewed_at = self.known, self.clock()
        self.known = {**self.known, **committed}
        entries = {**resting, **committed}
        await self.entries.commit(self.fenced_committer, entries, effects=self._effects(taken))
        for each, batches in taken:
            each.entry = committed[each.place]
            each.sequence += sum(it.count for it in batches)
            each.sequence &= SEQUENCE_MASK
        self.note(committed)

    def _effects(
        self, taken: Sequence[tuple[RestoredPartition, Sequence[OutgoingBatch]]]
    ) -> Callable[[Identity], Awaitable[None]]:
        """Returns what to do inside the transaction: each call sends the same batches."""
        tell: Callable[[Identity], Awaitable[None]] | None = None

        async def send(identity: Identity) -> None:
            nonlocal tell
            filled = [each.place for each, batches in taken if batches]
            if filled:
                numbers = [place.partition for place in filled]
                await self.fenced_committer.add_partitions(filled[0].topic, numbers)
            segments = await gather_or_cancel(
                *(self._send(identity, each, batches) for each, batches in taken)
            )
            if tell is None:
                records = [
                    runs_record(each.entry.job, self.topic_id, each.place, segment)
                    for (each, _), segment in zip(taken, segments, strict=True)
                ]
                tell = self.producer.effects(self.fenced_committer, records)
            await tell(identity)

        return send

    async def _send(
        self, identity: Identity, partition: RestoredPartition, batches: Sequence[OutgoingBatch]
    ) -> RunSegment:
        """Produces batches of one partition, one after the other."""
        partition.stamped(batches, identity)
        base_offsets = []
        for each in batches:
            try:
                outcome = await self.producer.send_batch(identity, partition.place, each.data)
            except Answered as answer:
                if REFUSALS.isdisjoint(answer.codes):
                    raise
                raise CannotRestore(
                    f"partition {partition.place.partition} takes no records from offset "
                    f"{each.first_offset} on: {answer}; a compacted topic takes none without a key"
                ) from answer
            if outcome.base_offset < 0:
                raise ProducerStateLost(f"{partition.place}: a batch landed at an unknown offset")
            base_offsets.append(outcome.base_offset)
        return partition.landed(batches, base_offsets)

    def _refuse_another_topic(self, name: str) -> None:
        """Raises CannotRestore if the topic was created again since the restore began."""
        known = self.producer.cluster.topic(name)
        if known is not None and known.id.hex != self.topic_id:
            raise CannotRestore(f"topic {name} was created again meanwhile; run this again")
