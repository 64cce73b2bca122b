"""The placement that a round would publish if nothing held it back."""

from __future__ import annotations

from collections import Counter

from balancer.decision.cap import capped, voluntary
from balancer.decision.forced import forced, housed
from balancer.decision.limits import Limits
from balancer.decision.loads import calm_loads, excess, loads
from balancer.decision.placement import Placement, Reason
from balancer.decision.placing import RouteView, Scope, place

WORTH = 0.01
"""Everything is placed anew for so much less on the heaviest carrier, as a part of it."""


def proposed(view: RouteView, limits: Limits, scope: Scope, most: int) -> Placement:
    """A plan with so many moves at most that nothing forces.

    Where these leave more on a carrier than it may hold, only what is forced is done: what would
    have made room there was among the moves that were left out.
    """
    found = _relieving(view, limits, scope, most)
    if _surplus(found, limits):
        least = forced(view, limits)
        if _surplus(least, limits) < _surplus(found, limits):
            return least
    return found


def _relieving(view: RouteView, limits: Limits, scope: Scope, most: int) -> Placement:
    """Moves that only relieve are left out where those that remain of them relieve nobody: what is
    no better than what stands would be moved again by the next round."""
    whole = housed(place(view, limits, scope), view)
    some = capped(whole, view, most)
    if {move.reason for move in voluntary(some.moves)} != {Reason.RELIEVES}:
        return some
    still = capped(whole, view, 0)
    limit = whole.bound * (1 + limits.slack)
    left, was = (
        excess(calm_loads(each.where, each.loads, each.hot), limit) for each in (some, still)
    )
    return some if left < was else still


def _surplus(placement: Placement, limits: Limits) -> int:
    """How many partitions carriers have above what they may hold."""
    counts = Counter(placement.where.values())
    return sum(max(0, count - limits.partitions_max) for count in counts.values())


def is_worth_it(full: Placement, view: RouteView) -> bool:
    """Whether with everything placed anew the heaviest carrier, of those without a hot partition,
    has markedly less than what stands gives it."""
    stands = {each: view.before[each] for each in view.shares if each in view.before}
    was = calm_loads(stands, loads(stands, view.shares, view.carriers), full.hot)
    heaviest = max(calm_loads(full.where, full.loads, full.hot), default=0.0)
    return heaviest < (1 - WORTH) * max(was, default=0.0)
