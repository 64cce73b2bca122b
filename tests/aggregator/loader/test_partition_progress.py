"""Progress of a partition: whatever crashes and whatever interleaving of tables, each record is
loaded once, and the verdicts find nothing."""

from __future__ import annotations

import random
import string
from collections import defaultdict
from dataclasses import dataclass, field, replace
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.intents.intent import OlderLog, fits
from aggregator.intents.reading import Mode
from aggregator.loader.accepted_intents import LogToday, accepted
from aggregator.loader.partition_progress import PartitionProgress
from replicator.kafka.client.custody import Custody
from replicator.kafka.client.loss import LogView, Loss, LossKind, source_loss
from tests.aggregator.loader.partition_life import RULE, Life, Log, finish, virgin


def steps():
    return st.lists(
        st.one_of(
            st.tuples(st.just("read"), st.integers(1, 9)),
            st.tuples(st.just("seal"), st.booleans()),
            st.tuples(st.just("load"), st.integers(0, 3)),
            st.tuples(st.just("store and die"), st.integers(0, 3)),
            st.tuples(st.just("die"), st.just(0)),
            st.tuples(st.just("flush"), st.just(0)),
            st.tuples(st.just("give up flush"), st.just(0)),
            st.tuples(st.just("commit"), st.just(0)),
            st.tuples(st.just("compact"), st.integers(0, 59)),
            st.tuples(st.just("drop"), st.integers(0, 3)),
            st.tuples(st.sampled_from(["leave", "send and leave"]), st.integers(0, 3)),
            st.tuples(st.just("reread"), st.integers(0, 3)),
        ),
        max_size=40,
    )


logs = st.lists(st.sampled_from(["a", "b", "c", "d", None]), min_size=1, max_size=60)


def live(life, what, amount):
    """Has a partition read, sealed or loaded, or its loader killed; other steps take time alone."""
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


@given(logs, steps())
@settings(max_examples=2 * settings.default.max_examples)
def test_every_record_is_stored_once_whatever_dies_and_the_verdicts_find_nothing(tables, history):
    life = Life(Log([*tables]))
    life.begin()
    for what, amount in history:
        live(life, what, amount)
        if what == "flush":
            life.progress.begin_flush()
        elif what == "give up flush" and not life.progress.is_flushed:
            life.progress.give_up_flush()
        elif what == "commit":
            life.commit()
        elif what == "compact" and amount < len(tables):
            life.log.tables[amount] = None
            life.is_compacted = True
        elif what == "drop":
            life.drop(amount)
        elif what.endswith("leave"):
            life.leave(amount, is_sent=what != "leave")
        elif what == "reread":
            life.reread(amount)
    finish(life)
    sent = {(name, at) for at, name in enumerate(tables) if name is not None}
    left = {(name, at) for at, name in enumerate(life.log.tables) if name is not None}
    assert left <= set(life.stored) <= sent
    assert set(life.stored.values()) <= {1}
    last = life.committed[-1]
    assert last.up_to == len(tables) == last.offset
    assert not last.tables


def test_a_block_that_is_skipped_counts_as_an_accepted_loss_and_one_that_is_loaded_does_not():
    life = Life(Log(["a", "b", "a"]))
    life.begin()
    life.log.read(life.progress, 3, life.now)
    life.now += RULE.age_seconds
    life.seal()
    life.commit()
    life.begin()
    life.log.read(life.progress, 3, life.now)
    assert {draft.table for draft in life.progress.replays()} == {"a", "b"}
    life.progress.loaded("b")
    life.commit()
    assert life.committed[-1].losses == 0
    life.progress.skipped("a")
    life.commit()
    assert (life.committed[-1].losses, life.committed[-1].blocks) == (1, {})
    life.begin()
    assert life.progress.intent(Custody.HELD, 7, 3, "loader").losses == 1


def test_dead_letters_are_counted_from_loader_to_loader():
    life = Life(Log(["a"]))
    for count in (2, 3):
        life.begin()
        life.progress.dead_letters += count
        life.commit()
    assert life.committed[-1].dead_letters == 5


def test_a_thousand_tables_are_loaded_without_an_intent_that_is_too_long():
    tables = [f"table_with_a_long_name_{number % 1000:04}" for number in range(2000)]
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


@pytest.mark.parametrize(("length", "others"), [(255, 255), (255, 20), (120, 20), (120, 60)])
def test_the_table_that_holds_back_the_offset_has_room_whatever_it_is_called(length, others):
    """Markers of 105 tables left no room for the block of one with a name of 120 characters."""
    dice = random.Random(length + others)

    def name(size):
        return "".join(dice.choices(string.ascii_letters + string.digits, k=size))

    holding, *behind = name(length), *(name(others) for _ in range(300))
    life = Life(Log([holding, *behind]))
    life.begin()
    progress = life.progress
    life.log.read(progress, 301, life.now)
    while progress.can_seal(draft := progress.draft(behind[-1], RULE)):
        progress.seal(draft, f"{dice.getrandbits(32):08x}", dice.randrange(1 << 43))
        progress.loaded(behind.pop())
    assert 5 < 300 - len(behind) < 300 and progress.offset == 0
    assert progress.can_seal(progress.draft(holding, RULE))


def test_records_read_again_are_those_to_be_repeated_and_those_that_are_loaded():
    life = Life(Log(["a", "b", "a", "b", None, "a", "c"]))
    life.begin()
    assert life.log.read(life.progress, 4, 0.0) == (0, 0)
    life.now = 10.0
    life.seal()
    life.commit()
    life.load(1)
    life.commit()  # names the marker of one table, and the block of the other
    life.begin()
    assert life.log.read(life.progress, 2, 0.0) == (1, 0)
    assert life.log.read(life.progress, 7, 0.0) == (1, 1)


def test_the_largest_buffers_are_sealed_before_many_tables_fill_the_partition():
    life = Life(Log(["a", "a", "b", "b", "b", "c"]))
    life.begin()
    life.log.read(life.progress, 6, life.now)
    assert life.progress.due(RULE, life.now) == []
    life.log.tables += ["a"]
    life.log.read(life.progress, 7, life.now)
    # 70 bytes, of which b has no more than a, and comes behind it.
    assert life.progress.due(RULE, life.now) == ["a"]


def test_a_table_whose_block_is_in_flight_takes_no_other_tables_room():
    life = Life(Log(["a"] * 4 + ["a"] * 3 + ["b"] * 3 + ["c"]))
    life.begin()
    life.log.read(life.progress, 4, life.now)
    life.seal()
    life.commit()
    life.log.read(life.progress, 10, life.now)
    assert life.progress.buffered_bytes == 60
    life.log.read(life.progress, 11, life.now)
    assert life.progress.due(RULE, life.now) == []


def test_others_go_on_beside_a_dropped_table_and_its_records_are_read_again():
    tables = ["a", "b"] * 300
    life = Life(Log(tables))
    life.begin()
    life.log.read(life.progress, 8, life.now)
    life.now += 10
    life.seal()
    life.commit()
    [stalled, other] = life.pending
    life.load_all([other])
    while life.progress.position < len(tables):
        life.log.read(life.progress, life.progress.position + 8, life.now)
        life.now += 10
        life.progress.drop("a")
        life.load_all(life.sealed())
        assert life.progress.buffered_bytes == 0
    assert life.progress.dropped == {"a": 8}
    assert life.progress.offset == stalled.begin == 0
    life.load_all([stalled])
    assert life.progress.offset == 8
    life.reread()
    assert (life.progress.position, life.progress.dropped) == (8, {})
    finish(life)
    assert set(life.stored) == {(name, at) for at, name in enumerate(tables)}
    assert set(life.stored.values()) == {1}


def test_a_table_that_is_left_holds_no_memory_and_its_block_is_formed_again_as_it_was():
    life = Life(Log(["a", "b"] * 300))
    life.begin()
    life.log.read(life.progress, 8, life.now)
    life.now += 10
    [stalled, other] = life.sealed()
    life.load_all([other])
    life.log.read(life.progress, 12, life.now)
    assert life.progress.block_bytes("a") == 40
    life.progress.leave("a")
    assert (life.progress.block_bytes("a"), life.progress.buffer_of("a")) == (0, (0, 0))
    assert (life.progress.dropped, life.progress.in_flight) == (
        {"a": 0},
        {"a": stalled_range(life)},
    )
    life.pending.clear()
    life.reread(left=1)
    life.log.read(life.progress, 100, life.now)
    assert not life.progress.replaying and not life.progress.replays()
    assert life.progress.block_bytes("a") == life.progress.buffer_of("a")[0] == 0
    assert (life.progress.offset, life.progress.dropped) == (0, {"a": 0})
    life.reread()
    life.log.read(life.progress, 6, life.now)
    assert (life.progress.replaying, life.progress.block_bytes("a")) == (["a"], 30)
    is_behind = not life.progress.has_caught_up
    life.log.read(life.progress, 8, life.now)
    assert is_behind and life.progress.has_caught_up
    [again] = life.progress.replays()
    assert (again.begin, again.end, again.records) == (stalled.begin, stalled.end, 4)


def test_a_table_that_no_intent_names_is_left_from_the_offset_on_that_is_told():
    life = Life(Log(["a", "b", "a", "b"]))
    life.begin()
    life.progress.leave("b", 1)
    life.log.read(life.progress, 4, life.now)
    life.now += 10
    life.load_all(life.sealed())
    assert (life.progress.offset, life.progress.dropped) == (1, {"b": 1})
    assert life.progress.buffered_bytes == 0


def stalled_range(life):
    """Returns the range of the table "a" that the last intent names."""
    return life.committed[-1].tables["a"]


def test_nothing_is_dropped_of_a_table_without_a_buffer():
    life = Life(Log(["a", "a"]))
    life.begin()
    life.log.read(life.progress, 1, life.now)
    life.now += 10
    life.load_all(life.sealed())
    life.progress.drop("a")
    assert life.progress.dropped == {}
    life.log.read(life.progress, 2, life.now)
    assert life.progress.buffered_bytes == 10


def test_each_intent_keeps_the_name_of_its_log():
    older = (OlderLog(1, 0), OlderLog(2, 1))
    before = replace(virgin(), incarnation=5, log_begin=3, former=2, older=older)
    progress = PartitionProgress(before)
    found = progress.intent(Custody.HELD, 7, 1, "loader")
    assert (found.incarnation, found.log_begin, found.former, found.older) == (5, 3, 2, older)
    again = PartitionProgress(replace(before, offset=1, reference=1))
    assert again.intent(Custody.HELD, 7, 1, "loader").older == older[1:]


def test_no_block_reaches_over_the_begin_of_another_log():
    progress = PartitionProgress(replace(virgin(), incarnation=5, log_begin=3))
    Log(["a"] * 6).read(progress, 6, 0.0)
    for begin, end in ((0, 3), (3, 6)):
        draft = progress.draft("a", RULE)
        assert (draft.begin, draft.end) == (begin, end)
        progress.seal(draft, "abcd1234", 1)
        progress.loaded("a")


@dataclass
class CutLife(Life):
    """Life of a log that is cut, and written anew behind the cut."""

    cut: int | None = None
    contents: dict = field(default_factory=lambda: defaultdict(list))

    def store(self, draft):
        name = self.committed[-1].incarnation_at(draft.begin)
        for each in draft.slices:
            for offset in each.offset.tolist():
                row = (draft.table, offset, name)
                if not self.stored[row]:
                    is_anew = self.cut is not None and offset >= self.cut
                    self.contents[draft.table, offset].append(is_anew)
                self.stored[row] = 1


ROUND = st.tuples(
    st.tuples(st.just("read"), st.integers(4, 15)),
    st.tuples(st.just("seal"), st.just(True)),
    st.tuples(st.sampled_from(["load", "store and die", "die"]), st.integers(0, 3)),
)
ROUNDS = st.lists(ROUND, min_size=1, max_size=6).map(lambda some: sum(some, ()))
LOGS = st.lists(st.sampled_from(["a", "b", "b", None]), min_size=10, max_size=60)


@given(LOGS, ROUNDS, st.integers(0, 30), LOGS, ROUNDS)
@settings(max_examples=3 * settings.default.max_examples)
def test_of_a_log_that_was_cut_every_record_is_stored_once_whatever_was_stored_of_the_former(
    tables, before, cut, anew, after
):
    life = CutLife(Log([*tables]))
    life.begin()
    for step in before:
        live(life, *step)
    cut = min(cut, len(tables))
    life.log.tables[cut:] = anew
    life.cut, life.is_compacted = cut, True
    intent, end = life.committed[-1], len(life.log.tables)
    log = LogView(start=0, end=end, epoch_end=cut)
    if loss := source_loss(intent.offset, log, intent.sealed_end):
        today = LogToday(UUID(int=1), 0, end)
        life.committed.append(accepted(intent.park(loss), today, "free", opened_at_ms=9))
    life.begin()
    for step in after:
        live(life, *step)
    finish(life)
    for at, name in enumerate(life.log.tables):
        if name is not None:
            assert life.contents[name, at].count(at >= cut) == 1
