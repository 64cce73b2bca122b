"""Progress of one partition inside a loader: what is read, buffered, sealed and loaded. No I/O.

Records come in by table, in offset order. A table's buffer is sealed as a block: its range goes
into the next intent, and the block is sent once that intent is committed. After a takeover the
blocks of the intent found are formed again first (REPLAY): per table, records below the range are
skipped, those within it form the block, later ones go into the buffer.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha512
from heapq import heappop, heappush
from typing import Generic

import numpy as np
import numpy.typing as npt

from aggregator.intents.holes import Holes
from aggregator.intents.intent import Intent, fits
from aggregator.intents.reading import Mode, ReadAgain
from aggregator.intents.table_range import KeeperMoment, TableRange
from aggregator.loader.draft import Draft, S, next_after
from aggregator.loader.seal_rule import SealRule
from aggregator.loader.sealed_before import SealedBefore
from replicator.kafka.client.custody import Custody

Ints = npt.NDArray[np.int64]

_DIGESTS = b"".join(sha512(seed).digest() for seed in (b"one", b"two", b"three"))
TABLE_NAME_RESERVE = b64encode(_DIGESTS).decode()[:255]
"""A table with the longest name that any may have (`formats/routing.py`), in which nothing can be
packed: its block must fit in any case."""


_LATEST = KeeperMoment(1 << 40, 1 << 40)
_LARGEST = TableRange(
    0, 1 << 40, 1 << 20, _DIGESTS.hex()[:8], 1 << 43, KeeperMoment(987_654_321_013, 546_372_819_035)
)


@dataclass(slots=True)
class _Table(Generic[S]):
    """State of one table.

    Args:
        loaded_to: every record of the table below it is loaded.
        block: range that may have been sent and is not known to be loaded.
        block_bytes: size of its records in memory.
        replayed: records of `block` that were read again; None unless the block is a replayed one
            that has not been handed out yet.
        buffer: records that no intent names yet.
        since: time at which the first of them was read.
    """

    loaded_to: int
    block: TableRange | None = None
    block_bytes: int = 0
    replayed: list[S] | None = None
    buffer: list[S] = field(default_factory=list)
    size_bytes: int = 0
    records: int = 0
    since: float = 0.0

    @property
    def first(self) -> int | None:
        """Offset of the first buffered record."""
        return int(self.buffer[0].offset[0]) if self.buffer else None

    def append(self, part: S, now: float) -> None:
        if not self.buffer:
            self.since = now
        self.buffer.append(part)
        self.size_bytes += part.size_bytes
        self.records += len(part.offset)


class PartitionProgress(Generic[S]):
    """Progress from an intent on.

    Args:
        intent: as it was taken over.
    """

    def __init__(self, intent: Intent) -> None:
        self.position = intent.offset
        """Next offset to read."""
        self.leader_epoch = intent.leader_epoch
        """Newest leader epoch of the batches read, also by predecessors (-1: none yet)."""
        self.dead_letters = intent.dead_letters
        """Records set aside since the partition was adopted, with those of the next commit."""
        self.letters_at = intent.letters_at
        """The next intent's."""
        self._losses = intent.losses
        self._intent = intent
        self._reference = intent.up_to if intent.up_to is not None else intent.reference
        self._count = 0 if intent.up_to is not None else intent.count
        self._holes = Holes(intent.offset, 0 if intent.up_to is not None else intent.holes)
        self._sealed_before = SealedBefore(intent)
        self._flush_to: int | None = None
        self.loads = 0
        """Number of blocks that were loaded."""
        self._tables: dict[str, _Table[S]] = {
            name: _Table(each.begin, each, replayed=[])
            if not each.is_marker
            else _Table(each.begin)
            for name, each in intent.tables.items()
        }
        self._replay_end = intent.replay_end
        self._sealed_end = max((each.end for each in intent.tables.values()), default=0)
        # A partition may feed a thousand tables, so that what is asked often is kept ready.
        self._in_flight = set(intent.blocks)
        self._marked = set(intent.tables)
        self._dropped: dict[str, int] = {}
        self._waiting: list[tuple[int, str]] = []
        """Heap of first buffered offsets; those that are no longer the first are dropped later."""

    # -- reading

    def add(
        self, offsets: Ints, next_offset: int, by_table: Mapping[str, S], now: float
    ) -> ReadAgain:
        """Takes in what was read from `position` up to `next_offset`.

        Args:
            offsets: of all records read, ascending.
            by_table: the same records by table.
            now: seconds; the age of buffers counts from it.
        """
        self.position = next_offset
        again, replayed = [], 0
        for name, part in by_table.items():
            table = self._tables.get(name)
            if table is None:
                # Nothing of a table that is not named was ever loaded from here on.
                table = self._tables[name] = _Table(self._intent.offset)
            repeated, later = self._add(name, table, part, now)
            replayed += repeated
            if later < len(part.offset):
                again.append(part.offset[: -later or None])
        self._holes.add(self._sealed_before.left_to_count(offsets, again), next_offset)
        self._holes.take_back(self._sealed_before.vanished(next_offset))
        return ReadAgain(replayed, sum(map(len, again)) - replayed)

    def _add(self, name: str, table: _Table[S], part: S, now: float) -> tuple[int, int]:
        """Returns the numbers of records to be repeated, and of those not sealed before the
        takeover."""
        begin, end, repeated = table.loaded_to, next_after(part), 0
        if table.block is not None:
            begin = table.block.end
        if table.block is not None and table.replayed is not None:
            again = part.between(table.block.begin, table.block.end)
            if repeated := len(again.offset):
                table.replayed.append(again)
                table.block_bytes += again.size_bytes
        later = part if int(part.offset[0]) >= begin else part.between(begin, end)
        if len(later.offset) and name not in self._dropped:
            if not table.buffer:
                heappush(self._waiting, (int(later.offset[0]), name))
            table.append(later, now)
        return repeated, len(later.offset)

    # -- state

    @property
    def mode(self) -> Mode:
        is_behind = self.position < max(
            (table.loaded_to for table in self._tables.values()), default=0
        )
        is_replaying = any(block.end <= self._replay_end for block in self.in_flight.values())
        return Mode.REPLAY if is_replaying or is_behind else Mode.CONSUME

    @property
    def offset(self) -> int:
        """Offset below which everything is loaded: the next intent's offset."""
        waiting = self._waiting
        while waiting and self._tables[waiting[0][1]].first != waiting[0][0]:
            heappop(waiting)
        begins = [block.begin for block in self.in_flight.values()]
        begins += self._dropped.values()
        return min([self.position, *begins, *(first for first, _ in waiting[:1])])

    @property
    def buffered_bytes(self) -> int:
        return sum(table.size_bytes for table in self._tables.values())

    def buffer_of(self, table: str) -> tuple[int, int]:
        """Returns the bytes and the records in a table's buffer."""
        state = self._tables[table]
        return state.size_bytes, state.records

    @property
    def in_flight(self) -> dict[str, TableRange]:
        """Blocks that are named by an intent and not known to be loaded, by table."""
        blocks = {name: self._tables[name].block for name in self._in_flight}
        return {name: block for name, block in blocks.items() if block}

    def block_bytes(self, table: str) -> int:
        """Returns the bytes in memory of a table's block that is under way, or read again."""
        return self._tables[table].block_bytes

    @property
    def tables(self) -> tuple[str, ...]:
        """Tables that were named or seen since the takeover."""
        return tuple(self._tables)

    @property
    def buffering(self) -> dict[str, float]:
        """Tables with records that no intent names yet, and the time since when."""
        return {name: table.since for name, table in self._tables.items() if table.buffer}

    def can_release(self, intent: Intent) -> bool:
        """Returns True when everything that was read is loaded, and its forced flush committed."""
        is_flushed = intent.offset == self.position and not intent.tables
        return self.offset == self.position and not self.is_flushing and is_flushed

    # -- replay

    @property
    def has_caught_up(self) -> bool:
        """True once all that was sealed before has been read again."""
        return self.position >= self._sealed_end

    @property
    def replaying(self) -> list[str]:
        """Tables whose blocks are being read again, in the order of these."""
        tables = {name: self._tables[name] for name in self._in_flight}
        found = [
            (it.block.begin, name)
            for name, it in tables.items()
            if it.block is not None and it.replayed is not None
        ]
        return [name for _, name in sorted(found)]

    def replays(self) -> list[Draft[S]]:
        """Returns, once each, the replayed blocks whose records have all been read again."""
        found = []
        for name in sorted(self._in_flight):
            table = self._tables[name]
            block, again = table.block, table.replayed
            if block is not None and again is not None and self.position >= block.end:
                table.replayed = None
                found.append(Draft(name, block.begin, block.end, tuple(again), block))
        return found

    # -- sealing

    def due(self, rule: SealRule, now: float) -> list[str]:
        """Returns the tables whose buffers have to be sealed, the longest waiting one first.

        A table whose block is in flight waits for that, and takes no other table's room.
        Without room in the intent it is only the table that holds back the offset.
        """
        ready = sorted(
            (first, name)
            for name, table in self._tables.items()
            if table.block is None and (first := table.first) is not None
        )
        if self._flush_to is not None:
            ready = [(first, name) for first, name in ready if first < self._flush_to]
        if self._is_pressed:
            return [name for first, name in ready[:1] if first == self.offset]
        if self._flush_to is not None:
            return [name for _, name in ready]
        tables = {name: self._tables[name] for _, name in ready}
        largest = rule.largest({name: table.size_bytes for name, table in tables.items()})
        return [
            name
            for name, table in tables.items()
            if name in largest or rule.is_full(table.size_bytes, table.records, now - table.since)
        ]

    def draft(self, table: str, rule: SealRule) -> Draft[S]:
        """Returns the records to be sealed: all of the buffer, within the limits of one block.

        Without room in the intent they end before the next table's first record: then no marker
        has to be named once they are loaded. The draft is empty if none may be sealed now: the
        intent can have become full after the table was due.
        """
        state = self._tables[table]
        slices: list[S] = []
        size_bytes = records = 0
        limit = self._flush_to
        if self._is_pressed:
            limit = min([limit or self.position, *self._begins_after(self.offset)])
        if (first := state.first) is not None:
            end = self.position if limit is None else limit
            limit = self._intent.log_end(first, end)
        for each in state.buffer:
            if limit is not None:
                each = each.between(0, limit)
            room = rule.records_max - records
            if not len(each.offset) or not room or (slices and size_bytes >= rule.bytes_max):
                break
            if len(each.offset) > room:
                each = each.between(0, int(each.offset[room]))
            slices.append(each)
            size_bytes += each.size_bytes
            records += len(each.offset)
        if not slices:
            return Draft(table, self.position, self.position, ())
        return Draft(table, int(slices[0].offset[0]), next_after(slices[-1]), tuple(slices))

    def can_seal(self, draft: Draft[S]) -> bool:
        """Returns True if the intent has room for one more block.

        Room for one block is kept for the table that holds back the offset.
        """
        if not draft.records:
            return False
        block = TableRange(draft.begin, draft.end, draft.records, "0" * 8, 1 << 43, _LATEST)
        named = {**self._named(), draft.table: block}
        if draft.begin > self.offset:
            named[TABLE_NAME_RESERVE] = _LARGEST
        return fits(named)

    def seal(
        self, draft: Draft[S], schema: str, now_ms: int, moment: KeeperMoment | None = None
    ) -> TableRange:
        """Names a block in the next intent; the block may be sent once that is committed.

        Returns the block's range.
        """
        table = self._tables[draft.table]
        block = TableRange(draft.begin, draft.end, draft.records, schema, now_ms, moment)
        table.block, table.block_bytes = block, draft.size_bytes
        self._in_flight.add(draft.table)
        self._count += draft.records
        kept = [each.between(draft.end, next_after(each)) for each in table.buffer]
        since = table.since
        table.buffer, table.size_bytes, table.records = [], 0, 0
        for each in kept:
            if len(each.offset):
                table.append(each, since)
        if (first := table.first) is not None:
            heappush(self._waiting, (first, draft.table))
        return block

    def loaded(self, table: str) -> None:
        """Notes that the block of a table is stored for good."""
        state = self._tables[table]
        assert state.block is not None, f"{table}: no block is in flight"
        state.loaded_to, state.block, state.block_bytes = state.block.end, None, 0
        self.loads += 1
        self._in_flight.discard(table)
        self._marked.add(table)

    def skipped(self, table: str) -> None:
        """Notes that an operator dropped the block of a table: a loss that the verifier is told."""
        self.loaded(table)
        self._losses += 1

    # -- tables that stand still

    @property
    def dropped(self) -> Mapping[str, int]:
        """First offset of the records of each table that were dropped, also of its block. They are
        read again by a progress that begins anew from the next intent."""
        return self._dropped

    def first_of(self, table: str) -> Iterator[int]:
        """Yields the offsets from which records of a table are to be read again, once they are in
        memory no more."""
        if table in self._dropped:
            yield self._dropped[table]
        if (block := self._tables[table].block) is not None:
            yield block.begin

    def leave(self, table: str, offset: int | None = None) -> None:
        """Drops all records of a table, with those of its block: the intent goes on naming that.

        Args:
            offset: first record to read again; None: the first one that is in memory.
        """
        state = self._tables.setdefault(table, _Table(self._intent.offset))
        begins = [*self.first_of(table), state.first, offset]
        self._dropped[table] = min(
            (each for each in begins if each is not None), default=self.position
        )
        state.buffer, state.size_bytes, state.records = [], 0, 0
        state.replayed, state.block_bytes = None, 0

    def drop(self, table: str) -> None:
        """Drops the buffered records of a table, and those that are read from now on: others need
        the room. The offset stays before them."""
        state = self._tables[table]
        if state.first is not None:
            # None is in the buffer of a table that was dropped before.
            self._dropped[table] = state.first
            state.buffer, state.size_bytes, state.records = [], 0, 0

    # -- forced flush

    @property
    def is_flushing(self) -> bool:
        return self._flush_to is not None

    def begin_flush(self) -> bool:
        """Begins a forced flush: all that was read so far is sealed.

        Returns False while a replay is not caught up: then nothing happens.
        """
        if self._flush_to is None and self.mode is Mode.CONSUME:
            self._flush_to = self.position
        return self._flush_to is not None

    @property
    def is_flushed(self) -> bool:
        """True when everything below the end of the forced flush is loaded."""
        return self._flush_to is not None and self.offset >= self._flush_to

    def committed(self, intent: Intent) -> None:
        """Notes that an intent is committed: behind that of a forced flush counting begins anew."""
        if intent.up_to is None:
            return
        assert self._flush_to is not None
        self._reference, self._count = self._flush_to, 0
        self._holes.restart(self._flush_to)
        self._flush_to = None

    def give_up_flush(self) -> None:
        """Ends a forced flush without its intent: counting goes on."""
        self._flush_to = None

    # -- intents

    def intent(
        self, custody: Custody, producer_id: int, epoch: int, transactional_id: str
    ) -> Intent:
        """Returns the intent of now; that of a forced flush once all of it is loaded."""
        is_flush = self.is_flushed
        offset = self._flush_to if is_flush and self._flush_to is not None else self.offset
        before = self._intent
        return Intent(
            custody=custody,
            offset=offset,
            tables={} if is_flush else self._named(),
            reference=self._reference,
            count=self._count,
            holes=self._holes.up_to(offset),
            up_to=offset if is_flush else None,
            producer_id=producer_id,
            epoch=epoch,
            transactional_id=transactional_id,
            topic_id=before.topic_id,
            incarnation=before.incarnation,
            log_begin=before.log_begin,
            former=before.former,
            older=before.older_behind(offset),
            leader_epoch=self.leader_epoch,
            losses=self._losses,
            dead_letters=self.dead_letters,
            letters_at=self.letters_at,
        )

    @property
    def _is_pressed(self) -> bool:
        """True if the intent has no room for a block beside the one that holds back the offset."""
        named = self._named()
        return not fits({**named, TABLE_NAME_RESERVE: _LARGEST, TABLE_NAME_RESERVE[::-1]: _LARGEST})

    def _begins_after(self, offset: int) -> Iterator[int]:
        """Yields the first offsets of other tables that are not loaded."""
        yield from (block.begin for block in self.in_flight.values() if block.begin > offset)
        firsts = (table.first for table in self._tables.values() if table.block is None)
        yield from (first for first in firsts if first is not None and first > offset)

    def _named(self) -> dict[str, TableRange]:
        """Returns the tables that an intent names: blocks, and markers above its offset."""
        offset = self.offset
        self._marked = {name for name in self._marked if self._tables[name].loaded_to > offset}
        markers = {name: self._tables[name].loaded_to for name in self._marked}
        return {name: TableRange(at, at) for name, at in markers.items()} | self.in_flight
