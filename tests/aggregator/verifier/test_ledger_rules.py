"""Rules of the replicator's ledger entries."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.verifier.entry_rules import UnreadableRecord
from aggregator.verifier.finding import Kind, Weight
from aggregator.verifier.ledger_rules import LedgerRules
from replicator.kafka.client.custody import Custody
from replicator.mirror.ledger.entry import SEQUENCE_MASK, Gap
from tests.aggregator.verifier.entries import carried, commit

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
