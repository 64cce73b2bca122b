"""Triggered plan: the triggers of a round, and the placement that answers them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from balancer.decision.balance import is_balanced
from balancer.decision.cap import capped
from balancer.decision.forced import forced, forced_by_count
from balancer.decision.ground import Ground
from balancer.decision.housed import housed
from balancer.decision.limits import Limits
from balancer.decision.loads import calm_loads, surplus
from balancer.decision.monitor import Lag
from balancer.decision.placement import Placement, Reason
from balancer.decision.placing import RouteView, Scope, place
from balancer.decision.proposal import fits, is_worth_it, proposed
from balancer.decision.round_view import RoundView
from balancer.decision.rules import Rules
from balancer.decision.standing import Standing
from balancer.decision.triggers import ANSWERS, BY_HAND, Trigger, widest

RELIEF = 0.5
"""Part of the slack that a drift is relieved to: a carrier at the edge of the slack would soon
exceed it again."""


@dataclass(frozen=True, slots=True)
class Occasion:
    """Triggered plan of one round.

    Args:
        triggers: triggers that were found, in the order of `ANSWERS`.
        placement: the answer, which may equal the active placement; None without a trigger.
        drifting_rounds: number of rounds in a row in which a sticky plan would relieve a carrier.
        off_peak_day: last day on whose off-peak window a full plan was examined.
        is_put_off: True when the placement has the mandatory moves only, and a later round has to
            do the rest.
    """

    triggers: tuple[Trigger, ...]
    placement: Placement | None
    drifting_rounds: int
    off_peak_day: int | None
    is_put_off: bool = False


def occasion(
    view: RoundView,
    ground: Ground,
    lag: Lag,
    limits: Limits,
    rules: Rules,
    *,
    is_blind: bool,
    is_held: bool,
) -> Occasion:
    """Returns the triggers of a round, and the placement that answers them.

    Args:
        view: knowledge about the route.
        ground: inputs of the round.
        lag: lag after the observation of this round.
        limits: limits of the route.
        rules: rules of the route.
        is_blind: True when loads say nothing, because they are unknown or the route is frozen.
        is_held: True when only mandatory moves are made.
    """
    route, off_peak_day = ground.route, _standing(view).off_peak_day
    changes = _changes(view, ground, limits)
    found = changes + ([BY_HAND[view.orders.by_hand]] if view.orders.by_hand else [])
    if is_blind:
        answer = _forced(view, route, limits, relieves=False) if found else None
        return Occasion(_in_order(found), answer, 0, off_peak_day)
    if _has_too_many(route, limits):
        changes.append(Trigger.TOO_MANY)
        found.append(Trigger.TOO_MANY)
    sticky = _sticky(view, route, limits, rules)
    reasons = {move.reason for move in sticky.moves} if sticky else set()
    drifting = _standing(view).drifting_rounds + 1 if Reason.RELIEVES in reasons else 0
    if reasons & {Reason.HOT, Reason.MAKES_ROOM}:
        found.append(Trigger.HOT)
    if drifting >= rules.patience_rounds:
        found.append(Trigger.DRIFT)
    found += _of_lag(lag, rules, view.now_ms)
    if is_held:
        answer = _forced(view, route, limits, relieves=True) if changes else None
        return Occasion(_in_order(found), answer, drifting, off_peak_day)
    full = None
    day = None if widest(found) is Scope.FULL else _off_peak_day(view, rules)
    if day is not None or widest(found) is Scope.FULL:
        full = housed(place(route, limits, Scope.FULL), route, limits)
        if day is not None and is_worth_it(full, route):
            found.append(Trigger.OFF_PEAK)
    if Trigger.DRIFT in found:
        sticky = _relieved(sticky, view, route, limits, rules)
    answer = (sticky or forced(route, limits)) if found else None
    if full and widest(found) is Scope.FULL:
        answer = capped(full, route, limits, _moves_max(view, rules))
    if answer and not fits(answer, route, limits):
        least = forced(route, limits)
        return Occasion(_in_order(found), least, drifting, off_peak_day, is_put_off=True)
    return Occasion(_in_order(found), answer, drifting, off_peak_day if day is None else day)


def _changes(view: RoundView, ground: Ground, limits: Limits) -> list[Trigger]:
    """Returns a trigger for each difference from the last plan."""
    before, route = view.standing, ground.route
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


def _has_too_many(route: RouteView, limits: Limits) -> bool:
    """Returns True when a carrier holds more than it may, and others have room for some of that."""
    if not surplus(route.before, limits.partitions_max):
        return False  # most rounds end here, at little cost
    return any(move.reason is Reason.TOO_MANY for move in forced(route, limits).moves)


def _of_lag(lag: Lag, rules: Rules, now_ms: int) -> list[Trigger]:
    if lag.planned_ms is None:
        return [Trigger.LAG] if lag.lagging(rules, now_ms) else []
    return [Trigger.LAG_STAYS] if lag.stays(rules, now_ms) else []


def _in_order(triggers: list[Trigger]) -> tuple[Trigger, ...]:
    return tuple(each for each in ANSWERS if each in triggers)


def _standing(view: RoundView) -> Standing:
    return view.standing or Standing()


def _forced(view: RoundView, route: RouteView, limits: Limits, *, relieves: bool) -> Placement:
    if view.degraded:
        return forced_by_count(route)
    return forced(route, limits, relieves=relieves)


def _sticky(view: RoundView, route: RouteView, limits: Limits, rules: Rules) -> Placement | None:
    """Returns the sticky plan; None before the first plan, or when the route is balanced."""
    if view.standing is None or is_balanced(route, limits):
        return None
    return proposed(route, limits, _moves_max(view, rules))


def _relieved(
    sticky: Placement | None, view: RoundView, route: RouteView, limits: Limits, rules: Rules
) -> Placement | None:
    """Returns a sticky plan for less slack, so that it relieves further.

    Returns `sticky` when there is no such plan, or when that plan, within the allowed number of
    moves, leaves a heavier carrier.
    """
    further = _sticky(view, route, replace(limits, slack=limits.slack * RELIEF), rules)
    if sticky is None or further is None or _heaviest(further) > _heaviest(sticky):
        return sticky
    return further


def _heaviest(placement: Placement) -> float:
    return max(calm_loads(placement.where, placement.loads, placement.hot), default=0.0)


def _moves_max(view: RoundView, rules: Rules) -> int:
    """Returns the maximum number of voluntary moves; a manual plan may move every partition."""
    return rules.moves_max if view.orders.by_hand is None else len(view.partitions)


def _off_peak_day(view: RoundView, rules: Rules) -> int | None:
    """Returns the day whose off-peak window is open; None outside, or if examined already."""
    day = rules.off_peak_window.day(view.now_ms) if rules.off_peak_window else None
    return None if day == _standing(view).off_peak_day else day
