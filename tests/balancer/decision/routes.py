"""Routes for tests of rounds."""

from __future__ import annotations

from dataclasses import replace

from balancer.decision.placement import RouteView
from balancer.decision.round import Orders, RoundView, decide
from balancer.decision.settings import Limits, Rules
from balancer.topic_partition import TopicPartition

MINUTE_MS = 60_000
NOON_MS = 1_790_000_000_000 // 86_400_000 * 86_400_000 + 12 * 60 * MINUTE_MS


def at(number, topic="clicks"):
    return TopicPartition(topic, number)


def even(count, share=0.01, topic="clicks"):
    return {at(number, topic): share for number in range(count)}


def spread(count, carriers):
    """Returns a placement of `count` partitions that are dealt out to carriers in turn."""
    return {at(number): number % carriers for number in range(count)}


CROWDED = RouteView(
    {at(n): share for n, share in enumerate([0.2, 0.1, 0.01, 0.19, 0.185, 0.05, 0.03, 0.04])},
    range(4),
    {at(n): carrier for n, carrier in enumerate([0, 0, 0, 1, 1, 2, 2, 3])},
)
"""Route whose carrier 0 has three partitions; the others have one or two."""


def seen(shares, **known):
    """Returns a view of a route on which everything is measured."""
    given = {"now_ms": NOON_MS, "partitions": frozenset(shares)}
    given |= {"shares": shares, "measured": frozenset(shares)}
    return RoundView(**given | known)


class Running:
    """Route that is decided round by round, a minute apart."""

    def __init__(self, limits=None, rules=None, now_ms=NOON_MS):
        self.limits, self.rules = limits or Limits(), rules or Rules()
        self.now_ms, self.state = now_ms, None
        self.decisions = []

    def round(self, shares, **known):
        view = seen(shares, now_ms=self.now_ms, state=self.state)
        decision = decide(replace(view, **known), self.limits, self.rules)
        self.now_ms += MINUTE_MS
        self.state = decision.state
        self.decisions.append(decision)
        return decision

    def rounds(self, many, shares, **known):
        return [self.round(shares, **known) for _ in range(many)]


def ordered(**orders):
    return {"orders": Orders(**orders)}
