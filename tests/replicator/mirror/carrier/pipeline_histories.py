"""Random histories of a pipeline: its entry and what landed always give the source position."""

from __future__ import annotations

from collections import deque

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from replicator.mirror.carrier.partition_pipeline import PartitionPipeline, Statement
from replicator.mirror.carrier.sequenced_batch import SequencedBatch
from replicator.mirror.ledger.entry import SEQUENCE_MASK, decode, encode
from tests.replicator.mirror.carrier.outgoing_batches import PLACE, WINDOW, outgoing
from tests.replicator.mirror.ledger.held import held


class Carried(RuleBasedStateMachine):
    """Random histories of one pipeline.

    The source has gaps. The broker accepts sequences in order. Answers come late or never. The
    ledger keeps the last statement committed.
    """

    @initialize(begin=st.sampled_from([0, SEQUENCE_MASK - 20]), source=st.integers(0, 100))
    def begin(self, begin: int, source: int) -> None:
        entry = held(sequence=begin, source_offset=source, target_offset=1000, source_epoch=0)
        self.pipeline = PartitionPipeline(PLACE, entry)
        self.ledger = entry
        self.source_end = source  # source offset of the next record
        self.records: list[int] = []  # source offsets of all records, in order
        self.first = source
        self.landed: list[int] = []  # source offsets of the records in the target
        self.base_of: dict[int, int] = {}  # target offset of each batch, by its first source offset
        self.unanswered: deque[SequencedBatch] = deque()
        self.undelivered: deque[SequencedBatch] = deque()
        self.target_end = 1000
        self.statement: Statement | None = None
        self.every_answer_arrived = True
        self.source_epoch = 0
        self.epoch_of: dict[int, int] = {}  # leader epoch of each record, by its source offset

    # -- the reader

    @rule()
    def elect_a_source_leader(self) -> None:
        self.source_epoch += 1

    @precondition(lambda self: not self.pipeline.is_settling)
    @rule(
        spans=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), max_size=4),
        tail=st.integers(0, 3),
    )
    def fetch(self, spans: list[tuple[int, int]], tail: int) -> None:
        """Fetches gaps and records in turn, and `tail` offsets without records behind them."""
        parts = []
        for skipped, count in spans:
            begin = self.source_end + skipped
            parts.append((begin, count))
            self.records += range(begin, begin + count)
            self.epoch_of |= dict.fromkeys(range(begin, begin + count), self.source_epoch)
            self.source_end = begin + count
        self.source_end += tail
        batches = [outgoing(*parts)] if parts and len(parts) % 2 else [outgoing(p) for p in parts]
        self.pipeline.add(batches, self.source_end, self.source_epoch)

    # -- the sender and the broker

    @rule()
    def send(self) -> None:
        if self.pipeline.is_ready(WINDOW):
            self.undelivered.append(self.pipeline.take())

    @rule()
    def deliver(self) -> None:
        if self.undelivered:
            batch = self.undelivered.popleft()
            offsets = [o + i for o, count in batch.outgoing.spans for i in range(count)]
            if offsets[0] not in self.base_of:
                assert self.landed == self.records[: len(self.landed)]
                assert offsets == self.records[len(self.landed) :][: len(offsets)]
                self.base_of[offsets[0]] = self.target_end
                self.landed += offsets
                self.target_end += len(offsets)
            self.unanswered.append(batch)

    @rule(knows_where=st.booleans())
    def answer(self, knows_where: bool) -> None:
        if self.unanswered:
            batch = self.unanswered.popleft()
            base = self.base_of[batch.outgoing.first_offset]
            self.pipeline.acknowledge(batch, base if knows_where else -1)

    @rule()
    def lose_the_connection(self) -> None:
        """Loses all requests and answers under way; every batch is sent again."""
        self.undelivered.clear()
        self.unanswered.clear()
        self.pipeline.rewind()

    @rule(at=st.integers(1, 4), joins=st.booleans())
    def repack(self, at: int, joins: bool) -> None:
        """A batch at the front was refused: it is split, or joined with the one behind it."""
        queued = self.pipeline.queue.queued()
        if not queued or any(batch.outgoing.first_offset in self.base_of for batch in queued):
            return
        replaced = 2 if joins and len(queued) > 1 else 1
        old = [batch.outgoing for batch in queued[:replaced]]
        offsets = [o + i for one in old for o, count in one.spans for i in range(count)]
        parts = [offsets] if replaced == 2 else [offsets[:at], offsets[at:]]
        self.pipeline.repack(
            replaced, [outgoing(*((o, 1) for o in part)) for part in parts if part]
        )
        assert self.pipeline.queue.queued()[0].sequence == queued[0].sequence

    @rule(count=st.integers(1, 5))
    def others_append(self, count: int) -> None:
        self.target_end += count

    @rule()
    def move_up(self) -> None:
        self.pipeline.moved_up(self.target_end)

    # -- the ledger

    @rule()
    def state(self) -> None:
        if self.statement is None:
            self.statement = self.pipeline.statement()

    @rule(arrives=st.booleans())
    def commit(self, arrives: bool) -> None:
        """Commits an earlier statement; its answer may be lost."""
        if self.statement is not None:
            before = self.ledger.source_offset
            offset, metadata = encode(self.statement.entry)
            self.ledger = decode(offset, metadata)
            assert self.ledger.source_offset >= before or not self.every_answer_arrived
            if arrives:
                self.pipeline.committed(self.statement)
            self.every_answer_arrived &= arrives
            self.statement = None

    @rule()
    def settle(self) -> None:
        self.pipeline.settle()

    @rule()
    def release(self) -> None:
        """Releases an empty pipeline; the entry alone then gives the position."""
        if self.pipeline.is_settling and self.pipeline.is_empty and self.statement is None:
            released = self.pipeline.released("sluice.west.east.0.free")
            turned_back = released.source_offset < self.ledger.source_offset
            assert not (turned_back and self.every_answer_arrived)
            assert [o for o in self.records if o < released.source_offset] == self.landed
            assert released.target_offset <= self.target_end

    # -- findings of a takeover

    @invariant()
    def the_source_position_is_determined(self) -> None:
        if not hasattr(self, "pipeline"):
            return
        before = [o for o in self.landed if o < self.ledger.source_offset]
        after = self.landed[len(before) :]
        last = (self.pipeline.began.sequence + len(self.landed) - 1) & SEQUENCE_MASK
        landed = self.ledger.landed_up_to(last)
        assert landed == len(after)
        position = self.ledger.after(landed)
        assert [o for o in self.records if o < position] == self.landed
        spans = self.ledger.spans(0, landed)
        assert [s.source_offset + i for s in spans for i in range(s.count)] == after

    @invariant()
    def the_entry_names_the_newest_leader_epoch_of_all_that_landed(self) -> None:
        if not hasattr(self, "pipeline"):
            return
        newest = max((self.epoch_of[offset] for offset in self.landed), default=0)
        assert newest <= self.ledger.source_epoch

    @invariant()
    def what_follows_stands_behind_the_target_offset(self) -> None:
        if not hasattr(self, "pipeline"):
            return
        after = [o for o in self.landed if o >= self.ledger.source_offset]
        bases = [base for first, base in self.base_of.items() if first in after]
        assert all(base >= self.ledger.target_offset for base in bases)


Carried.TestCase.settings = settings(
    max_examples=3 * settings.default.max_examples, stateful_step_count=40, deadline=None
)
