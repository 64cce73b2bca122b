"""Takeover: acquires partitions by custody of the entry, the fence, the tail and the new entry.

Custody: an entry is replaced only inside a transaction of the transactional id it names. Of any
number of competing carriers exactly one has the newest epoch of that id when it commits; the others
are fenced.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from balancer.topic_partition import TopicPartition
from replicator.kafka.client.cluster import Answered, Cluster, Fenced, ProducerStateLost
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.kafka.client.loss import Loss, LossKind
from replicator.kafka.client.source_inspection import inspect_source
from replicator.kafka.protocol.error_codes import Code
from replicator.mirror.ledger.acquired import Acquired, Taken
from replicator.mirror.ledger.entry import Custody, Entry
from replicator.mirror.ledger.fenced_tails import FencedTails, gather_by_partition
from replicator.mirror.ledger.id_attempts import IdAttempts
from replicator.mirror.ledger.inspection import TargetFindings
from replicator.mirror.ledger.ledger import Ledger
from replicator.mirror.ledger.published_runs import published_since
from replicator.mirror.ledger.readiness import NOT_SHOWN, ParkedEntries, Readiness
from replicator.mirror.ledger.resume_point import Evidence, Successor, resume_point, successor_entry
from replicator.mirror.ledger.stale_entry import PublishedRun
from replicator.mirror.ledger.tail import Tail, runs_before
from replicator.mirror.offset_map.run_segment import RunSegment
from replicator.mirror.offset_map.runs_tail import RunsTail

LOG_CHANGES = frozenset(
    {Code.UNKNOWN_TOPIC_OR_PARTITION, Code.UNKNOWN_TOPIC_ID, Code.OFFSET_OUT_OF_RANGE}
)
"""Error codes of a log that was deleted or cut while it was examined. The next attempt finds the
log's new state, and no other partition is affected."""

CHANGED = "its entry has changed since the loss was accepted; look again"

Spare = Callable[[Mapping[TopicPartition, Entry | None]], set[TopicPartition]]
"""Returns the partitions whose entries are not to be replaced. None stands for a missing entry."""

Tell = Callable[[Mapping[TopicPartition, tuple[Entry, RunSegment]]], Awaitable[None]]
"""Publishes runs and returns once they are on disk; awaited before an entry that passes them."""


class Takeover:
    """Acquires partitions of one route for one producer.

    Args:
        fenced_committer: opened for the transactional id of the new entries.
        start: where a virgin partition begins whose entry does not tell: "earliest", "latest" or
            milliseconds since 1970.
        tell: publishes the runs of tails that were read.
        timeout_ms: transaction timeout of the committers that are opened for other ids.
        accept: losses that an operator has accepted, by partition. A partition continues after its
            loss only if its entry is still parked for that loss.
        restart_at: source offset at which accepted partitions continue. Applies to losses that
            would be skipped to their end or that have no end.
        limits: largest batch that the target takes, by topic. A partition that was parked for a
            record under a lower limit goes on with this record.
        refusing: names of the errors by which the target refuses some records, by topic. A
            partition that was parked for a record by another one of BY_CONFIGS goes on with it.
        runs: tails the runs topic, which shows an entry that is older than what was mirrored.
        attempts: limits the time for each transactional id.
        tails: makes the reader of tails for the target and the fenced committer.
        committer_of: makes a committer for another transactional id, not opened yet.
    """

    def __init__(
        self,
        *,
        ledger: Ledger,
        fenced_committer: FencedCommitter,
        source: Cluster,
        target: Cluster,
        start: str | int,
        tell: Tell,
        timeout_ms: int = 30_000,
        accept: Mapping[TopicPartition, Loss] = MappingProxyType({}),
        restart_at: int | None = None,
        limits: Mapping[str, int] = MappingProxyType({}),
        refusing: Mapping[str, Collection[str]] = MappingProxyType({}),
        runs: RunsTail | None = None,
        attempts: IdAttempts | None = None,
        tails: Callable[[Cluster, FencedCommitter], FencedTails] = FencedTails,
        committer_of: Callable[[str], FencedCommitter] | None = None,
    ):
        self._ledger = ledger
        self._fenced_committer = fenced_committer
        self._source = source
        self._target = target
        self._start = start
        self._tell = tell
        self._accept = dict(accept)
        self._restart_at = restart_at
        self._runs = runs
        self._parked = ParkedEntries(fenced_committer, self._accept, limits, refusing)
        self._readiness = Readiness(ledger, source, target, self._accept, self._parked)
        self._attempts = attempts or IdAttempts()
        self._tails = tails(target, fenced_committer)
        self._committer_of = committer_of or (
            lambda transactional_id: FencedCommitter(target, transactional_id, timeout_ms)
        )

    @property
    def bytes_read(self) -> int:
        """Bytes read of tails and the runs topic: while they grow, another attempt gets further."""
        return self._tails.readings.bytes_read + (self._runs.bytes_read if self._runs else 0)

    async def acquire(
        self, partitions: Iterable[TopicPartition], spare: Spare = lambda _: set()
    ) -> Acquired:
        """Acquires all partitions that can be acquired.

        Returns when each partition is taken, parked, waiting or spared. Once something is taken, no
        other transactional id is begun after the time limit of one id, since taken partitions are
        not carried meanwhile.

        Args:
            spare: chooses the entries that are not to be replaced. Called each time that entries
                are read: a partition that was free may be held by the time it would be acquired.

        Raises:
            Fenced: another client has opened this carrier's own transactional id.
            ProducerStateLost: this carrier's own producer cannot continue; only a new one can.
        """
        acquired, todo = Acquired(), set(partitions)
        began = time.monotonic()
        while todo:
            by_id = await self._read_by_id(todo, spare, acquired)
            for transactional_id in self._attempts.ordered(by_id):
                is_late = bool(acquired.taken) and time.monotonic() - began > self._attempts.seconds
                is_held_up = bool(acquired.taken) and self._attempts.is_overdue(transactional_id)
                if (
                    is_late
                    or is_held_up
                    or not await self._take_in_time(
                        transactional_id, by_id[transactional_id], acquired
                    )
                ):
                    silent = f"transactional id {transactional_id} gets no answer from the target"
                    reason = "" if is_late else silent
                    left = todo - acquired.taken.keys() - acquired.parked.keys()
                    acquired.waiting = dict.fromkeys(left, reason) | acquired.waiting
                    return acquired
            todo -= acquired.taken.keys() | acquired.parked.keys() | acquired.waiting.keys()
        return acquired

    async def _read_by_id(
        self, todo: set[TopicPartition], spare: Spare, acquired: Acquired
    ) -> dict[str, list[TopicPartition]]:
        """Returns the partitions that can be acquired now, by the transactional id of their entry.

        Moves the others out of `todo` and into `acquired`.
        """
        entries = await self._ledger.read(todo)
        acquired.spared |= spare({each: entries.get(each) for each in todo})
        todo -= acquired.spared
        changed = [each for each in todo if self._has_changed(each, entries.get(each))]
        acquired.waiting |= dict.fromkeys(changed, CHANGED)
        todo -= acquired.waiting.keys()
        await self._readiness.exclude_unready(todo, entries, acquired)
        by_id: dict[str, list[TopicPartition]] = {}
        for partition in todo:
            by_id.setdefault(entries[partition].transactional_id, []).append(partition)
        return by_id

    async def _take_in_time(
        self, transactional_id: str, partitions: Iterable[TopicPartition], acquired: Acquired
    ) -> bool:
        """Returns False when the time limit was over first.

        A commit that is cut short may have happened: then the entries are found as our own.
        """
        attempts = self._attempts
        limit = asyncio.timeout(attempts.limit_seconds(transactional_id))
        try:
            async with limit:
                await self._take(transactional_id, partitions, acquired)
        except TimeoutError:
            if not limit.expired():
                raise
            attempts.expired(transactional_id)
            return False
        except (Fenced, ProducerStateLost):
            if transactional_id == self._fenced_committer.transactional_id:
                raise
            await asyncio.sleep(attempts.backoff_seconds(transactional_id))
        except Answered as answer:
            if not answer.codes or not LOG_CHANGES.issuperset(answer.codes):
                raise
            done = acquired.taken.keys() | acquired.parked.keys() | acquired.waiting.keys()
            left = [partition for partition in partitions if partition not in done]
            acquired.waiting |= dict.fromkeys(left, str(answer))
        else:
            attempts.succeeded(transactional_id)
        attempts.answered(transactional_id)
        return True

    async def _take(
        self, transactional_id: str, partitions: Iterable[TopicPartition], acquired: Acquired
    ) -> None:
        holder = self._fenced_committer
        if transactional_id != holder.transactional_id:
            holder = await self._committer_of(transactional_id).open()
        before = await self._read_again(holder, transactional_id, partitions)
        if not before:
            return
        # What nobody accepted is not skipped: a higher limit lets the same record go on.
        entries = {
            partition: entry if partition in self._accept else replace(entry, parked=None)
            for partition, entry in before.items()
        }
        outcomes, tails = await self._examined(entries, holder)
        lost = {p: outcome for p, outcome in outcomes.items() if isinstance(outcome, Loss)}
        for partition in [p for p, loss in lost.items() if loss.kind is LossKind.SOURCE_DELETED]:
            if not self._readiness.is_deleted(partition):
                # The source showed the topic when the acquisition began.
                del lost[partition]
                acquired.waiting[partition] = NOT_SHOWN
        taken = {p: outcome for p, outcome in outcomes.items() if isinstance(outcome, Taken)}
        if segments := unpublished(entries, taken, tails):
            await self._tell(segments)
        parked = {p: entries[p].park(loss) for p, loss in lost.items()}
        new = parked | {p: one.entry for p, one in taken.items()}
        await self._ledger.replace(holder, before, new)
        self._tails.readings.forget(new)
        acquired.taken |= taken
        acquired.parked |= {p: str(loss) for p, loss in lost.items()}
        acquired.lost |= lost.keys()

    async def _read_again(
        self, holder: FencedCommitter, transactional_id: str, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, Entry]:
        """Returns the entries that the holder may replace: those that still name its id."""
        return {
            partition: entry
            for partition, entry in (await self._ledger.read_as_holder(holder, partitions)).items()
            if entry.transactional_id == transactional_id
            and not self._parked.keeps(partition, entry)
            and not self._has_changed(partition, entry)
        }

    async def _examined(
        self, entries: Mapping[TopicPartition, Entry], holder: FencedCommitter
    ) -> tuple[dict[TopicPartition, Taken | Loss], dict[TopicPartition, Tail | Loss]]:
        """Fences the entries' producers; returns each partition's outcome, and the tails read."""
        found = await gather_by_partition(
            {p: self._tails.examine(p, entry, holder) for p, entry in entries.items()}
        )
        lost: dict[TopicPartition, Taken | Loss] = {
            p: one.loss for p, one in found.items() if one.loss and p not in self._accept
        }
        left = {p: entry for p, entry in entries.items() if p not in lost}
        self._refuse_given_up(left)
        tails = await self._tails.read_all(left, found, holder)
        published = await published_since(self._runs, left) if self._runs else {}
        outcomes = await gather_by_partition(
            {
                p: self._resumed(p, entry, found[p], tails.get(p), published.get(p))
                for p, entry in left.items()
            }
        )
        return lost | outcomes, tails

    async def _resumed(
        self,
        partition: TopicPartition,
        entry: Entry,
        found: TargetFindings,
        tail: Tail | Loss | None,
        published: PublishedRun | None,
    ) -> Taken | Loss:
        """Returns the partition with the entry that continues it, or the loss that parks it."""
        is_virgin = entry.custody is Custody.VIRGIN
        evidence = Evidence(
            entry=entry,
            is_own=self._is_own(entry),
            is_accepted=partition in self._accept,
            restart_at=self._restart_at,
            target=found,
            tail=tail,
            published=published,
            first_offset=await self._first_offset(partition, entry) if is_virgin else None,
        )
        point = resume_point(evidence)
        if isinstance(point, Loss):
            return point
        source_found = await inspect_source(
            self._source,
            partition,
            topic_id=point.entry.source_topic,
            leader_epoch=point.entry.source_epoch,
            position=point.source_offset,
        )
        source, target = (c.topic(partition.topic) for c in (self._source, self._target))
        # The target may have been recreated since it was examined: under the id that was examined,
        # Produce is refused.
        examined = None if found.loss else entry.target_topic
        successor = Successor(
            producer_id=self._fenced_committer.producer_id,
            epoch=self._fenced_committer.epoch,
            sequence=self._fenced_committer.next_sequence(partition),
            transactional_id=self._fenced_committer.transactional_id,
            source_topic=source.id if source else None,
            target_topic=examined or (target.id if target else None),
        )
        return successor_entry(evidence, point, source_found, successor)

    async def _first_offset(self, partition: TopicPartition, entry: Entry) -> int:
        if entry.begin:
            source = self._source.topic(partition.topic)
            is_other_log = source is not None and source.id != entry.begin.source_topic
            if entry.begin.source_offset and not is_other_log:
                return entry.begin.source_offset
            return await self._source.log_start(*partition)
        if self._start == "earliest":
            return await self._source.log_start(*partition)
        if self._start == "latest":
            return await self._source.log_end(*partition)
        return await self._source.offset_at(*partition, int(self._start))

    def _is_own(self, entry: Entry) -> bool:
        """Returns True for an entry that this very producer committed: only the answer was lost."""
        return entry.is_held_by(self._fenced_committer.producer_id, self._fenced_committer.epoch)

    def _has_changed(self, partition: TopicPartition, entry: Entry | None) -> bool:
        """Returns True when the entry is no longer parked for the loss that was accepted."""
        accepted = self._accept.get(partition)
        if accepted is None or entry is None or self._is_own(entry):
            return False
        return entry.parked != accepted

    def _refuse_given_up(self, entries: Mapping[TopicPartition, Entry]) -> None:
        """Raises ProducerStateLost for our own entry of a partition that this producer gave up.

        Records in flight at that time may have landed after the entry, and no producer can fence
        itself.
        """
        for partition, entry in entries.items():
            if self._is_own(entry) and self._fenced_committer.has_left(partition):
                raise ProducerStateLost(
                    f"{partition.topic}-{partition.partition} was given up without a ledger "
                    "commit; only another producer can find which records landed"
                )


def unpublished(
    before: Mapping[TopicPartition, Entry],
    taken: Mapping[TopicPartition, Taken],
    tails: Mapping[TopicPartition, Tail | Loss],
) -> dict[TopicPartition, tuple[Entry, RunSegment]]:
    """Returns the run segments between the published runs and the new entries.

    Args:
        before: the entries that the taken ones replace.
    """
    return {
        p: (one.entry, RunSegment(begin, end, runs_before(tails.get(p), end)))
        for p, one in taken.items()
        if (begin := one.published_up_to(before[p])) < (end := one.entry.source_offset)
    }
