"""How many carriers a route gets: as many as its demand needs at once, fewer only after a while."""

from __future__ import annotations

from dataclasses import dataclass

from balancer.decision.limits import Limits
from balancer.packing.count import fewest
from balancer.packing.shares import Shares, checked


@dataclass(frozen=True, slots=True)
class Wanted:
    """So many carriers.

    Args:
        carriers: within the limits.
        needed: whatever the limits.
        at_least: no packing does with fewer; what `needed` can be too many by.
        calm: what was needed in each of the last rounds in which fewer would have done.
    """

    carriers: int
    needed: int
    at_least: int
    calm: tuple[int, ...] = ()

    @property
    def lacking(self) -> int:
        """How many more the limits would have to allow."""
        return max(0, self.needed - self.carriers)


def carriers_wanted(
    shares: Shares, limits: Limits, *, present: int = 0, last: Wanted | None = None
) -> Wanted:
    """The fewest for which every share can be packed at the threshold, and one for each hot share.

    There are more at once, and fewer only after calm rounds: as many as the worst of these needed.

    Args:
        shares: of a carrier's time. Pins are not known here: a plan with pins may be fuller.
        present: how many there are; 0 before the first plan.
        last: what was wanted in the last round.

    Raises:
        BadShare
    """
    shares = checked(shares)
    is_hot = shares > limits.threshold
    hot = int(is_hot.sum())
    counted = fewest(shares[~is_hot], limits.threshold, limits.partitions_max)
    needed, at_least = hot + counted.carriers, hot + counted.at_least
    if _within(limits, needed) >= present:
        return Wanted(_within(limits, needed), needed, at_least)
    calm = (*(last.calm if last else ()), needed)
    if len(calm) < limits.calm_rounds:
        return Wanted(_within(limits, present), needed, at_least, calm)
    return Wanted(_within(limits, max(calm)), needed, at_least)


def _within(limits: Limits, carriers: int) -> int:
    return min(max(carriers, limits.carriers_min), limits.carriers_max)
