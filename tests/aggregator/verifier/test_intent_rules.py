"""Rules of intents."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from aggregator.verifier.entry_rules import UnreadableRecord
from aggregator.verifier.finding import Kind, Weight
from aggregator.verifier.intent_rules import IntentRules
from tests.aggregator.verifier.entries import adopted, block, commit, held

RULES = IntentRules()


def kinds(before, after):
    return [each.kind for each in RULES.between(before, after)]


def test_a_loaded_block_and_the_next_one_are_right():
    first = held(offset=10, tables=block(10, 20), count=20)
    second = held(offset=20, tables=block(20, 30), count=30)
    assert kinds(adopted(), held(offset=0, count=0)) == []
    assert kinds(first, second) == []
    assert kinds(second, replace(second, epoch=4)) == []


@pytest.mark.parametrize(
    ("begin", "end", "kind"),
    [(5, 10, Kind.BACKWARD), (19, 30, Kind.OVERLAP), (10, 19, Kind.OVERLAP)],
)
def test_verdicts_become_findings_with_table_and_offsets(begin, end, kind):
    before = held(offset=10, tables=block(10, 20), count=20)
    after = held(offset=begin, tables=block(begin, end), count=30)
    found = [each for each in RULES.between(before, after) if each.table == "flights"]
    assert [(each.kind, each.begin, each.end) for each in found] == [(kind, begin, min(end, 20))]


def test_a_gap_is_found():
    assert kinds(held(), held(offset=11, count=11)) == [Kind.GAP]


def test_a_forced_flush_that_does_not_balance_says_by_how_much():
    (found,) = RULES.within(None, held(up_to=10, count=8))
    assert (found.kind, found.begin, found.end) == (Kind.GAP, 0, 10)
    assert "-2 at the forced flush" in found.text
    (found,) = RULES.within(held(), held(up_to=10, count=11))
    assert found.kind is Kind.SURPLUS
    assert "+1 at the forced flush" in found.text


def test_a_forced_flush_that_the_next_holder_names_again_is_judged_once():
    flush = held(up_to=10, count=8)
    assert not [*RULES.within(flush, replace(flush, epoch=4))]


def test_another_topic_of_the_name_is_found_and_its_offsets_are_not_compared():
    other = held(topic_id=UUID(int=9), offset=0, count=0)
    assert kinds(held(), other) == [Kind.TOPIC]
    found = [*RULES.between(held(), replace(other, losses=1, incarnation=5))]
    assert [(each.kind, each.weight) for each in found] == [
        (Kind.LOSS, Weight.ACCEPTED),
        (Kind.TOPIC, Weight.ACCEPTED),
    ]


def test_two_logs_under_one_incarnation_are_an_anomaly_although_the_loss_is_accepted():
    """Such an acceptance is one of a version that knew no incarnations."""
    other = held(topic_id=UUID(int=9), offset=0, count=0, losses=1)
    for before, after in ((held(), other), (held(incarnation=5), replace(other, incarnation=5))):
        (wrong,) = (each for each in RULES.between(before, after) if each.weight is Weight.ANOMALY)
        assert wrong.kind is Kind.TOPIC and "taken for stored ones" in wrong.text


def test_another_topic_where_an_intent_was_deleted_is_a_doubt_unless_it_is_named_anew():
    other = held(topic_id=UUID(int=9), offset=0, count=0, losses=1)
    (doubt,) = RULES.across_deletion(held(), other)
    assert (doubt.kind, doubt.weight) == (Kind.TOPIC, Weight.UNKNOWN)
    assert not [*RULES.across_deletion(held(), replace(other, incarnation=5))]
    assert not [*RULES.across_deletion(held(), held(losses=1))]


def test_an_accepted_loss_explains_a_jump():
    found = [*RULES.between(held(), held(offset=50, reference=50, count=0, losses=1))]
    assert {each.weight for each in found} == {Weight.ACCEPTED}


def test_a_first_intent_in_place_of_one_that_was_held_is_one_finding():
    assert kinds(held(), adopted()) == [Kind.RESTARTED]


def test_an_entry_is_read_or_unreadable():
    done = commit(held())
    assert RULES.decode(done.offset, done.metadata) == held()
    assert RULES.topic_id(held()) == held().topic_id
    assert RULES.reference(held(reference=4)) == 4
    with pytest.raises(UnreadableRecord):
        RULES.decode(4, "rubbish")
