"""Triggers of a new plan, and how much the plan may change for each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from balancer.decision.placing import Scope


class Trigger(StrEnum):
    """Event that calls for a new plan."""

    FIRST = "there is no plan yet"
    NEW_PARTITIONS = "there are new partitions"
    PARTITIONS_GONE = "partitions are no longer to be carried"
    CARRIERS_GONE = "a carrier that has partitions is gone or excluded"
    CARRIERS_CHANGED = "more or fewer carriers are wanted"
    PINS_CHANGED = "a partition is not where it is pinned"
    TOO_MANY = "a carrier has more partitions than it may, and another has room"
    HOT = "a hot partition shares its carrier"
    DRIFT = "a carrier has more than the slack allows, for some rounds"
    LAG = "partitions have been behind for long"
    LAG_STAYS = "they still are, with a plan made for it"
    OFF_PEAK = "it is off-peak time, and everything placed anew is better"
    BY_HAND = "an operator asked for it"
    BY_HAND_FULL = "an operator asked for everything to be placed anew"


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer to a trigger.

    Args:
        scope: extent of the changes that the plan may make.
        is_forced: True when pause, cool-down and freeze do not hold the plan back. They still hold
            back its voluntary moves.
    """

    scope: Scope
    is_forced: bool


ANSWERS: Mapping[Trigger, Answer] = MappingProxyType(
    {
        Trigger.FIRST: Answer(Scope.FULL, is_forced=True),
        Trigger.NEW_PARTITIONS: Answer(Scope.STICKY, is_forced=True),
        Trigger.PARTITIONS_GONE: Answer(Scope.STICKY, is_forced=True),
        Trigger.CARRIERS_GONE: Answer(Scope.STICKY, is_forced=True),
        Trigger.CARRIERS_CHANGED: Answer(Scope.STICKY, is_forced=False),
        Trigger.PINS_CHANGED: Answer(Scope.STICKY, is_forced=True),
        Trigger.TOO_MANY: Answer(Scope.STICKY, is_forced=True),
        Trigger.HOT: Answer(Scope.STICKY, is_forced=False),
        Trigger.DRIFT: Answer(Scope.STICKY, is_forced=False),
        Trigger.LAG: Answer(Scope.STICKY, is_forced=False),
        Trigger.LAG_STAYS: Answer(Scope.FULL, is_forced=False),
        Trigger.OFF_PEAK: Answer(Scope.FULL, is_forced=False),
        Trigger.BY_HAND: Answer(Scope.STICKY, is_forced=True),
        Trigger.BY_HAND_FULL: Answer(Scope.FULL, is_forced=True),
    }
)
BY_HAND = {Scope.STICKY: Trigger.BY_HAND, Scope.FULL: Trigger.BY_HAND_FULL}


def widest(triggers: Iterable[Trigger]) -> Scope:
    """Returns the scope of a plan that answers all of the triggers."""
    is_full = any(ANSWERS[each].scope is Scope.FULL for each in triggers)
    return Scope.FULL if is_full else Scope.STICKY
