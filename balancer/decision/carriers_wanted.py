"""Number of carriers of a route: grows with the demand at once, shrinks only after calm rounds."""

from __future__ import annotations

from dataclasses import dataclass

from balancer.decision.limits import Limits
from balancer.packing.count import fewest
from balancer.packing.shares import Shares, checked


@dataclass(frozen=True, slots=True)
class Wanted:
    """Number of wanted carriers.

    Args:
        carriers: number within the limits.
        needed: number without regard to the limits.
        at_least: lower bound for any packing; `needed` exceeds the optimum by the difference at
            most.
        calm: numbers needed in the latest rounds in a row in which fewer carriers would do.
    """

    carriers: int
    needed: int
    at_least: int
    calm: tuple[int, ...] = ()

    @property
    def lacking(self) -> int:
        """Number of carriers that the limits would have to allow in addition."""
        return max(0, self.needed - self.carriers)


def carriers_wanted(
    shares: Shares, limits: Limits, *, present: int = 0, last: Wanted | None = None
) -> Wanted:
    """Returns the fewest carriers that hold all shares at the threshold, and one per hot share.

    The number grows at once. It shrinks only after `limits.calm_rounds` calm rounds, to the largest
    number that one of them needed.

    Args:
        shares: parts of a carrier's time. Pins are unknown here: a plan with pins may fill carriers
            further.
        limits: limits of the route.
        present: current number of carriers; 0 before the first plan.
        last: result of the last round.

    Raises:
        BadShare: a share is no valid load.
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
