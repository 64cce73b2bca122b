"""Rules for entries of every kind: custody, accepted losses, numbers that only grow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aggregator.verifier.entry_rules import custody_findings, is_first, turned_back, with_losses
from aggregator.verifier.finding import Finding, Kind, Weight
from replicator.kafka.client.custody import Custody
from tests.aggregator.verifier.entries import LOSS, adopted, carried, held

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
