"""Renewal: an intent that nobody holds is committed again as it is; a parked one is freed, so that
no loader is fenced for it again."""

from __future__ import annotations

from dataclasses import replace

from aggregator.driver.feed_adoption import as_renewed
from aggregator.intents.intent import Intent
from aggregator.intents.table_range import TableRange
from aggregator.verifier.intent_rules import IntentRules
from replicator.kafka.client.custody import Custody
from replicator.kafka.client.loss import Loss, LossKind

HELD = Intent(
    custody=Custody.HELD,
    offset=10,
    tables={"t": TableRange(10, 20, 10, "h", 1)},
    reference=5,
    count=15,
    producer_id=7,
    epoch=3,
    transactional_id="loader",
)
PARKED = HELD.park(Loss(LossKind.SOURCE_CORRUPT, 20, None, "bad"))


def test_an_intent_is_renewed_as_it_is():
    for intent in (HELD, replace(HELD, custody=Custody.RELEASED, transactional_id="loader.free")):
        assert as_renewed(intent, "free") == intent


def test_a_parked_intent_is_freed_and_keeps_all_else():
    renewed = as_renewed(PARKED, "free")
    assert renewed == replace(PARKED, custody=Custody.RELEASED, transactional_id="free")
    assert as_renewed(renewed, "free") == renewed


def test_the_verifier_finds_nothing_in_a_renewal():
    rules = IntentRules()
    for intent in (HELD, PARKED):
        assert list(rules.between(intent, as_renewed(intent, "free"))) == []
