"""Takeover: acquires partitions by custody of the entry, the fence, the tail and the new entry.

Custody: an entry is replaced only inside a transaction of the transactional id it names. Of any
number of competing carriers exactly one has the newest epoch of that id when it commits; the others
are fenced.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TypeVar

from balancer.plan import TopicPartition
from replicator.kafka.client.cluster import Answered, Cluster, Fenced, ProducerStateLost
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.kafka.protocol.error_codes import Code
from replicator.mirror.ledger.accepted_losses import CUT_BACK, ended, goes_on_at, named_once
from replicator.mirror.ledger.acquired import Acquired, Taken
from replicator.mirror.ledger.entry import Custody, Entry
from replicator.mirror.ledger.inspection import (
    TargetFindings,
    inspect_source,
    inspect_target,
)
from replicator.mirror.ledger.landed import Memory, landed
from replicator.mirror.ledger.leader_memory import ask_memory
from replicator.mirror.ledger.ledger import Ledger
from replicator.mirror.ledger.loss import Loss, LossKind
from replicator.mirror.ledger.published_runs import told_since
from replicator.mirror.ledger.readiness import NOT_SHOWN, Readiness
from replicator.mirror.ledger.stale_entry import PublishedRun, turned_back
from replicator.mirror.ledger.tail import Tail, runs_before
from replicator.mirror.ledger.tail_readings import TailReadings
from replicator.mirror.offset_map.run_segment import RunSegment
from replicator.mirror.offset_map.runs_tail import RunsTail
from replicator.runtime.gather import gather_or_cancel

# Longer than the transaction of the carrier that was faster (5 ms quiet, 140 ms busy).
BACKOFF_SECONDS = 0.2
BACKOFF_DOUBLINGS_MAX = 4
"""All virgin entries name one id, and opening it fences the carrier that has it. Growing pauses
keep many carriers that begin at once out of each other's way."""

ID_SECONDS = 15.0
"""Time limit for the partitions of one transactional id at the first attempt. Partitions that are
already acquired wait for so long."""
ID_DOUBLINGS_MAX = 4
"""Limit to the doublings of ID_SECONDS, which let a long tail be read in the end."""

LOG_CHANGES = frozenset(
    {Code.UNKNOWN_TOPIC_OR_PARTITION, Code.UNKNOWN_TOPIC_ID, Code.OFFSET_OUT_OF_RANGE}
)
"""Error codes of a log that was deleted or cut while it was examined. The next attempt finds the
log's new state, and no other partition is affected."""

CHANGED = "its entry has changed since the loss was accepted; look again"

T = TypeVar("T")


Spare = Callable[[Mapping[TopicPartition, Entry | None]], set[TopicPartition]]
"""Returns the partitions whose entries are not to be replaced. None stands for a missing entry."""

Tell = Callable[[Mapping[TopicPartition, tuple[Entry, RunSegment]]], Awaitable[None]]
"""Publishes runs and returns once they are on disk; awaited before an entry that passes them."""


class Takeover:
    """Acquires partitions of one route for one writer.

    Args:
        start: where a virgin partition begins: "earliest", "latest" or milliseconds since 1970.
        tell: publishes the runs of tails that were read.
        accept: losses that an operator has accepted, by partition. A partition continues after its
            loss only if its entry is still parked for that loss.
        restart_at: source offset at which accepted partitions continue. Applies to losses that
            would be skipped to their end or that have no end.
        runs: tails the runs topic, which shows an entry that is older than what was mirrored.
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
        runs: RunsTail | None = None,
    ):
        self._ledger = ledger
        self._fenced_committer = fenced_committer
        self._source = source
        self._target = target
        self._start = start
        self._tell = tell
        self._timeout_ms = timeout_ms
        self._accept = dict(accept)
        self._restart_at = restart_at
        self._runs = runs
        self._readiness = Readiness(ledger, source, target, self._accept)
        # By transactional id: how often it gave no answer, and how often another carrier was
        # faster.
        self._overdue: Counter[str] = Counter()
        self._beaten: Counter[str] = Counter()
        self._readings = TailReadings(target)

    @property
    def bytes_read(self) -> int:
        """Bytes read of tails and the runs topic: while they grow, another attempt gets further."""
        return self._readings.bytes_read + (self._runs.bytes_read if self._runs else 0)

    async def acquire(
        self, partitions: Iterable[TopicPartition], spare: Spare = lambda _: set()
    ) -> Acquired:
        """Acquires all partitions that can be acquired.

        Returns when each partition is taken, parked, waiting or spared. Once something is taken, no
        other transactional id is begun after ID_SECONDS, since taken partitions are not carried
        meanwhile.

        Args:
            spare: chooses the entries that are not to be replaced. Called each time that entries
                are read: a partition that was free may be held by the time it would be acquired.

        Raises:
            Fenced: another client has opened the id of this carrier's own writer.
            ProducerStateLost: this carrier's own writer cannot continue; only a new one can.
        """
        acquired, todo = Acquired(), set(partitions)
        began = time.monotonic()
        while todo:
            entries = await self._ledger.read(todo)
            acquired.spared |= spare({each: entries.get(each) for each in todo})
            todo -= acquired.spared
            changed = [each for each in todo if self._has_changed(each, entries.get(each))]
            acquired.waiting |= dict.fromkeys(changed, CHANGED)
            todo -= acquired.waiting.keys()
            await self._readiness.set_aside(todo, entries, acquired)
            by_id: dict[str, list[TopicPartition]] = {}
            for partition in todo:
                by_id.setdefault(entries[partition].transactional_id, []).append(partition)
            ids = list(by_id)
            # Shuffled, so that competing carriers do not collide at each id in turn. Ids that gave
            # no answer before come last, so that they do not hold up the others.
            random.shuffle(ids)
            ids.sort(key=lambda each: self._overdue[each])
            for transactional_id in ids:
                is_late = bool(acquired.taken) and time.monotonic() - began > ID_SECONDS
                is_held_up = bool(acquired.taken and self._overdue[transactional_id])
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

    async def _take_in_time(
        self, transactional_id: str, partitions: Iterable[TopicPartition], acquired: Acquired
    ) -> bool:
        """Returns False when the time limit was over first.

        A commit that is cut short may have happened: then the entries are found as our own.
        """
        seconds = ID_SECONDS * 2 ** min(self._overdue[transactional_id], ID_DOUBLINGS_MAX)
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                await self._take(transactional_id, partitions, acquired)
        except TimeoutError:
            if not limit.expired():
                raise
            self._overdue[transactional_id] += 1
            return False
        except (Fenced, ProducerStateLost):
            if transactional_id == self._fenced_committer.transactional_id:
                raise
            doublings = min(self._beaten[transactional_id], BACKOFF_DOUBLINGS_MAX)
            self._beaten[transactional_id] += 1
            await asyncio.sleep(BACKOFF_SECONDS * 2**doublings * random.uniform(0.1, 1.5))
        except Answered as answer:
            if not answer.codes or not LOG_CHANGES.issuperset(answer.codes):
                raise
            done = acquired.taken.keys() | acquired.parked.keys() | acquired.waiting.keys()
            left = [partition for partition in partitions if partition not in done]
            acquired.waiting |= dict.fromkeys(left, str(answer))
        else:
            del self._beaten[transactional_id]
        del self._overdue[transactional_id]
        return True

    async def _take(
        self, transactional_id: str, partitions: Iterable[TopicPartition], acquired: Acquired
    ) -> None:
        holder = self._fenced_committer
        if transactional_id != holder.transactional_id:
            holder = await FencedCommitter(self._target, transactional_id, self._timeout_ms).open()
        # Read again: only entries that still name the id, now that we hold it, are ours to replace.
        entries = {
            partition: entry
            for partition, entry in (await self._ledger.read_as_holder(holder, partitions)).items()
            if entry.transactional_id == transactional_id
            and (not entry.parked or partition in self._accept)
            and not self._has_changed(partition, entry)
        }
        if not entries:
            return
        found = await _gathered(
            {p: self._examine(p, entry, holder) for p, entry in entries.items()}
        )
        lost = {p: one.loss for p, one in found.items() if one.loss and p not in self._accept}
        left = {p: entry for p, entry in entries.items() if p not in lost}
        self._shun_given_up(left)
        tails = await self._read_tails(left, found, holder)
        told = await told_since(self._runs, left) if self._runs else {}
        outcomes = await _gathered(
            {
                p: self._go_on(p, entry, found[p], tails.get(p), told.get(p))
                for p, entry in left.items()
            }
        )
        lost |= {p: outcome for p, outcome in outcomes.items() if isinstance(outcome, Loss)}
        for partition in [p for p, loss in lost.items() if loss.kind is LossKind.SOURCE_DELETED]:
            if not self._readiness.is_deleted(partition):
                # The source showed the topic when the acquisition began.
                del lost[partition]
                acquired.waiting[partition] = NOT_SHOWN
        taken = {p: outcome for p, outcome in outcomes.items() if isinstance(outcome, Taken)}
        parked = {p: entries[p].park(loss) for p, loss in lost.items()}
        stretches = {
            p: (one.entry, RunSegment(begin, end, runs_before(tails.get(p), end)))
            for p, one in taken.items()
            if (begin := one.told_up_to(entries[p])) < (end := one.entry.source_offset)
        }
        if stretches:
            await self._tell(stretches)
        new = parked | {p: one.entry for p, one in taken.items()}
        await self._ledger.replace(holder, entries, new)
        self._readings.forget(new)
        acquired.taken |= taken
        acquired.parked |= {p: str(loss) for p, loss in lost.items()}
        acquired.lost |= lost.keys()

    def _is_own(self, entry: Entry) -> bool:
        """Returns True for an entry that this very writer committed: only the answer was lost."""
        writer = (self._fenced_committer.producer_id, self._fenced_committer.epoch)
        return entry.custody is Custody.HELD and (entry.producer_id, entry.epoch) == writer

    def _has_changed(self, partition: TopicPartition, entry: Entry | None) -> bool:
        """Returns True when the entry is no longer parked for the loss that was accepted."""
        accepted = self._accept.get(partition)
        if accepted is None or entry is None or self._is_own(entry):
            return False
        return entry.parked != accepted

    def _shun_given_up(self, entries: Mapping[TopicPartition, Entry]) -> None:
        """Raises ProducerStateLost for our own entry of a partition that this writer gave up.

        Records in flight at that time may have landed after the entry, and no writer can fence
        itself.
        """
        for partition, entry in entries.items():
            if self._is_own(entry) and self._fenced_committer.has_left(partition):
                raise ProducerStateLost(
                    f"{partition.topic}-{partition.partition} was given up while the ledger could "
                    "not be told; only another writer can find how far it came"
                )

    def _must_fence(self, entry: Entry) -> bool:
        return entry.custody is Custody.HELD and not self._is_own(entry)

    # -- inspection and tails

    async def _examine(
        self, partition: TopicPartition, entry: Entry, holder: FencedCommitter
    ) -> TargetFindings:
        found = await inspect_target(self._target, partition, entry)
        if found.loss or not self._must_fence(entry) or entry.producer_id == holder.producer_id:
            return found
        loss = Loss(
            LossKind.WRITER_FORGOTTEN,
            entry.target_offset,
            None,
            f"{entry.transactional_id} had producer id {entry.producer_id} and now has "
            f"{holder.producer_id} (transactional.id.expiration.ms), so its old writer cannot be "
            "fenced",
        )
        return replace(found, loss=loss)

    async def _read_tails(
        self,
        entries: Mapping[TopicPartition, Entry],
        found: Mapping[TopicPartition, TargetFindings],
        holder: FencedCommitter,
    ) -> dict[TopicPartition, Tail | Loss]:
        """Fences the writers of HELD entries, then reads the records that they had landed."""
        fenced = [p for p, entry in entries.items() if self._must_fence(entry)]
        if not fenced:
            return {}
        # Before the fence: its marker resets what the broker remembers of the old epoch.
        memories = await _gathered(
            {p: ask_memory(self._target, p, entries[p].producer_id) for p in fenced}
        )
        by_topic: dict[str, list[int]] = {}
        for topic, number in fenced:
            by_topic.setdefault(topic, []).append(number)
        for topic, numbers in by_topic.items():
            await holder.fence(topic, numbers)
        marker = (holder.producer_id, holder.epoch)
        return await _gathered(
            {p: self._read_tail(p, entries[p], found[p], memories[p], marker) for p in fenced}
        )

    async def _read_tail(
        self,
        partition: TopicPartition,
        entry: Entry,
        found: TargetFindings,
        memory: Memory,
        marker: tuple[int, int],
    ) -> Tail | Loss:
        # After an accepted loss at the target, the entry's offsets mean nothing in today's log.
        begin = max(entry.target_offset, found.start)
        known = entry
        if found.loss:
            begin, known = found.start, replace(entry, mark=None)
        is_whole = found.loss is None and found.start <= entry.target_offset
        tail, memory = await self._readings.read(
            partition, known, begin, marker, found=found, memory=memory, is_whole=is_whole
        )
        count = landed(entry, tail, found.start, memory, is_whole=tail.is_whole)
        return count if isinstance(count, Loss) else replace(tail, landed=count)

    # -- next positions

    async def _go_on(
        self,
        partition: TopicPartition,
        entry: Entry,
        found: TargetFindings,
        tail: Tail | Loss | None,
        told: PublishedRun | None = None,
    ) -> Taken | Loss:
        accepted = partition in self._accept
        parked = ended(entry.parked, self._restart_at)
        unread: Loss | None = None
        if isinstance(tail, Loss):
            if not accepted:
                return tail
            unread, tail = tail, None
        if tail and tail.missing:
            if not accepted:
                return tail.missing
            unread = tail.missing
        is_own, was_virgin = self._is_own(entry), entry.custody is Custody.VIRGIN
        position = await self._first_offset(partition) if was_virgin else entry.source_offset
        target_offset = entry.target_offset if is_own else found.end
        mark = None if found.loss else entry.mark
        if tail:
            position, target_offset, mark = entry.after(tail.landed), tail.end, tail.mark
        if entry.parked and entry.parked.kind in CUT_BACK:
            # Accepted: the last epoch read belongs to a log that is gone.
            entry = replace(entry, source_epoch=-1)
        turned: Loss | None = None
        # If the target lost records of published runs, or its tail, runs do not tell what it holds.
        if not (is_own or found.loss or (unread and tail is None)):
            turned = turned_back(entry, position, target_offset, told)
        if turned and not accepted:
            return turned
        turned = ended(turned, self._restart_at)
        if turned and turned.end:
            position = max(position, turned.end)
        source_found = await inspect_source(self._source, partition, entry, position)
        if source_found.loss and not accepted:
            return source_found.loss
        source, target = (c.topic(partition.topic) for c in (self._source, self._target))
        return Taken(
            Entry(
                custody=Custody.HELD,
                source_offset=goes_on_at(position, source_found.start, parked, source_found.loss),
                target_offset=target_offset,
                producer_id=self._fenced_committer.producer_id,
                epoch=self._fenced_committer.epoch,
                sequence=entry.sequence
                if is_own
                else self._fenced_committer.next_sequence(partition),
                transactional_id=self._fenced_committer.transactional_id,
                source_topic=source.id if source else entry.source_topic,
                target_topic=target.id if target else None,
                source_epoch=-1 if source_found.loss else entry.source_epoch,
                mark=mark,
                losses=max(entry.losses, told.losses if told else 0) + accepted,
                seen=entry.seen if source and source.id == entry.source_topic else (),
            ),
            was_virgin,
            source_found.leader,
            found.leader,
            named_once(parked, found.loss, unread, turned, source_found.loss),
        )

    async def _first_offset(self, partition: TopicPartition) -> int:
        if self._start == "earliest":
            return await self._source.log_start(*partition)
        if self._start == "latest":
            return await self._source.log_end(*partition)
        return await self._source.offset_at(*partition, int(self._start))


async def _gathered(asked: Mapping[TopicPartition, Awaitable[T]]) -> dict[TopicPartition, T]:
    """Awaits all at once; returns the results in the order asked."""
    return dict(zip(asked, await gather_or_cancel(*asked.values()), strict=True))
