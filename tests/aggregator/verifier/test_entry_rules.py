"""Rules of entries, and of those of ledgers."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.verifier.entry_rules import (
    UnreadableRecord,
    custody_findings,
    is_first,
    turned_back,
    with_losses,
)
from aggregator.verifier.finding import Finding, Kind, Weight
from aggregator.verifier.ledger_rules import LedgerRules
from replicator.kafka.client.custody import Custody
from replicator.mirror.ledger.entry import SEQUENCE_MASK, Gap
from tests.aggregator.verifier.entries import LOSS, adopted, carried, commit, held

# -- Rules for entries of every kind: custody, accepted losses, numbers that only grow.

FREE = "sluice.feed.flights.free"


def custody(before, after):
    return [each.kind for each in custody_findings(before, after)]


RELEASED = replace(held(), custody=Custody.RELEASED, transactional_id=FREE)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (adopted(), held()),
        (adopted(), adopted()),
        (held(), held()),
        (held(), replace(held(), epoch=4)),
        (held(), replace(held(), producer_id=9, epoch=0, transactional_id="sluice.feed.x.1")),
        (held(), RELEASED),
        (RELEASED, held()),
        (RELEASED, replace(held(), producer_id=9, epoch=0, transactional_id="sluice.feed.x.1")),
        (RELEASED, replace(held(), epoch=5)),
        (held(), held().park(LOSS)),
        (held().park(LOSS), replace(held(), epoch=4).park(LOSS)),
        (carried(custody=Custody.VIRGIN, producer_id=-1, epoch=-1), carried()),
    ],
)
def test_every_lawful_change_of_the_holder_is_right(before, after):
    assert custody(before, after) == []


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (held(), replace(held(), epoch=2), Kind.EPOCH),
        (RELEASED, replace(held(), epoch=2), Kind.EPOCH),
        (held(), replace(RELEASED, producer_id=9), Kind.CUSTODY),
        (held(), replace(RELEASED, epoch=4), Kind.CUSTODY),
        (held().park(LOSS), held(), Kind.CUSTODY),
        (held(), replace(held(), transactional_id="sluice.feed.x.1"), Kind.CUSTODY),
        (held(), adopted(), Kind.RESTARTED),
        (RELEASED, adopted(), Kind.RESTARTED),
    ],
)
def test_every_unlawful_change_of_the_holder_is_found(before, after, kind):
    assert custody(before, after) == [kind]


def test_an_entry_without_a_producer_says_itself_that_it_is_the_first():
    assert is_first(adopted())
    assert is_first(carried(custody=Custody.VIRGIN, producer_id=-1))
    assert not is_first(held())
    assert not is_first(RELEASED)


FOUND = Finding(Kind.GAP, "gap")


def test_an_accepted_loss_explains_what_is_found_and_is_named():
    found = [*with_losses(held().park(LOSS), held(losses=1), iter([FOUND]))]
    assert [each.kind for each in found] == [Kind.LOSS, Kind.GAP]
    assert {each.weight for each in found} == {Weight.ACCEPTED}
    assert "retention" in found[0].text


def test_without_an_accepted_loss_a_finding_stays_an_anomaly():
    assert [*with_losses(held(losses=2), held(losses=2), iter([FOUND]))] == [FOUND]


def test_fewer_accepted_losses_than_before_are_an_anomaly_and_explain_nothing():
    found = [*with_losses(held(losses=2), held(losses=1), iter([FOUND]))]
    assert [each.kind for each in found] == [Kind.TURNED_BACK, Kind.GAP]
    assert {each.weight for each in found} == {Weight.ANOMALY}


@pytest.mark.parametrize(("after", "count"), [(4, 1), (5, 0), (6, 0)])
def test_a_number_may_stay_and_grow_and_not_go_back(after, count):
    assert len([*turned_back("offset", 5, after)]) == count


# -- Rules of the replicator's ledger entries.

RULES = LedgerRules()
VIRGIN = carried(
    custody=Custody.VIRGIN, source_offset=0, target_offset=40, producer_id=-1, epoch=-1, sequence=0
)


def kinds(before, after):
    return [each.kind for each in RULES.between(before, after)]


@given(
    st.integers(0, SEQUENCE_MASK),
    st.lists(st.builds(Gap, st.integers(0, 9), st.integers(1, 9)), max_size=5),
    st.integers(0, 60),
)
def test_records_that_were_carried_over_any_gaps_are_right(sequence, gaps, count):
    before = carried(sequence=sequence, gaps=tuple(gaps))
    after = replace(
        before,
        source_offset=before.after(count),
        target_offset=before.target_offset + count,
        sequence=(sequence + count) & SEQUENCE_MASK,
        gaps=(),
    )
    assert kinds(before, after) == []


@given(
    st.integers(0, SEQUENCE_MASK),
    st.lists(st.builds(Gap, st.integers(0, 9), st.integers(1, 9)), max_size=5),
    st.integers(1, 60),
)
def test_a_source_offset_that_lies_before_what_was_sent_is_found(sequence, gaps, count):
    before = carried(sequence=sequence, gaps=tuple(gaps))
    last = before.spans(count - 1, 1)[0].source_offset
    after = replace(before, source_offset=last, sequence=(sequence + count) & SEQUENCE_MASK)
    found = [*RULES.between(before, after)]
    assert [each.kind for each in found] == [Kind.SEQUENCE]
    assert (found[0].begin, found[0].end) == (last, last + 1)


def test_offsets_without_a_record_may_be_named_again_as_a_gap():
    before = carried()
    at = before.source_offset
    assert kinds(before, replace(before, source_offset=at - 9, gaps=(Gap(0, 9),))) == []
    for wrong in (Gap(0, 8), Gap(1, 9)):
        after = replace(before, source_offset=at - 9, gaps=(wrong,))
        assert kinds(before, after) == [Kind.TURNED_BACK]


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"source_offset": 99}, Kind.TURNED_BACK),
        ({"target_offset": 199}, Kind.TURNED_BACK),
        ({"sequence": 49}, Kind.SEQUENCE),
        ({"epoch": 2}, Kind.EPOCH),
        ({"source_topic": UUID(int=9)}, Kind.TOPIC),
        ({"target_topic": UUID(int=9)}, Kind.TOPIC),
    ],
)
def test_whatever_goes_back_is_found(change, kind):
    assert kinds(carried(), carried(**change)) == [kind]
    explained = [*RULES.between(carried(), carried(**change, losses=1))]
    assert {each.weight for each in explained} == {Weight.ACCEPTED}


def test_the_next_epoch_begins_its_sequences_anew():
    assert kinds(carried(), carried(epoch=4, sequence=0)) == []
    assert kinds(carried(), carried(producer_id=9, epoch=0, sequence=0)) == []


def test_a_partition_that_was_never_carried_may_begin_anywhere():
    assert kinds(VIRGIN, carried(source_offset=3, target_offset=40)) == []
    assert kinds(VIRGIN, VIRGIN) == []


def test_a_partition_that_was_carried_does_not_become_one_that_never_was():
    assert kinds(carried(), VIRGIN) == [Kind.RESTARTED]


def test_offsets_of_another_source_topic_are_not_compared_and_those_of_the_target_are():
    other = carried(source_topic=UUID(int=9), source_offset=0)
    assert kinds(carried(), other) == [Kind.TOPIC]
    assert kinds(carried(), replace(other, target_offset=5)) == [Kind.TOPIC, Kind.TURNED_BACK]


def test_a_topic_id_that_is_not_known_yet_is_no_other_topic():
    assert kinds(carried(source_topic=None), carried()) == []


def test_an_entry_is_read_or_unreadable():
    done = commit(carried())
    assert RULES.decode(done.offset, done.metadata) == carried()
    assert RULES.topic_id(carried()) == carried().target_topic
    assert RULES.reference(carried()) is None
    assert not [*RULES.within(None, carried())]
    with pytest.raises(UnreadableRecord):
        RULES.decode(4, "rubbish")
