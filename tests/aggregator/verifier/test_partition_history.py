"""Histories of partitions, and the epochs in them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.verifier.epoch_history import EpochHistory, Producer
from aggregator.verifier.finding import Kind, Weight
from aggregator.verifier.intent_rules import IntentRules
from aggregator.verifier.partition_history import History, judge, restored, stale
from replicator.kafka.client.custody import Custody
from replicator.kafka.protocol.commit_record import Commit
from replicator.kafka.tail.tail_position import Version
from tests.aggregator.verifier.entries import LOSS, adopted, block, commit, held

# -- History of a partition: whatever can be judged is, and the rest is never taken for right.

RULES = IntentRules()


def after(*entries, history=None, begin=0):
    """Judges entries one after the other; returns the last judgement."""
    done = None
    for at, entry in enumerate(entries, begin):
        value = entry if isinstance(entry, Commit) or entry is None else commit(entry)
        done = judge(RULES, history, Version(0, at), value)
        history = done.history
    assert done is not None
    return done


def kinds(judged):
    return [(each.kind, each.weight) for each in judged.findings]


UNSEEN = [(Kind.UNSEEN, Weight.UNKNOWN)]
RUBBISH = Commit(5, "rubbish", 1_000)


# -- predecessors
def test_the_first_entry_that_is_seen_cannot_be_judged():
    assert kinds(after(held())) == UNSEEN


def test_the_first_entry_of_an_adoption_says_itself_that_nothing_was_before_it():
    assert kinds(after(adopted())) == []
    assert kinds(after(adopted(), held(offset=0, count=0))) == []


def test_an_entry_behind_one_that_was_seen_is_judged():
    assert kinds(after(held(), held())) == []
    assert kinds(after(held(), held(offset=9))) == [(Kind.BACKWARD, Weight.ANOMALY)]


def test_a_forced_flush_that_does_not_balance_is_found_without_a_predecessor():
    assert kinds(after(held(up_to=10, count=9))) == [(Kind.GAP, Weight.ANOMALY), *UNSEEN]


def test_a_record_that_is_read_again_is_judged_once():
    first = after(held(), held(offset=9))
    again = judge(RULES, first.history, Version(0, 1), commit(held(offset=9)))
    assert not again.is_new and not again.findings
    assert not judge(RULES, first.history, Version(0, 0), commit(held())).is_new


# -- unreadable, deleted
def test_an_unreadable_entry_is_found_once_however_often_it_is_renewed():
    assert kinds(after(held(), RUBBISH)) == [(Kind.UNREADABLE, Weight.ANOMALY)]
    assert kinds(after(held(), RUBBISH, replace(RUBBISH, at_ms=2_000))) == []
    other = replace(RUBBISH, metadata="other rubbish")
    assert kinds(after(held(), RUBBISH, other)) == [(Kind.UNREADABLE, Weight.ANOMALY)]


def test_an_entry_behind_an_unreadable_one_cannot_be_judged():
    judged = after(held(), RUBBISH, held())
    assert kinds(judged) == UNSEEN
    assert "cannot be read" in judged.findings[0].text


def test_a_deleted_entry_has_vanished_once():
    assert kinds(after(held(), None)) == [(Kind.VANISHED, Weight.ANOMALY)]
    assert kinds(after(held(), None, None)) == []


def test_a_deletion_of_something_that_was_never_seen_cannot_be_judged():
    assert kinds(after(None)) == [(Kind.VANISHED, Weight.UNKNOWN)]


def test_behind_a_deletion_only_a_first_entry_is_right():
    assert kinds(after(held(), None, adopted())) == []
    assert kinds(after(held(), None, held())) == UNSEEN


# -- gaps
GAP = [(Kind.GAP, Weight.ANOMALY)]


def test_a_gap_is_reported_once_and_again_with_the_balance_of_the_forced_flush():
    entries = [held(), held(offset=12, count=12), held(offset=14, count=14)]
    assert kinds(after(*entries[:2])) == GAP
    assert kinds(after(*entries)) == []
    assert kinds(after(*entries, held(offset=16, count=14, up_to=16))) == GAP


def test_behind_the_forced_flush_the_next_gap_is_reported():
    flush = held(offset=12, count=10, up_to=12)
    clean = held(offset=12, reference=12, count=0)
    assert kinds(after(held(), flush)) == [*GAP, *GAP]
    assert kinds(after(held(), flush, clean)) == []
    assert kinds(after(held(), flush, clean, replace(clean, offset=13, count=1))) == GAP


def test_until_the_next_forced_flush_an_accepted_loss_explains_what_is_not_counted():
    """The operator drops a block; what other tables had loaded behind the offset is not counted."""
    parked = held(offset=4, count=10).park(LOSS)
    going_on = held(offset=4, reference=4, count=0, losses=1)
    flush = replace(going_on, offset=10, count=2, up_to=10)
    assert kinds(after(held(offset=4), parked, going_on)) == [
        (Kind.LOSS, Weight.ACCEPTED),
        (Kind.GAP, Weight.ACCEPTED),
    ]
    assert kinds(after(held(offset=4), parked, going_on, flush)) == [(Kind.GAP, Weight.ACCEPTED)]
    clean = replace(flush, reference=10, count=0, up_to=None)
    assert kinds(after(parked, going_on, flush, clean)) == []
    assert kinds(after(parked, going_on, flush, clean, replace(clean, offset=12))) == GAP


# -- reading anew
def unseen(entry, **fields):
    """Returns a history as it was stored, whose record was not seen again yet."""
    return restored(RULES, Version(0, 5), commit(entry), None)


def test_a_stored_history_whose_record_is_still_there_is_continued():
    seen = judge(RULES, unseen(held()), Version(0, 5), commit(held()))
    assert not seen.is_new and seen.history.is_seen
    assert kinds(after(held(), history=seen.history, begin=6)) == []
    assert kinds(after(held(offset=12), history=seen.history, begin=6)) == GAP


def test_without_that_record_a_gap_is_unknown_and_going_back_is_still_found():
    history = unseen(held())
    assert kinds(after(held(), history=history, begin=6)) == UNSEEN
    assert kinds(after(held(offset=12), history=history, begin=6)) == UNSEEN
    back = kinds(after(held(offset=9), history=history, begin=6))
    assert back == [(Kind.BACKWARD, Weight.ANOMALY), *UNSEEN]


def test_another_commit_at_the_same_place_of_the_log_is_not_the_one_that_was_judged():
    judged = judge(RULES, unseen(held()), Version(0, 5), commit(held(epoch=4)))
    assert not judged.is_new and not judged.history.is_seen


def test_a_log_that_was_cut_is_judged_in_its_next_era():
    history = replace(unseen(held()), is_seen=False)
    judged = judge(RULES, history, Version(1, 0), commit(held(offset=9)))
    assert kinds(judged) == [(Kind.BACKWARD, Weight.ANOMALY), *UNSEEN]


@pytest.mark.parametrize("value", [None, RUBBISH])
def test_a_deletion_and_an_unreadable_entry_are_restored_as_they_were(value):
    history = restored(RULES, Version(0, 5), value, None)
    assert history == History(Version(0, 5), value, None, is_seen=False)
    assert kinds(after(value, history=history, begin=6)) == []


@dataclass
class Log:
    """A log of one key, with compaction; reading may stop and begin anew."""

    entries: list
    removed: set = field(default_factory=set)

    def compact(self, end):
        """Removes below `end` all records but the last one."""
        self.removed |= set(range(max(0, min(end, len(self.entries)) - 1)))

    def read(self, history, begin, end):
        """Reads what is left of begin..end-1; yields (place, judgement)."""
        for at in range(begin, end):
            if at not in self.removed:
                done = judge(RULES, history, Version(0, at), commit(self.entries[at]))
                history = done.history
                yield at, done


def clean(count):
    """Returns a clean history: a block after the other, with a forced flush after every third."""
    entries, offset, reference = [adopted(), held(offset=0, count=0)], 0, 0
    for number in range(count):
        length = number % 3 + 1
        tables = block(offset, offset + length)
        sealed = offset + length - reference
        entries.append(held(offset=offset, reference=reference, count=sealed, tables=tables))
        offset += length
        if number % 3 == 2:
            entries.append(
                held(offset=offset, reference=reference, count=offset - reference, up_to=offset)
            )
            reference = offset
    return entries


steps = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 40)), max_size=6)
"""Records that are read, and the place up to which the log is compacted before the next reading."""


def read_in_pieces(entries, reads):
    """Yields (place, judgement, the place was read before) of a reading with interruptions."""
    log, history, position, known = Log(entries), None, 0, set()
    for count, compacted in [*reads, (len(entries), 0)]:
        # A verifier that is started anew reads from its last entry on.
        begin = history.version.log_offset if history else 0
        history = history and replace(history, is_seen=False)
        end = min(len(entries), position + count)
        for at, done in log.read(history, begin, end):
            history = done.history
            if done.is_new:
                yield at, done, at - 1 in known
            known.add(at)
        position = max(position, end)
        log.compact(compacted)


def of_weight(done, weight):
    return {each.kind for each in done.findings if each.weight is weight}


@given(steps)
def test_whatever_is_compacted_while_nobody_reads_there_is_no_false_alarm(reads):
    for _, done, _ in read_in_pieces(clean(25), reads):
        assert not of_weight(done, Weight.ANOMALY), done


@given(steps)
def test_an_entry_is_right_only_if_the_one_before_it_was_read(reads):
    for at, done, is_predecessor_known in read_in_pieces(clean(25), reads):
        is_unknown = Kind.UNSEEN in of_weight(done, Weight.UNKNOWN)
        assert is_unknown or at == 0 or is_predecessor_known, (at, done)


@given(st.lists(st.tuples(st.integers(0, 12), st.just(0)), max_size=6))
def test_without_compaction_every_entry_is_judged_however_often_reading_begins_anew(reads):
    assert not any(done.findings for _, done, _ in read_in_pieces(clean(25), reads))


@given(steps, st.integers(2, 25))
def test_a_lost_block_is_found_or_an_entry_could_not_be_judged(reads, lost):
    entries = clean(25)
    if entries[lost].up_to is None:
        del entries[lost]
        found = [done for at, done, _ in read_in_pieces(entries, reads) if at >= lost]
        assert any(done.findings for done in found)


# -- stale
def test_a_held_entry_that_is_not_renewed_is_stale():
    history = after(held()).history
    assert stale(history, 61_000, 60_000) is None
    finding = stale(history, 61_001, 60_000)
    assert finding is not None
    assert finding.kind is Kind.STALE
    assert "60 s" in finding.text


@pytest.mark.parametrize(
    "value", [held(custody=Custody.RELEASED), held().park(LOSS), None, RUBBISH]
)
def test_what_nobody_has_to_renew_is_never_stale(value):
    assert stale(after(value).history, 10**12, 60_000) is None


def test_another_topic_behind_a_deletion_is_compared_with_what_was_deleted():
    """Kafka deletes the intents of a topic with it."""
    other = adopted(topic_id=UUID(int=9), losses=1)
    assert (Kind.TOPIC, Weight.UNKNOWN) in kinds(after(held(), None, other))
    assert (Kind.TOPIC, Weight.UNKNOWN) in kinds(after(held(), None, None, other))
    assert kinds(after(held(), None, replace(other, incarnation=5))) == []


# -- Producers of a transactional id: none may commit after a newer one has.

SKEW_MS = 10


def judged(*entries, name="loader"):
    history = EpochHistory(SKEW_MS)
    found = [history.judge(name, Producer(*producer), at_ms) for producer, at_ms in entries]
    return [each is not None for each in found]


def test_the_same_and_newer_producers_are_right():
    assert not any(judged(((7, 1), 0), ((7, 1), 50), ((7, 2), 60), ((9, 0), 70), ((9, 1), 80)))


@pytest.mark.parametrize("old", [(7, 1), (5, 4)])
def test_an_entry_of_an_older_producer_behind_a_newer_one_is_found(old):
    assert judged(((5, 4), 0), ((7, 1), 50), ((7, 2), 60), (old, 71)) == [False] * 3 + [True]


def test_within_the_skew_the_order_is_not_known():
    assert not any(judged(((7, 1), 0), ((7, 2), 60), ((7, 1), 70)))


def test_an_entry_of_another_log_that_is_read_late_is_judged_by_its_time():
    assert not any(judged(((7, 1), 0), ((7, 2), 60), ((7, 1), 40)))


def test_each_transactional_id_has_producers_of_its_own():
    history = EpochHistory(SKEW_MS)
    assert history.judge("a", Producer(7, 5), 0) is None
    assert history.judge("b", Producer(7, 1), 100) is None


def test_a_finding_names_both_producers():
    history = EpochHistory(SKEW_MS)
    history.judge("loader", Producer(7, 2), 0)
    found = history.judge("loader", Producer(7, 1), 100)
    assert found is not None
    assert found.kind is Kind.EPOCH
    assert found.text == "loader: producer 7/1 committed 100 ms after 7/2 had begun"
