"""Progress of a partition: whatever crashes and whatever interleaving of tables, each record is
loaded once, and the verdicts find nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.intents.intent import Intent, decode, encode, fits
from aggregator.intents.verdicts import between, within
from aggregator.loader.accepted_intents import LogToday, accepted
from aggregator.loader.partition_progress import Mode, PartitionProgress, SealRule
from replicator.kafka.client.custody import Custody
from replicator.kafka.client.loss import Loss, LossKind

RULE = SealRule(bytes_max=40, records_max=8, age_seconds=3.0)


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
        progress.add(np.array(offsets, dtype=np.int64), end, parts, now)


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
        if intent.up_to is not None:
            self.progress.end_flush()

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


def steps():
    return st.lists(
        st.one_of(
            st.tuples(st.just("read"), st.integers(1, 9)),
            st.tuples(st.just("seal"), st.booleans()),
            st.tuples(st.just("load"), st.integers(0, 3)),
            st.tuples(st.just("store and die"), st.integers(0, 3)),
            st.tuples(st.just("die"), st.just(0)),
            st.tuples(st.just("flush"), st.just(0)),
            st.tuples(st.just("commit"), st.just(0)),
            st.tuples(st.just("compact"), st.integers(0, 59)),
        ),
        max_size=40,
    )


logs = st.lists(st.sampled_from(["a", "b", "c", "d", None]), min_size=1, max_size=60)


@given(logs, steps())
@settings(max_examples=400)
def test_every_record_is_stored_once_whatever_dies_and_the_verdicts_find_nothing(tables, history):
    life = Life(Log([*tables]))
    life.begin()
    for what, amount in history:
        life.now += 1.0
        if what == "read":
            life.log.read(life.progress, life.progress.position + amount, life.now)
            life.replay()
        elif what == "seal":
            life.seal()
            if life.pending:
                life.commit()
        elif what == "load":
            life.load(amount)
        elif what == "store and die":
            for draft in life.pending[:amount]:
                life.store(draft)
            life.begin()
        elif what == "die":
            life.begin()
        elif what == "flush":
            life.progress.begin_flush()
        elif what == "commit" and not life.progress.is_flushing:
            life.commit()
        elif what == "compact" and amount < len(tables):
            life.log.tables[amount] = None
            life.is_compacted = True
    finish(life)
    sent = {(name, at) for at, name in enumerate(tables) if name is not None}
    left = {(name, at) for at, name in enumerate(life.log.tables) if name is not None}
    assert left <= set(life.stored) <= sent
    assert set(life.stored.values()) <= {1}
    last = life.committed[-1]
    assert last.up_to == len(tables) == last.offset
    assert not last.tables


def finish(life):
    """Reads to the end, and loads everything by a forced flush."""
    end = len(life.log.tables)
    life.load(len(life.pending))
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


def test_a_thousand_tables_are_loaded_without_an_intent_that_is_too_long():
    tables = [f"table_with_a_long_name_{number % 1000:04}" for number in range(5000)]
    life = Life(Log(tables))
    life.begin()
    for _ in range(100):
        life.now += 4.0
        life.log.read(life.progress, life.progress.position + 250, life.now)
        life.seal()
        if life.pending:
            life.commit()
        assert fits(life.committed[-1].tables)
        life.load(len(life.pending))
    for _ in range(400):
        life.now += 4.0
        life.seal()
        if life.pending:
            life.commit()
        life.load(len(life.pending))
    assert set(life.stored) == {(name, at) for at, name in enumerate(tables)}
    assert set(life.stored.values()) == {1}


def test_a_partition_replays_until_it_has_read_past_every_marker():
    life = Life(Log(["a", "b", "a", "b", "a"]))
    life.begin()
    life.log.read(life.progress, 5, life.now)
    life.now += 10
    life.seal()
    life.commit()
    assert life.progress.mode is Mode.REPLAY or life.progress.in_flight
    life.begin()
    found = life.progress.mode, life.progress.begin_flush()
    assert found == (Mode.REPLAY, False)
    life.log.read(life.progress, 5, life.now)
    life.replay()
    found = life.progress.mode, life.progress.begin_flush()
    assert found == (Mode.CONSUME, True)


def test_records_behind_a_replayed_block_wait_for_the_next_one():
    life = Life(Log(["a"] * 20))
    life.begin()
    life.log.read(life.progress, 4, life.now)
    life.now += 10
    life.seal()
    life.commit()
    life.begin()
    life.log.read(life.progress, 20, life.now)
    (draft,) = life.progress.replays()
    assert (draft.begin, draft.end) == (0, 4)
    assert not life.progress.replays()
    assert life.progress.due(RULE, life.now + 10) == []
    life.store(draft)
    life.progress.loaded("a")
    assert life.progress.due(RULE, life.now + 10) == ["a"]
    assert life.progress.draft("a", RULE).begin == 4


@pytest.mark.parametrize("loaded", [True, False])
def test_the_offset_stays_below_what_is_in_flight(loaded):
    life = Life(Log(["a"] * 8 + ["b"] * 8))
    life.begin()
    life.log.read(life.progress, 8, life.now)
    life.seal()
    life.commit()
    life.load(1 if loaded else 0)
    assert life.progress.offset == (8 if loaded else 0)


def test_records_that_compaction_takes_from_a_replayed_block_are_no_surplus():
    life = Life(Log(["a"] * 6 + ["b"]))
    life.begin()
    life.log.read(life.progress, 7, life.now)
    life.now += 10
    life.seal()
    life.commit()
    life.begin()
    life.is_compacted = True
    life.log.tables[2:4] = [None, None]
    finish(life)
    assert life.committed[-1].up_to == 7


@pytest.mark.parametrize("lost_to", [0, 3, 5])
@pytest.mark.parametrize("is_loaded", [True, False])
def test_counting_goes_on_rightly_behind_an_accepted_loss(lost_to, is_loaded):
    life = Life(Log(["b", *["a"] * 6, None, "c", "c"]))
    life.begin()
    life.log.read(life.progress, 7, life.now)
    life.progress.seal(life.progress.draft("a", RULE), "abcd1234", 5)
    life.commit()
    if is_loaded:
        life.progress.loaded("a")
        life.commit()
    kind = LossKind.RETENTION_PASSED if lost_to else LossKind.RECORDS_REFUSED
    last = life.committed[-1].park(Loss(kind, 0, lost_to or 1))
    topic = UUID(int=1)
    life.committed = [accepted(last, LogToday(topic, lost_to, 10), "free")]
    life.is_compacted = True
    life.begin()
    finish(life)
    assert life.committed[-1].up_to == 10


def test_a_table_that_was_due_before_the_intent_became_full_has_no_draft_yet():
    tables = [f"table_with_a_very_long_name_{number * 7919 % 9973:04}" for number in range(400)]
    life = Life(Log([*tables, tables[-1]]))
    life.begin()
    last = tables[-1]
    life.log.read(life.progress, 400, life.now)
    life.now += 4.0
    assert last in life.progress.due(RULE, life.now)
    life.seal()
    assert life.progress.due(RULE, life.now) == []
    draft = life.progress.draft(last, RULE)
    assert draft.records == 0
    assert not life.progress.can_seal(draft)
