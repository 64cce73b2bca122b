"""Records of a fenced writer are counted exactly, or the partition stops."""

import asyncio
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.kafka.client.cluster import ProducerState
from replicator.kafka.client.loss import Loss, LossKind
from replicator.mirror.ledger.landed import Memory, landed
from replicator.mirror.ledger.tail import Reading, Tail, read_tail
from tests.replicator.mirror.ledger.ends import batch, marker
from tests.replicator.mirror.ledger.held import PARTITION, held

FIRST = 1000
ENTRY = held(sequence=0, source_offset=100, target_offset=FIRST)
WRITER, OTHER = (ENTRY.producer_id, ENTRY.epoch), (99, 0)
FENCE = (ENTRY.producer_id, ENTRY.epoch + 1)
FORMER, LATTER = 5, 6
"""Leader epochs: of the broker that was asked, and of its successor."""


def a_tail(landed: int = 0, *, thinned: bool = False, leader_epoch: int = FORMER) -> Tail:
    return Tail(landed, 1600, None, (), ends_thinned=thinned, leader_epoch=leader_epoch)


def remembers(last_sequence: int, epoch: int = ENTRY.epoch, leader_epoch: int = FORMER) -> Memory:
    return Memory(leader_epoch, ProducerState(epoch, last_sequence))


def test_a_whole_log_is_sufficient():
    assert landed(ENTRY, a_tail(500), FIRST, remembers(999), is_whole=True) == 500
    assert landed(ENTRY, a_tail(), FIRST, remembers(999), is_whole=True) == 0


def test_a_log_without_its_begin_is_sufficient_once_the_producer_is_found_in_it():
    assert landed(ENTRY, a_tail(500), 1200, remembers(999), is_whole=False) == 500


def test_records_that_landed_after_the_leader_was_asked_count():
    assert landed(ENTRY, a_tail(600, thinned=True), FIRST, remembers(499), is_whole=True) == 600


HOLES = [(a_tail(thinned=True), FIRST, True), (a_tail(), 1500, False)]


@pytest.mark.parametrize(("tail", "start", "is_whole"), HOLES, ids=["compacted", "deleted"])
def test_the_memory_of_the_leader_that_wrote_the_marker_fills_a_hole(tail, start, is_whole):
    assert landed(ENTRY, tail, start, remembers(499), is_whole=is_whole) == 500


@pytest.mark.parametrize(("tail", "start", "is_whole"), HOLES, ids=["compacted", "deleted"])
@pytest.mark.parametrize(
    "memory",
    [
        remembers(499, leader_epoch=FORMER - 1),
        remembers(5, ENTRY.epoch - 1, leader_epoch=FORMER - 1),
        remembers(499, leader_epoch=-1),
        remembers(-1, ENTRY.epoch + 1),
        Memory(FORMER, None),
    ],
    ids=["former leader", "former leader, never seen", "no leader", "reset", "forgotten"],
)
def test_a_hole_that_no_memory_fills_is_a_loss(tail, start, is_whole, memory):
    loss = landed(ENTRY, tail, start, memory, is_whole=is_whole)
    assert isinstance(loss, Loss)
    assert loss.kind is LossKind.TARGET_TAIL_DELETED


def test_a_producer_that_its_leader_never_saw_landed_nothing_in_a_hole():
    memory = remembers(5, ENTRY.epoch - 1)
    assert landed(ENTRY, a_tail(thinned=True), FIRST, memory, is_whole=True) == 0


# -- any history of a log


@dataclass(frozen=True)
class History:
    """A target log after the entry: batches of (ours or not, records).

    Args:
        before: appended by the former leader.
        asked: number of these batches that were there when the leader was asked.
        kept: number of these batches that its successor has; None: no election is held.
        after: appended by the successor.
        forgets: the leader that is asked has forgotten the writer.
        cut: number of batches that the log has lost at its start.
        cleaned: batches that compaction removed.
    """

    before: list[tuple[bool, int]]
    asked: int
    kept: int | None
    after: list[tuple[bool, int]]
    forgets: bool
    cut: int
    cleaned: frozenset[int]

    @property
    def log(self) -> list[tuple[bool, int]]:
        return self.before if self.kept is None else self.before[: self.kept] + self.after

    @property
    def truth(self) -> int:
        return own_records(self.log)

    @property
    def memory(self) -> Memory:
        known = own_records(self.before[: self.asked])
        if self.forgets:
            return Memory(FORMER, None)
        if not known:
            return Memory(FORMER, ProducerState(ENTRY.epoch - 1, 7))
        return Memory(FORMER, ProducerState(ENTRY.epoch, known - 1))

    def counted(self) -> int | Loss:
        batches, offset, sequence, start = [], FIRST, 0, FIRST
        for number, (is_own, count) in enumerate(self.log):
            writer = WRITER if is_own else OTHER
            if number >= self.cut and number not in self.cleaned:
                batches.append(batch(offset, writer, sequence if is_own else 0, count))
            sequence += count * is_own
            offset += count
            if number < self.cut:
                start = offset
        epoch = FORMER if self.kept is None else LATTER
        log = Log(b"".join(batches) + marker(offset, FENCE, epoch))
        is_whole = start == FIRST
        tail = asyncio.run(
            read_tail(log, PARTITION, Reading(ENTRY, start, is_whole=is_whole), FENCE)  # type: ignore[arg-type]
        )
        return landed(ENTRY, tail, start, self.memory, is_whole=is_whole)


class Log:
    def __init__(self, data: bytes) -> None:
        self._data = data

    async def read(self, topic, partition, offset, size):
        return self._data


def own_records(batches: list[tuple[bool, int]]) -> int:
    return sum(count for is_own, count in batches if is_own)


batches = st.lists(st.tuples(st.booleans(), st.integers(1, 5)), max_size=6)


@st.composite
def histories(draw):
    before, after = draw(batches), draw(batches)
    kept = draw(st.none() | st.integers(0, len(before)))
    asked = draw(st.integers(0, len(before)))
    # Neither retention nor compaction removes what was appended moments ago.
    numbers = st.integers(0, asked if kept is None else kept + len(after))
    return History(
        before,
        asked,
        kept,
        after,
        draw(st.booleans()),
        draw(numbers),
        draw(st.frozensets(numbers.filter(lambda number: kept is not None or number < asked))),
    )


@given(histories())
def test_the_count_equals_the_committed_records(history):
    count = history.counted()
    assert isinstance(count, Loss) or count == history.truth


@given(histories())
def test_a_log_without_deletions_is_never_a_loss(history):
    whole = History(
        history.before, history.asked, history.kept, history.after, True, 0, frozenset()
    )
    assert whole.counted() == whole.truth


@given(histories())
def test_the_leader_that_wrote_the_marker_remembers_whatever_the_log_lacks(history):
    same = History(
        history.before, len(history.before), None, [], False, history.cut, history.cleaned
    )
    assert same.counted() == same.truth
