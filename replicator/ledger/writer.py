"""A writer: one transactional id, the producer id and epoch it was given, and its transactions.

Its batches are idempotent and not transactional; its transactions hold nothing but ledger entries
or, to fence a predecessor, nothing at all. The broker lets only the newest writer of an id commit.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from aiokafka.protocol.transaction import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    TxnOffsetCommitRequest,
)

from balancer.plan import TopicPartition
from replicator.kafka.cluster import (
    GROUP,
    TRANSACTION,
    UNKNOWN_TOPIC,
    Answered,
    Cluster,
    Commit,
    StartOver,
)
from replicator.kafka.together import together

REQUEST_BYTES_MAX = 512 * 1024

Row = tuple[str, int, int, str]
"""topic, partition, offset, metadata"""
Offsets = Sequence[Row]
Shown = Mapping[tuple[str, int], Commit]
"""Committed offsets as read, by topic and partition."""

WasThere = Callable[[TopicPartition, Commit | None], bool]

PLAN_TOPIC = "sluice.plan"
"""One partition in every aggregate cluster; offsets can only be committed under a topic."""

SHOWN_SECONDS = 0.5
"""A marker follows EndTxn within some milliseconds; asking again sooner would only cost."""
SHOWN_PAUSE_SECONDS = 0.002


class NotCommitted(Answered):
    """Refused before the transaction's end was asked for: it is aborted before the writer's next
    one, and nothing of it will ever be there."""


def base_id(transactional_id: str) -> str:
    """The carrier's own, whatever turn of it the id is: see Writer.rotated."""
    return transactional_id.partition("~")[0]


class Writer:
    """The newest holder of a transactional id, until another one opens it.

    Every method may raise Fenced: then a newer writer exists and this one must be thrown away.
    """

    def __init__(self, cluster: Cluster, transactional_id: str, timeout_ms: int = 30_000):
        self.transactional_id = transactional_id
        self.producer_id = -1
        self.epoch = -1
        self._cluster = cluster
        self._timeout_ms = timeout_ms
        # One transaction at a time: a commit and a fence of the same id would end each other.
        self._lock = asyncio.Lock()
        self._committing = asyncio.Lock()
        self._unfinished = False
        self._sequences: dict[TopicPartition, int] = {}

    async def open(self) -> Writer:
        """InitProducerId: every older writer of the id is cut off from its transactions."""
        response = await self._ask(
            InitProducerIdRequest(self.transactional_id, self._timeout_ms), _one
        )
        self.producer_id, self.epoch = response.producer_id, response.producer_epoch
        self._sequences.clear()
        self._unfinished = False
        return self

    def rotated(self) -> Writer:
        """This writer, under the next transactional id of its carrier; open it anew."""
        base, _, turn = self.transactional_id.partition("~")
        self.transactional_id = f"{base}~{int(turn or 0) + 1}"
        return self

    def next_sequence(self, partition: TopicPartition) -> int:
        """The first sequence of a partition that this writer takes now.

        Taken again under the same epoch it goes on behind the last one: from 0, the broker would
        take the records for old ones and answer success.
        """
        return self._sequences.get(partition, 0)

    def left_at(self, partition: TopicPartition, sequence: int) -> None:
        """A partition is given up; `sequence` would have been its next."""
        self._sequences[partition] = sequence

    def has_left(self, partition: TopicPartition) -> bool:
        """Whether a partition was given up at least once."""
        return partition in self._sequences

    async def commit(self, groups: Mapping[str, Offsets], was_there: WasThere) -> None:
        """Offsets of any number of groups, all or none. Returns once they have been shown.

        EndTxn is answered before its markers are written, and a coordinator whose metadata show no
        leader of the group's partition leaves the marker out (KAFKA-20734, Kafka 4.3): what was
        answered as committed then stays hidden. So it is read back, and committed again.

        Args:
            was_there: whether an offset that is shown, other than the one committed, is what stood
                there before; if not, whoever came next has put it there. It may raise Fenced.

        Raises:
            NotCommitted: a topic is not there.
        """
        # One at a time: behind a later one, an earlier one is not shown any more.
        async with self._committing:
            is_first = True
            while groups:
                async with self._transaction():
                    try:
                        await self._put(groups)
                    except Answered as answer:
                        if is_first and UNKNOWN_TOPIC in answer.codes:
                            raise NotCommitted(self.transactional_id, answer.codes) from answer
                        raise
                    await self._end(commit=True)
                is_first = False
                hidden = await self._hidden(groups)
                if hidden:
                    # That it begins says that the one before is complete: a marker that is not
                    # there now never comes. That it writes says that today's coordinator is asked.
                    await self.knock(hidden)
                    hidden = _differing(hidden, await self._shown(hidden), was_there)
                groups = hidden

    async def knock(self, groups: Iterable[str]) -> None:
        """Have the coordinators of groups write an offset, and take it back. One that is cut off
        from its peers goes on answering with what it knew, and cannot write: its successor is
        found, and asked from here on.
        """
        async with self._transaction():
            await self._put(
                {group: [(PLAN_TOPIC, 0, 0, "")] for group in groups}, never=frozenset()
            )
            await self._end(commit=False)

    async def fence(self, topic: str, partitions: Sequence[int]) -> None:
        """Put an abort marker of this epoch into partitions: from there on, appends of the older
        writers of this id are refused. A transaction that cannot be aborted holds up the whole id,
        so name only partitions that have a leader.
        """
        async with self._transaction():
            await self._ask(
                AddPartitionsToTxnRequest(*self._identity, [(topic, list(partitions))]), _many
            )
            await self._end(commit=False)

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[None]:
        async with self._lock:
            if self._unfinished:
                # A cancelled or refused attempt may have left offsets in an open transaction;
                # committed with the next ones they would turn the ledger back.
                with suppress(StartOver):  # INVALID_TXN_STATE: it had ended after all
                    await self._end(commit=False)
            self._unfinished = True
            yield
            self._unfinished = False

    @property
    def _identity(self) -> tuple[str, int, int]:
        return self.transactional_id, self.producer_id, self.epoch

    async def _put(
        self,
        groups: Mapping[str, Offsets],
        # A deleted topic would be asked for forever, and every other entry wait for it.
        never: frozenset[int] = frozenset({UNKNOWN_TOPIC}),
    ) -> None:
        """Hand the offsets to their coordinators, pending."""
        for group in groups:
            await self._ask(AddOffsetsToTxnRequest(*self._identity, group), _one)
        await together(
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

    async def _hidden(self, groups: Mapping[str, Offsets]) -> Mapping[str, Offsets]:
        """Those that are not shown after SHOWN_SECONDS."""
        give_up_at = time.monotonic() + SHOWN_SECONDS
        pause = SHOWN_PAUSE_SECONDS
        while True:
            await asyncio.sleep(pause)
            pause *= 2
            groups = _differing(groups, await self._shown(groups))
            if not groups or time.monotonic() > give_up_at:
                return groups

    async def _shown(self, groups: Mapping[str, Offsets]) -> dict[str, Shown]:
        """What readers see today in the place of each offset."""
        found = await together(
            *(self._cluster.commits(group, _places(rows)) for group, rows in groups.items())
        )
        return dict(zip(groups, found, strict=True))

    async def _end(self, *, commit: bool) -> None:
        # A lost answer may be asked for again within the epoch: the coordinator answers the same.
        await self._ask(EndTxnRequest(*self._identity, commit), _one)

    async def _ask(self, request: Any, codes: Any) -> Any:
        return await self._cluster.ask_coordinator(
            TRANSACTION, self.transactional_id, request, codes
        )


def _requests(offsets: Offsets) -> list[Offsets]:
    """Split so that no request grows over REQUEST_BYTES_MAX."""
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
    groups: Mapping[str, Offsets],
    shown: Mapping[str, Shown],
    counts: WasThere = lambda *_: True,
) -> dict[str, Offsets]:
    """The offsets in whose place something else is shown, if that counts."""
    differing: dict[str, Offsets] = {}
    for group, rows in groups.items():
        left = [
            (topic, number, offset, metadata)
            for topic, number, offset, metadata in rows
            if (found := shown[group].get((topic, number))) != Commit(offset, metadata)
            and counts(TopicPartition(topic, number), found)
        ]
        if left:
            differing[group] = left
    return differing


def _by_topic(rows: Offsets) -> list[tuple[str, list[tuple[int, int, str]]]]:
    topics: dict[str, list[tuple[int, int, str]]] = {}
    for topic, partition, offset, metadata in rows:
        topics.setdefault(topic, []).append((partition, offset, metadata))
    return list(topics.items())


def _places(rows: Offsets) -> list[tuple[str, list[int]]]:
    return [(topic, [row[0] for row in some]) for topic, some in _by_topic(rows)]


def _one(response: Any) -> list[int]:
    return [response.error_code]


def _many(response: Any) -> list[int]:
    return [code for _, rows in response.errors for _, code in rows]
