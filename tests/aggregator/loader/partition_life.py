"""Simulated life of one partition: loaders that follow each other, their intents, and the store
that they fill."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np

from aggregator.intents.intent import Intent, decode, encode
from aggregator.intents.verdicts import between, within
from aggregator.loader.partition_progress import PartitionProgress
from aggregator.loader.seal_rule import SealRule
from replicator.kafka.client.custody import Custody

RULE = SealRule(
    bytes_max=40, records_max=8, age_seconds=3.0, partition_bytes_max=70, loader_bytes_max=1000
)


@dataclass(frozen=True)
class Part:
    """Records of a table; each takes ten bytes."""

    offset: np.ndarray

    @property
    def size_bytes(self):
        return 10 * len(self.offset)

    def between(self, begin, end):
        return Part(self.offset[(self.offset >= begin) & (self.offset < end)])


def virgin(offset=0):
    return Intent(
        custody=Custody.RELEASED, offset=offset, reference=offset, transactional_id="free"
    )


@dataclass
class Log:
    """A log: the table of each offset; None for an offset without a record."""

    tables: list

    def read(self, progress, upto, now):
        begin, end = progress.position, min(upto, len(self.tables))
        offsets = [at for at in range(begin, end) if self.tables[at] is not None]
        by_table = {}
        for at in offsets:
            by_table.setdefault(self.tables[at], []).append(at)
        parts = {name: Part(np.array(found)) for name, found in by_table.items()}
        return progress.add(np.array(offsets, dtype=np.int64), end, parts, now)


@dataclass
class Life:
    """Loaders of one partition, one after the other, and the store that they fill."""

    log: Log
    committed: list = field(default_factory=lambda: [virgin()])
    stored: Counter = field(default_factory=Counter)
    blocks: dict = field(default_factory=dict)
    epoch: int = 0
    now: float = 0.0
    is_compacted: bool = False

    def begin(self):
        """Takes the partition over: the new holder commits the same intent as its own."""
        self.epoch += 1
        held = {
            "custody": Custody.HELD,
            "producer_id": 7,
            "epoch": self.epoch,
            "transactional_id": "loader",
        }
        self.progress = PartitionProgress(self.committed[-1])
        self.append(replace(self.committed[-1], **held))
        self.pending = []

    def append(self, intent):
        offset, metadata = encode(intent)
        assert decode(offset, metadata) == intent
        found = [*between(self.committed[-1], intent)]
        assert not found, (found, self.committed[-1], intent)
        assert within(intent) is None, intent
        self.committed.append(intent)

    def commit(self):
        intent = self.progress.intent(Custody.HELD, 7, self.epoch, "loader")
        self.append(intent)
        self.progress.committed(intent)

    def store(self, draft):
        """Inserts a block; one that is there already is recognised by its rows."""
        for each in draft.slices:
            for offset in each.offset.tolist():
                row = (draft.table, offset)
                self.stored[row] += 1 - min(1, self.stored[row])

    def seal(self):
        for table in self.progress.due(RULE, self.now):
            draft = self.progress.draft(table, RULE)
            if not self.progress.can_seal(draft):
                break
            self.progress.seal(draft, "abcd1234", 1_700_000_000_000)
            self.pending.append(draft)

    def drop(self, number):
        """Drops what is buffered of one table, which stands still."""
        tables = sorted(self.progress.tables)
        if tables:
            self.progress.drop(tables[number % len(tables)])

    def leave(self, number, *, is_sent):
        """Drops all of one table, whose block may have been stored without an answer."""
        tables = sorted(self.progress.tables)
        if tables:
            table = tables[number % len(tables)]
            for draft in [each for each in self.pending if each.table == table]:
                if is_sent:
                    self.store(draft)
                self.pending.remove(draft)
            self.progress.leave(table)

    def reread(self, left=0):
        """Begins anew from the next intent; what was sent and not noted is repeated.

        Args:
            left: number of tables that take no blocks yet.
        """
        before = self.progress
        self.commit()
        self.progress = PartitionProgress(self.committed[-1])
        for table in sorted(before.dropped)[:left]:
            self.progress.leave(table, min(before.first_of(table)))
        self.pending = []

    def sealed(self):
        """Seals what is due, and returns the drafts once an intent names them."""
        before = len(self.pending)
        self.seal()
        self.commit()
        return self.pending[before:]

    def load_all(self, drafts):
        """Sends some of the blocks that intents name."""
        for draft in drafts:
            self.store(draft)
            self.progress.loaded(draft.table)
            self.pending.remove(draft)

    def replay(self):
        for draft in self.progress.replays():
            assert draft.replayed is not None
            assert draft.records == draft.replayed.records or self.is_compacted
            self.store(draft)
            self.progress.loaded(draft.table)

    def load(self, count):
        """Sends the first blocks; those that the last intent does not name are not sent."""
        for draft in self.pending[:count]:
            self.store(draft)
            self.progress.loaded(draft.table)
        self.pending = self.pending[count:]


def finish(life):
    """Reads to the end, and loads everything by a forced flush."""
    end = len(life.log.tables)
    life.load(len(life.pending))
    if life.progress.dropped:
        life.reread()
    life.log.read(life.progress, end, life.now)
    life.replay()
    for _ in range(200):
        if life.progress.is_flushed:
            life.commit()
            if life.committed[-1].up_to == end:
                return
        life.progress.begin_flush()
        life.now += 10
        life.seal()
        if life.pending:
            life.commit()
            life.load(len(life.pending))
    raise AssertionError("the flush does not end")
