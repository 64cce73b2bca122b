"""Anomalies of consecutive intents of one partition, as the verifier finds them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aggregator.intents.intent import Intent
from aggregator.verifier.finding import Weight
from aggregator.verifier.intent_rules import IntentRules


def judged(intents: Sequence[Intent]) -> Iterator[str]:
    """Yields the anomalies of consecutive intents of one partition."""
    rules, before = IntentRules(), None
    for intent in intents:
        found = list(rules.within(before, intent))
        if before is not None:
            found += rules.between(before, intent)
        for each in found:
            if each.weight is not Weight.ACCEPTED:
                yield f"{each}\n  before: {before}\n  after: {intent}"
        before = intent
