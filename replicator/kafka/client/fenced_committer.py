"""Fenced committer: one transactional id, its producer id and epoch, and its transactions.

Its transactions hold committed offsets and the effects that a caller adds to them or, to fence a
predecessor, nothing at all. Batches that carriers send under the same producer id are idempotent
and not transactional. The broker lets only the newest epoch of an id commit.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

from aiokafka.protocol.transaction import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    TxnOffsetCommitRequest,
)

from balancer.topic_partition import TopicPartition
from replicator.config.names import PLAN_TOPIC
from replicator.kafka.client.cluster import (
    GROUP,
    TRANSACTION,
    UNKNOWN_TOPIC,
    Answered,
    Cluster,
    ProducerStateLost,
)
from replicator.kafka.protocol.error_codes import Code
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from replicator.runtime.gather import gather_or_cancel

REQUEST_BYTES_MAX = 512 * 1024

Row = tuple[str, int, int, str]
"""topic, partition, offset, metadata"""
OffsetRows = Sequence[Row]
Shown = Mapping[TopicPartition, OffsetAndMetadata]
"""Committed offsets as read, by topic and partition."""

WasThere = Callable[[TopicPartition, OffsetAndMetadata | None], bool]

SHOWN_SECONDS = 0.5
"""Time to wait for offsets to be shown. A marker follows EndTxn within some milliseconds; acting
sooner would only add requests."""
SHOWN_PAUSE_SECONDS = 0.002
SETTLING_ABORTS_MAX = 6
"""Most aborts by which a committer tries to end what a former transaction left in a group. If
another producer's transaction has no marker for ever, no abort can be told from one without."""
UNUSED: Row = (PLAN_TOPIC, 0, 0, "")
"""Offset that is always aborted."""

FENCE_PAUSES_SECONDS = (0.005, 0.02, 0.08)
"""Pauses before a commit is sent again that met the beginning of a fence."""


class Identity(NamedTuple):
    """Transactional id, with the producer id and epoch of its newest holder."""

    transactional_id: str
    producer_id: int
    epoch: int


Effects = Callable[[Identity], Awaitable[None]]
"""Writes records in the open transaction of an identity, beside its offsets."""


class NotCommitted(Answered):
    """Refused before EndTxn. The transaction is aborted before the committer's next one, and none
    of its offsets will ever be shown."""


def base_id(transactional_id: str) -> str:
    """Returns the carrier's own id, without the number that FencedCommitter.rotated appends."""
    return transactional_id.partition("~")[0]


class FencedCommitter:
    """The newest holder of a transactional id, until another client opens the id.

    Every request may raise Fenced: then a newer holder exists and this one must be discarded.

    Args:
        timeout_ms: of a transaction.
        shown_seconds: time to wait for committed offsets to be shown.
    """

    def __init__(
        self,
        cluster: Cluster,
        transactional_id: str,
        timeout_ms: int = 30_000,
        shown_seconds: float = SHOWN_SECONDS,
    ):
        self.transactional_id = transactional_id
        self.producer_id = -1
        self.epoch = -1
        self._cluster = cluster
        self._timeout_ms = timeout_ms
        self._shown_seconds = shown_seconds
        # One transaction at a time: a commit and a fence of the same id would end each other.
        self._lock = asyncio.Lock()
        self._committing = asyncio.Lock()
        self._unfinished = False
        self._may_be_pending = False
        """Offsets of aborted transactions may be pending, but in groups that are settled."""
        self._settled: set[str] = set()
        self._sequences: dict[TopicPartition, int] = {}

    async def open(self) -> FencedCommitter:
        """Sends InitProducerId, which fences every older holder of the id."""
        response = await self._ask(
            InitProducerIdRequest(self.transactional_id, self._timeout_ms), _one
        )
        self.producer_id, self.epoch = response.producer_id, response.producer_epoch
        self._sequences.clear()
        self._unfinished = False
        # Epoch 0 is that of a new producer id.
        self._may_be_pending = self.epoch > 0
        self._settled.clear()
        return self

    def rotated(self) -> FencedCommitter:
        """Switches to the next transactional id of this carrier; open it anew."""
        base, _, turn = self.transactional_id.partition("~")
        self.transactional_id = f"{base}~{int(turn or 0) + 1}"
        return self

    def next_sequence(self, partition: TopicPartition) -> int:
        """Returns the first sequence of a partition that this committer acquires now.

        A partition that is acquired again under the same epoch continues after its last sequence.
        From 0 on, the broker would take the records for duplicates and answer success.
        """
        return self._sequences.get(partition, 0)

    def left_at(self, partition: TopicPartition, sequence: int) -> None:
        """Notes that a partition is given up; `sequence` would have been its next."""
        self._sequences[partition] = sequence

    def has_left(self, partition: TopicPartition) -> bool:
        """Returns True when a partition was given up at least once."""
        return partition in self._sequences

    async def commit(
        self,
        groups: Mapping[str, OffsetRows],
        was_there: WasThere,
        effects: Effects | None = None,
    ) -> None:
        """Commits offsets of any number of groups, all or none. Returns once they have been shown.

        EndTxn is answered before its markers are written. A coordinator whose metadata shows no
        leader of the group's partition leaves the marker out (KAFKA-20734, Kafka 4.3). Offsets that
        were answered as committed then stay hidden. So they are read back, and committed again.
        Offsets of an abort would be shown with the next commit, so they are ended before it
        (decision 0010).

        Args:
            was_there: returns True when a shown offset, other than the committed one, is the one
                from before. Otherwise the next committer has written it. May raise Fenced.
            effects: awaited in each transaction, between the offsets and EndTxn; `add_partitions`
                comes before its first record. If offsets stay hidden, it is awaited again, and
                its records may be visible by then. Within one commit, batches must therefore be
                sent under the same sequences: the broker drops a duplicate of one of the last
                five batches of a partition.

        Raises:
            NotCommitted: a topic is not there.
        """
        # One at a time: once a later commit is shown, an earlier one no longer is.
        async with self._committing:
            is_first = True
            while groups:
                async with self._transaction():
                    try:
                        if self._may_be_pending:
                            await self._settle(
                                {
                                    group: rows[0]
                                    for group, rows in groups.items()
                                    if rows and group not in self._settled
                                }
                            )
                        await self._put(groups)
                    except Answered as answer:
                        if is_first and UNKNOWN_TOPIC in answer.codes:
                            raise NotCommitted(self.transactional_id, answer.codes) from answer
                        raise
                    if effects:
                        await effects(self._identity)
                    await self._end(commit=True)
                is_first = False
                hidden = await self.still_hidden(groups)
                if hidden:
                    # A successful AddOffsetsToTxn proves that the previous transaction completed,
                    # so a missing marker will never arrive. A successful TxnOffsetCommit proves
                    # that today's coordinator is asked.
                    await self.confirm_coordinators(hidden)
                    hidden = _differing(hidden, await self._shown(hidden), was_there)
                groups = hidden

    async def write(self, effects: Effects) -> None:
        """Writes records in a transaction that has no offsets."""
        async with self._committing, self._transaction():
            await effects(self._identity)
            await self._end(commit=True)

    async def confirm_coordinators(self, groups: Iterable[str]) -> None:
        """Confirms the coordinators of groups: each writes an offset, which is then aborted.

        A coordinator that is cut off from its peers keeps answering with old offsets, and cannot
        write. Its successor is then found, and asked from here on. What former transactions of the
        producer left in the groups ends with the abort's markers.
        """
        async with self._transaction():
            await self._settle(dict.fromkeys(groups, UNUSED), never=frozenset())

    async def add_partitions(self, topic: str, partitions: Sequence[int]) -> None:
        """Adds partitions of a topic to the open transaction; for use inside effects."""
        await self._ask(
            AddPartitionsToTxnRequest(*self._identity, [(topic, list(partitions))]), _many
        )

    async def fence(self, topic: str, partitions: Sequence[int]) -> None:
        """Puts an abort marker of this epoch into partitions.

        After the marker, appends of older epochs of this id are refused. A transaction that cannot
        be aborted holds up the whole id, so name only partitions that have a leader.
        """
        async with self._transaction():
            await self.add_partitions(topic, partitions)
            await self._end(commit=False)

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[None]:
        async with self._lock:
            if self._unfinished:
                # A cancelled or refused attempt may have left offsets in an open transaction.
                # Committed with the next ones, they would turn the ledger back.
                self._may_be_pending = True
                self._settled.clear()
                with suppress(ProducerStateLost):  # INVALID_TXN_STATE: it had ended after all
                    await self._end(commit=False)
            self._unfinished = True
            yield
            self._unfinished = False

    async def _settle(
        self, rows: Mapping[str, Row], never: frozenset[int] = frozenset({UNKNOWN_TOPIC})
    ) -> None:
        """Ends what the producer's transactions have left in groups, by an abort whose markers are
        seen to be there.

        A marker ends all that its producer has put into the partition of a group, under whichever
        epoch. The row of an abort without a marker stays pending.

        Args:
            rows: offset to abort, by group.
        """
        for _ in range(SETTLING_ABORTS_MAX):
            if not rows:
                return
            await self._put({group: [row] for group, row in rows.items()}, never)
            await self._end(commit=False)
            self._settled.update(rows)
            rows = await self._still_pending(rows)

    async def _still_pending(self, rows: Mapping[str, Row]) -> Mapping[str, Row]:
        """Returns the offsets that are still pending after a while."""
        give_up_at = time.monotonic() + self._shown_seconds
        pause = SHOWN_PAUSE_SECONDS
        while True:
            found = await gather_or_cancel(
                *(
                    self._cluster.is_pending(group, TopicPartition(topic, number))
                    for group, (topic, number, *_) in rows.items()
                )
            )
            rows = {
                group: rows[group] for group, pending in zip(rows, found, strict=True) if pending
            }
            if not rows or time.monotonic() > give_up_at:
                return rows
            await asyncio.sleep(pause)
            pause *= 2

    @property
    def _identity(self) -> Identity:
        return Identity(self.transactional_id, self.producer_id, self.epoch)

    async def _put(
        self,
        groups: Mapping[str, OffsetRows],
        # A deleted topic would be asked for forever, while every other entry waits.
        never: frozenset[int] = frozenset({UNKNOWN_TOPIC}),
    ) -> None:
        """Sends the offsets to their coordinators, where they stay pending."""
        for group in groups:
            await self._ask(AddOffsetsToTxnRequest(*self._identity, group), _one)
        await gather_or_cancel(
            *(
                self._cluster.ask_coordinator(
                    GROUP,
                    group,
                    TxnOffsetCommitRequest(
                        self.transactional_id, group, self.producer_id, self.epoch, _by_topic(part)
                    ),
                    _many,
                    never=never,
                )
                for group, offsets in groups.items()
                for part in _requests(offsets)
            )
        )

    async def still_hidden(self, groups: Mapping[str, OffsetRows]) -> Mapping[str, OffsetRows]:
        """Returns the offsets that are still not shown after a while."""
        give_up_at = time.monotonic() + self._shown_seconds
        pause = SHOWN_PAUSE_SECONDS
        while True:
            await asyncio.sleep(pause)
            pause *= 2
            groups = _differing(groups, await self._shown(groups))
            if not groups or time.monotonic() > give_up_at:
                return groups

    async def _shown(self, groups: Mapping[str, OffsetRows]) -> dict[str, Shown]:
        """Returns, by group, the offsets that readers see today for the same partitions."""
        found = await gather_or_cancel(
            *(self._cluster.commits(group, _partitions(rows)) for group, rows in groups.items())
        )
        return dict(zip(groups, found, strict=True))

    async def _end(self, *, commit: bool) -> None:
        # After a lost answer the same request is sent again: within the epoch the coordinator
        # answers the same.
        request = EndTxnRequest(*self._identity, commit)
        for pause in FENCE_PAUSES_SECONDS:
            try:
                await self._ask(request, _one)
            except Answered as answer:
                # A commit that meets the beginning of a fence makes the coordinator throw, and
                # changes nothing (Kafka 4.3, TransactionMetadata.prepareTransitionTo).
                if answer.codes != (Code.UNKNOWN_SERVER_ERROR,):
                    raise
            else:
                return
            await asyncio.sleep(pause)
        await self._ask(request, _one)

    async def _ask(self, request: Any, codes: Any) -> Any:
        return await self._cluster.ask_coordinator(
            TRANSACTION, self.transactional_id, request, codes
        )


def _requests(offsets: OffsetRows) -> list[OffsetRows]:
    """Splits offsets so that no request grows over REQUEST_BYTES_MAX."""
    parts: list[list[Row]] = [[]]
    size = 0
    for row in offsets:
        size += len(row[0]) + len(row[3]) + 32
        if size > REQUEST_BYTES_MAX and parts[-1]:
            parts.append([])
            size = len(row[0]) + len(row[3]) + 32
        parts[-1].append(row)
    return list(parts)


def _differing(
    groups: Mapping[str, OffsetRows],
    shown: Mapping[str, Shown],
    was_there: WasThere = lambda *_: True,
) -> dict[str, OffsetRows]:
    """Returns the offsets in place of which another one is shown that was there before."""
    differing: dict[str, OffsetRows] = {}
    for group, rows in groups.items():
        left = [
            (topic, number, offset, metadata)
            for topic, number, offset, metadata in rows
            if (found := shown[group].get(partition := TopicPartition(topic, number)))
            != OffsetAndMetadata(offset, metadata)
            and was_there(partition, found)
        ]
        if left:
            differing[group] = left
    return differing


def _by_topic(rows: OffsetRows) -> list[tuple[str, list[tuple[int, int, str]]]]:
    topics: dict[str, list[tuple[int, int, str]]] = {}
    for topic, partition, offset, metadata in rows:
        topics.setdefault(topic, []).append((partition, offset, metadata))
    return list(topics.items())


def _partitions(rows: OffsetRows) -> list[tuple[str, list[int]]]:
    return [(topic, [row[0] for row in some]) for topic, some in _by_topic(rows)]


def _one(response: Any) -> list[int]:
    return [response.error_code]


def _many(response: Any) -> list[int]:
    return [code for _, rows in response.errors for _, code in rows]
