"""Triggers of a new plan, and how much the plan may change for each of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType

from balancer.decision.lag import Lag
from balancer.decision.placement import RouteView, Scope
from balancer.decision.settings import Limits, Rules
from balancer.decision.view import RoundView


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


ANSWERS: Mapping[Trigger, Scope] = MappingProxyType(
    {
        Trigger.FIRST: Scope.FULL,
        Trigger.NEW_PARTITIONS: Scope.STICKY,
        Trigger.PARTITIONS_GONE: Scope.STICKY,
        Trigger.CARRIERS_GONE: Scope.STICKY,
        Trigger.CARRIERS_CHANGED: Scope.STICKY,
        Trigger.PINS_CHANGED: Scope.STICKY,
        Trigger.TOO_MANY: Scope.STICKY,
        Trigger.HOT: Scope.STICKY,
        Trigger.DRIFT: Scope.STICKY,
        Trigger.LAG: Scope.STICKY,
        Trigger.LAG_STAYS: Scope.FULL,
        Trigger.OFF_PEAK: Scope.FULL,
        Trigger.BY_HAND: Scope.STICKY,
        Trigger.BY_HAND_FULL: Scope.FULL,
    }
)
"""Extent of the changes that a plan for the trigger may make."""
BY_HAND = {Scope.STICKY: Trigger.BY_HAND, Scope.FULL: Trigger.BY_HAND_FULL}


def widest(triggers: Iterable[Trigger]) -> Scope:
    """Returns the scope of a plan that answers all of the triggers."""
    is_full = any(ANSWERS[each] is Scope.FULL for each in triggers)
    return Scope.FULL if is_full else Scope.STICKY


def in_order(triggers: Collection[Trigger]) -> tuple[Trigger, ...]:
    """Returns the triggers in the order of `ANSWERS`."""
    return tuple(each for each in ANSWERS if each in triggers)


def changes(view: RoundView, route: RouteView, limits: Limits) -> list[Trigger]:
    """Returns a trigger for each difference between the route and its last plan."""
    before = view.state
    if before is None:
        return [Trigger.FIRST]
    found = []
    carriers = set(route.carriers)
    if before.where.keys() != route.shares.keys():
        if route.shares.keys() - before.where.keys():
            found.append(Trigger.NEW_PARTITIONS)
        if before.where.keys() - route.shares.keys():
            found.append(Trigger.PARTITIONS_GONE)
    gone = set(before.where.values()) - carriers
    is_wanted = len(before.carriers) <= limits.carriers_max and gone <= set(before.carriers)
    if gone and not (is_wanted and gone.isdisjoint(view.orders.excluded)):
        found.append(Trigger.CARRIERS_GONE)
    if carriers != set(before.carriers):
        found.append(Trigger.CARRIERS_CHANGED)
    if any(before.where.get(each, at) != at for each, at in route.pins.items()):
        found.append(Trigger.PINS_CHANGED)
    return found


def by_lag(lag: Lag, rules: Rules, now_ms: int) -> list[Trigger]:
    """Returns the trigger for partitions that lag; another one if a plan has not helped them."""
    if lag.planned_ms is None:
        return [Trigger.LAG] if lag.lagging(rules, now_ms) else []
    return [Trigger.LAG_STAYS] if lag.stays(rules, now_ms) else []
