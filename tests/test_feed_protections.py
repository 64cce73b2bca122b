"""Protections of exactly-once loading, each of them taken out: the verifier speaks, or the
comparison of rows does. With all of them in place both are silent.

Histories are simulated: loaders that die, hang and follow each other over one partition. Live tests
with real servers are in tests/live/test_feed_protections.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import numpy as np
import pytest

from aggregator.intents.holes import Holes
from aggregator.loader.draft import Draft
from aggregator.loader.partition_progress import PartitionProgress
from aggregator.store.recognition import Identities
from aggregator.verifier.row_digest import difference
from tests.aggregator.loader.partition_life import Life, Log, Part, finish
from tests.aggregator.verifier.judged import judged

HISTORIES = 60
STEPS = 60
OFFSETS = 80
STEP_NAMES = ("read", "seal", "load", "store and die", "die", "hang", "wake", "flush", "commit")
WEIGHTS = (6, 6, 4, 2, 1, 1, 2, 1, 2)
SURELY = ["read", "seal", "hang", "read", "seal", "wake"]
"""End of each history: a loader hangs with a block that its intent names."""


@dataclass
class Loading(Life):
    """Loaders of a partition that send replayed blocks only after a look at the table."""

    hung: list[Any] = field(default_factory=list)
    rows: Counter = field(default_factory=Counter)

    def append(self, intent):
        self.committed.append(intent)

    def store(self, draft):
        is_doubtful = draft.replayed is not None and self.looks_before_it_repeats()
        for offset in offsets_of(draft):
            row = (draft.table, offset)
            if not is_dead(offset) and not (is_doubtful and self.stored[row]):
                self.stored[row] += 1

    def replay(self):
        for draft in self.progress.replays():
            self.repeat(draft)
            self.progress.loaded(draft.table)

    def repeat(self, draft):
        self.store(draft)

    def seal_and_commit(self):
        self.seal()
        if self.pending:
            self.commit()

    def hang(self):
        """The holder hangs, and another one takes over."""
        self.hung.append((self.progress, self.pending, self.epoch))
        self.begin()

    def wake(self):
        """A holder that hung goes on: its transactional id is fenced."""
        if not self.hung or self.is_fenced():
            return
        holder = self.progress, self.pending, self.epoch
        self.progress, self.pending, self.epoch = self.hung.pop()
        self.log.read(self.progress, self.progress.position + 5, self.now)
        self.now += 5.0
        self.seal_and_commit()
        self.load(len(self.pending))
        self.progress, self.pending, self.epoch = holder

    def is_fenced(self):
        return True

    def looks_before_it_repeats(self):
        return True


def is_dead(offset):
    """Returns True for records that cannot be loaded; they are counted, and become no rows."""
    return offset % 7 == 3


def offsets_of(draft: Draft[Part]) -> list[int]:
    return [offset for each in draft.slices for offset in each.offset.tolist()]


def lived(seed: int) -> Loading:
    """Returns a history; the same seed gives the same chances."""
    chance = Random(seed)
    tables = [chance.choice(("a", "b", "c", None)) for _ in range(OFFSETS)]
    life = Loading(Log(tables))
    life.begin()
    steps = chance.choices(STEP_NAMES, WEIGHTS, k=STEPS)
    for what in [*steps, *SURELY]:
        live(life, what, chance.randrange(1, 9))
    with suppress(AssertionError):  # without a protection the forced flush may never end
        finish(life)
    return life


def live(life: Loading, what: str, amount: int) -> None:
    life.now += 1.0
    if what == "read":
        life.log.read(life.progress, life.progress.position + amount, life.now)
        life.replay()
    elif what == "seal":
        life.seal_and_commit()
    elif what == "load":
        life.load(amount)
    elif what == "store and die":
        for draft in life.pending[:amount]:
            life.store(draft)
        life.begin()
    elif what == "die":
        life.begin()
    elif what == "hang":
        life.hang()
    elif what == "wake":
        life.wake()
    elif what == "flush":
        life.progress.begin_flush()
    elif what == "commit":
        life.commit()


def spoken(life: Loading) -> set[str]:
    """Returns who finds something: "intents" for the verifier, "rows" for the comparison."""
    found = {"intents" for _ in judged(life.committed)}
    for table in "abc":
        sent = [at for at, name in enumerate(life.log.tables) if name == table and not is_dead(at)]
        stored = [at for (name, at), times in life.stored.items() if name == table
                  for _ in range(times)]  # fmt: skip
        differing = difference(identities(sent), identities(stored))
        if len(differing.missing) or len(differing.surplus) or len(differing.doubled):
            found.add("rows")
    return found


def identities(offsets: list[int]) -> Identities:
    array = np.array(offsets, np.int64)
    return Identities(array, np.zeros(len(array), np.int64))


# -- protections taken out

Patch = Callable[..., None]
"""`patch(Class, "name", function)`: the function gets the one it replaces first."""


def a_block_is_sent_before_its_intent_is_committed(patch: Patch) -> None:
    def seal_and_commit(before, life):
        life.seal()
        drafts = [*life.pending]
        life.load(len(drafts))
        if drafts and life.now % 3:  # else the loader dies in between
            life.commit()
        elif drafts:
            life.begin()

    patch(Loading, "seal_and_commit", seal_and_commit)


def a_block_counts_as_loaded_before_it_is_sent(patch: Patch) -> None:
    def seal_and_commit(before, life):
        before(life)
        for draft in life.pending:
            life.progress.loaded(draft.table)
        life.pending = [each for each in life.pending if not life.store(each)] and []
        life.commit()

    def store(before, life, draft):
        if life.now % 4:  # else the loader dies before it sends
            before(life, draft)

    patch(Loading, "seal_and_commit", seal_and_commit)
    patch(Loading, "store", store)


def a_table_is_not_looked_at_before_a_block_is_repeated(patch: Patch) -> None:
    patch(Loading, "looks_before_it_repeats", lambda before, life: False)


def the_blocks_of_an_intent_are_not_repeated(patch: Patch) -> None:
    patch(Loading, "repeat", lambda before, life, draft: None)


def a_block_is_repeated_with_other_bounds(patch: Patch) -> None:
    def repeat(before, life, draft):
        begin = min(draft.end, life.progress.position)
        more = [at for at in range(begin, life.progress.position)
                if life.log.tables[at] == draft.table]  # fmt: skip
        before(life, replace(draft, slices=(*draft.slices, Part(np.array(more, np.int64)))))

    patch(Loading, "repeat", repeat)


def a_holder_that_hung_is_not_fenced(patch: Patch) -> None:
    patch(Loading, "is_fenced", lambda before, life: False)


def an_older_intent_is_taken_over(patch: Patch) -> None:
    def begin(before, life):
        last = life.committed[-1]
        life.committed[-1] = life.committed[max(-3, -len(life.committed))]
        before(life)
        life.committed[-2] = last

    patch(Loading, "begin", begin)


def a_marker_is_below_the_end_of_its_block(patch: Patch) -> None:
    moved_marker(patch, -1)


def a_marker_is_above_the_end_of_its_block(patch: Patch) -> None:
    moved_marker(patch, 1)


def moved_marker(patch: Patch, by: int) -> None:
    def loaded(before, progress, table):
        before(progress, table)
        progress._tables[table].loaded_to += by

    patch(PartitionProgress, "loaded", loaded)


def the_offset_passes_what_is_in_flight(patch: Patch) -> None:
    patch(PartitionProgress, "offset", lambda before, progress: progress.position)


def the_offset_passes_what_is_buffered(patch: Patch) -> None:
    def offset(before, progress):
        begins = [block.begin for block in progress.in_flight.values()]
        return min([progress.position, *begins])

    patch(PartitionProgress, "offset", offset)


def records_are_counted_one_short(patch: Patch) -> None:
    counted_otherwise(patch, lambda draft: -1)


def records_are_counted_twice(patch: Patch) -> None:
    counted_otherwise(patch, lambda draft: draft.records)


def dead_letters_are_not_counted(patch: Patch) -> None:
    counted_otherwise(patch, lambda draft: -sum(map(is_dead, offsets_of(draft))))


def counted_otherwise(patch: Patch, by: Callable[[Draft[Part]], int]) -> None:
    def seal(before, progress, draft, schema, now_ms):
        before(progress, draft, schema, now_ms)
        progress._count += by(draft)

    patch(PartitionProgress, "seal", seal)


def repeated_records_are_counted_again(patch: Patch) -> None:
    def replays(before, progress):
        found = before(progress)
        progress._count += sum(draft.records for draft in found)
        return found

    patch(PartitionProgress, "replays", replays)


def offsets_without_a_record_are_not_counted(patch: Patch) -> None:
    patch(Holes, "up_to", lambda before, holes, offset: 0)


def records_behind_a_full_block_are_dropped(patch: Patch) -> None:
    def seal(before, progress, draft, schema, now_ms):
        state = progress._tables[draft.table]
        state.buffer = [each.between(0, draft.end) for each in state.buffer]
        state.buffer = [each for each in state.buffer if len(each.offset)]
        before(progress, draft, schema, now_ms)

    patch(PartitionProgress, "seal", seal)


def a_forced_flush_waits_for_nothing(patch: Patch) -> None:
    patch(PartitionProgress, "is_flushed", lambda before, progress: progress.is_flushing)


def counting_does_not_begin_anew_after_a_forced_flush(patch: Patch) -> None:
    def committed(before, progress, intent):
        reference, count = progress._reference, progress._count
        before(progress, intent)
        progress._reference, progress._count = reference, count

    patch(PartitionProgress, "committed", committed)


def records_are_skipped_when_a_partition_is_taken_over(patch: Patch) -> None:
    def add(before, life):
        before(life)
        life.progress.position += 1

    patch(Loading, "begin", add)


BOTH = {"intents", "rows"}
TAKEN_OUT: list[tuple[Callable[[Patch], None], set[str]]] = [
    (a_block_is_sent_before_its_intent_is_committed, BOTH),
    (a_block_counts_as_loaded_before_it_is_sent, {"rows"}),
    (a_table_is_not_looked_at_before_a_block_is_repeated, {"rows"}),
    (the_blocks_of_an_intent_are_not_repeated, {"rows"}),
    (a_block_is_repeated_with_other_bounds, {"rows"}),
    (a_holder_that_hung_is_not_fenced, BOTH),
    (an_older_intent_is_taken_over, BOTH),
    (a_marker_is_below_the_end_of_its_block, BOTH),
    (a_marker_is_above_the_end_of_its_block, BOTH),
    (the_offset_passes_what_is_in_flight, BOTH),
    (the_offset_passes_what_is_buffered, BOTH),
    (records_are_counted_one_short, {"intents"}),
    (records_are_counted_twice, {"intents"}),
    (dead_letters_are_not_counted, {"intents"}),
    (repeated_records_are_counted_again, {"intents"}),
    (offsets_without_a_record_are_not_counted, {"intents"}),
    (records_behind_a_full_block_are_dropped, BOTH),
    (a_forced_flush_waits_for_nothing, BOTH),
    (counting_does_not_begin_anew_after_a_forced_flush, {"intents"}),
    (records_are_skipped_when_a_partition_is_taken_over, BOTH),
]


@pytest.fixture
def patch(monkeypatch: pytest.MonkeyPatch) -> Patch:
    def patch(owner: type, name: str, function: Callable[..., Any]) -> None:
        before = getattr(owner, name)
        if isinstance(before, property):
            read = before.fget
            monkeypatch.setattr(owner, name, property(lambda it: function(read, it)))
        else:
            monkeypatch.setattr(owner, name, lambda *args: function(before, *args))

    return patch


def speakers() -> Iterator[set[str]]:
    return (spoken(lived(seed)) for seed in range(HISTORIES))


def test_with_every_protection_nobody_speaks():
    assert not any(speakers())


@pytest.mark.parametrize(
    ("take_out", "expected"),
    TAKEN_OUT,
    ids=[take_out.__name__.replace("_", " ") for take_out, _ in TAKEN_OUT],
)
def test_somebody_speaks_once_a_protection_is_taken_out(patch, take_out, expected):
    take_out(patch)
    heard: set[str] = set()
    for each in speakers():
        heard |= each
        if heard >= expected:
            break
    assert heard == expected
