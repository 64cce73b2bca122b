"""Triggered plan: the triggers of a round, and the placement that answers them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from balancer.decision.cap import capped
from balancer.decision.carriers import RoundInputs
from balancer.decision.lag import Lag
from balancer.decision.level import is_balanced, place
from balancer.decision.mandatory import mandatory_moves, mandatory_moves_by_count, place_overflow
from balancer.decision.placement import (
    Placement,
    Reason,
    RouteView,
    Scope,
    calm_loads,
    loads,
    surplus,
    voluntary,
)
from balancer.decision.settings import Limits, Rules
from balancer.decision.triggers import BY_HAND, Trigger, by_lag, changes, in_order, widest
from balancer.decision.view import RoundView

RELIEF = 0.5
"""Part of the slack that a drift is relieved to: a carrier at the edge of the slack would soon
exceed it again."""
GAIN_MIN = 0.01
"""Least relative gain on the heaviest carrier for which everything is placed anew."""


@dataclass(frozen=True, slots=True)
class TriggeredPlan:
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


def triggered_plan(
    view: RoundView,
    inputs: RoundInputs,
    lag: Lag,
    limits: Limits,
    rules: Rules,
    *,
    is_blind: bool,
    is_held: bool,
) -> TriggeredPlan:
    """Returns the triggers of a round, and the placement that answers them.

    Args:
        view: knowledge about the route.
        inputs: inputs of the round.
        lag: lag after the observation of this round.
        limits: limits of the route.
        rules: rules of the route.
        is_blind: True when loads say nothing, because they are unknown or the route is frozen.
        is_held: True when only mandatory moves are made.
    """
    planner = _Planner(view, inputs.route, limits, rules)
    off_peak_day = view.before.off_peak_day
    changed = changes(view, inputs.route, limits)
    found = changed + ([BY_HAND[view.orders.by_hand]] if view.orders.by_hand else [])
    if is_blind:
        answer = planner.mandatory(relieves=False) if found else None
        return TriggeredPlan(in_order(found), answer, 0, off_peak_day)
    if planner.has_too_many():
        changed.append(Trigger.TOO_MANY)
        found.append(Trigger.TOO_MANY)
    sticky = planner.sticky()
    reasons = {move.reason for move in sticky.moves} if sticky else set()
    drifting = view.before.drifting_rounds + 1 if Reason.RELIEVES in reasons else 0
    if reasons & {Reason.HOT, Reason.MAKES_ROOM}:
        found.append(Trigger.HOT)
    if drifting >= rules.patience_rounds:
        found.append(Trigger.DRIFT)
    found += by_lag(lag, rules, view.now_ms)
    if is_held:
        answer = planner.mandatory(relieves=True) if changed else None
        return TriggeredPlan(in_order(found), answer, drifting, off_peak_day)
    return _answer(planner, found, sticky, drifting)


def _answer(
    planner: _Planner, found: list[Trigger], sticky: Placement | None, drifting: int
) -> TriggeredPlan:
    """Returns the plan that answers the triggers when all moves are allowed.

    Args:
        planner: plans of this round.
        found: triggers that were found so far.
        sticky: sticky plan; None when the route is balanced.
        drifting: number of rounds in a row in which a sticky plan would relieve a carrier.
    """
    route, limits = planner.route, planner.limits
    last_day = planner.view.before.off_peak_day
    day = None if widest(found) is Scope.FULL else planner.off_peak_day()
    full = None
    if day is not None or widest(found) is Scope.FULL:
        full = planner.full()
        if day is not None and is_worth_it(full, route):
            found = [*found, Trigger.OFF_PEAK]
    if Trigger.DRIFT in found:
        sticky = planner.relieved(sticky)
    answer = (sticky or mandatory_moves(route, limits)) if found else None
    if full and widest(found) is Scope.FULL:
        answer = capped(full, route, limits, planner.moves_max)
    triggers = in_order(found)
    if answer and not fits(answer, route, limits):
        least = mandatory_moves(route, limits)
        return TriggeredPlan(triggers, least, drifting, last_day, is_put_off=True)
    return TriggeredPlan(triggers, answer, drifting, last_day if day is None else day)


@dataclass(frozen=True, slots=True)
class _Planner:
    """Plans that a round may choose from."""

    view: RoundView
    route: RouteView
    limits: Limits
    rules: Rules

    @property
    def moves_max(self) -> int:
        """Maximum number of voluntary moves; a manual plan may move every partition."""
        by_hand = self.view.orders.by_hand is not None
        return len(self.view.partitions) if by_hand else self.rules.moves_max

    def mandatory(self, *, relieves: bool) -> Placement:
        """Returns the plan with mandatory moves only, by count while loads are unknown."""
        if self.view.degraded:
            return mandatory_moves_by_count(self.route)
        return mandatory_moves(self.route, self.limits, relieves=relieves)

    def sticky(self, slack_part: float = 1.0) -> Placement | None:
        """Returns the sticky plan; None before the first plan, or when the route is balanced.

        Args:
            slack_part: part of the slack that the plan may use.
        """
        limits = replace(self.limits, slack=self.limits.slack * slack_part)
        if self.view.state is None or is_balanced(self.route, limits):
            return None
        return proposed(self.route, limits, self.moves_max)

    def relieved(self, sticky: Placement | None) -> Placement | None:
        """Returns a sticky plan for less slack, so that it relieves further.

        Returns `sticky` when there is no such plan, or when that plan, within the allowed number of
        moves, leaves a heavier carrier.
        """
        further = self.sticky(RELIEF)
        if sticky is None or further is None or _heaviest(further) > _heaviest(sticky):
            return sticky
        return further

    def full(self) -> Placement:
        """Returns the plan that places everything anew."""
        full = place(self.route, self.limits, Scope.FULL)
        return place_overflow(full, self.route, self.limits)

    def has_too_many(self) -> bool:
        """Returns True when a carrier holds too many, and others have room for some of them."""
        if not surplus(self.route.before, self.limits.partitions_max):
            return False  # most rounds end here, at little cost
        moves = mandatory_moves(self.route, self.limits).moves
        return any(move.reason is Reason.TOO_MANY for move in moves)

    def off_peak_day(self) -> int | None:
        """Returns the day whose off-peak window is open; None outside, or if examined already."""
        window = self.rules.off_peak_window
        day = window.day(self.view.now_ms) if window else None
        return None if day == self.view.before.off_peak_day else day


def proposed(route: RouteView, limits: Limits, most: int) -> Placement:
    """Returns a sticky plan with at most `most` voluntary moves.

    Relieving moves are left out when they are the only voluntary ones within that maximum and do
    not reduce the excess: the next round would move the same partitions again.
    """
    whole = place_overflow(place(route, limits, Scope.STICKY), route, limits)
    some = capped(whole, route, limits, most)
    if {move.reason for move in voluntary(some.moves)} != {Reason.RELIEVES}:
        return some
    none = capped(whole, route, limits, 0)
    limit = whole.bound * (1 + limits.slack)
    return some if some.excess(limit) < none.excess(limit) else none


def fits(found: Placement, route: RouteView, limits: Limits) -> bool:
    """Returns True when the surplus of partitions is no larger than with mandatory moves alone.

    It is larger when a plan was cut short, and the moves that would have made room were left out.
    """
    too_many = surplus(found.where, limits.partitions_max)
    if not too_many:
        return True
    return surplus(mandatory_moves(route, limits).where, limits.partitions_max) >= too_many


def is_worth_it(full: Placement, route: RouteView) -> bool:
    """Returns True when a full plan makes the heaviest carrier markedly lighter than it is now.

    Carriers with a hot partition do not count.
    """
    now = {each: route.before[each] for each in route.shares if each in route.before}
    loads_now = calm_loads(now, loads(now, route.shares, route.carriers), full.hot)
    return _heaviest(full) < (1 - GAIN_MIN) * max(loads_now, default=0.0)


def _heaviest(placement: Placement) -> float:
    return max(placement.calm_loads, default=0.0)
