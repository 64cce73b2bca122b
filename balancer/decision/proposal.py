"""The placement that a round would publish if nothing held it back."""

from __future__ import annotations

from balancer.decision.cap import capped, voluntary
from balancer.decision.forced import forced
from balancer.decision.housed import housed
from balancer.decision.limits import Limits
from balancer.decision.loads import calm_loads, excess, loads, surplus
from balancer.decision.placement import Placement, Reason
from balancer.decision.placing import RouteView, Scope, place

WORTH = 0.01
"""Everything is placed anew for so much less on the heaviest carrier, as a part of it."""


def proposed(view: RouteView, limits: Limits, most: int) -> Placement:
    """A sticky plan with so many moves at most that nothing forces.

    Moves that only relieve are left out where those that remain of them relieve nobody: what is no
    better than what stands would be moved again by the next round.
    """
    whole = housed(place(view, limits, Scope.STICKY), view, limits)
    some = capped(whole, view, limits, most)
    if {move.reason for move in voluntary(some.moves)} != {Reason.RELIEVES}:
        return some
    still = capped(whole, view, limits, 0)
    limit = whole.bound * (1 + limits.slack)
    left, was = (
        excess(calm_loads(each.where, each.loads, each.hot), limit) for each in (some, still)
    )
    return some if left < was else still


def fits(found: Placement, view: RouteView, limits: Limits) -> bool:
    """Whether carriers have no more above what they may hold than where only what is forced moves.

    They have where a plan was cut short, and what would have made room was among what was left out.
    """
    too_many = surplus(found.where, limits.partitions_max)
    return not too_many or surplus(forced(view, limits).where, limits.partitions_max) >= too_many


def is_worth_it(full: Placement, view: RouteView) -> bool:
    """Whether with everything placed anew the heaviest carrier, of those without a hot partition,
    has markedly less than what stands gives it."""
    stands = {each: view.before[each] for each in view.shares if each in view.before}
    was = calm_loads(stands, loads(stands, view.shares, view.carriers), full.hot)
    heaviest = max(calm_loads(full.where, full.loads, full.hot), default=0.0)
    return heaviest < (1 - WORTH) * max(was, default=0.0)
