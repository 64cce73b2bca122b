"""Proposed placement: the one that a round publishes if nothing holds it back."""

from __future__ import annotations

from balancer.decision.cap import capped, voluntary
from balancer.decision.forced import forced
from balancer.decision.housed import housed
from balancer.decision.limits import Limits
from balancer.decision.loads import calm_loads, excess, loads, surplus
from balancer.decision.placement import Placement, Reason
from balancer.decision.placing import RouteView, Scope, place

WORTH = 0.01
"""Least relative gain on the heaviest carrier for which everything is placed anew."""


def proposed(view: RouteView, limits: Limits, most: int) -> Placement:
    """Returns a sticky plan with at most `most` voluntary moves.

    Relieving moves are left out when they are the only voluntary ones within that maximum and do
    not reduce the excess: the next round would move the same partitions again.
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
    """Returns True when the surplus of partitions is no larger than with mandatory moves alone.

    It is larger when a plan was cut short, and the moves that would have made room were left out.
    """
    too_many = surplus(found.where, limits.partitions_max)
    return not too_many or surplus(forced(view, limits).where, limits.partitions_max) >= too_many


def is_worth_it(full: Placement, view: RouteView) -> bool:
    """Returns True when a full plan makes the heaviest carrier markedly lighter than it is now.

    Carriers with a hot partition do not count.
    """
    stands = {each: view.before[each] for each in view.shares if each in view.before}
    was = calm_loads(stands, loads(stands, view.shares, view.carriers), full.hot)
    heaviest = max(calm_loads(full.where, full.loads, full.hot), default=0.0)
    return heaviest < (1 - WORTH) * max(was, default=0.0)
