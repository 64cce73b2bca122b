"""How many carriers a route gets: as many as its demand needs at once, fewer only after a while."""

from __future__ import annotations

from dataclasses import dataclass

from balancer.decision.limits import Limits
from balancer.packing.count import fewest
from balancer.packing.shares import Shares


@dataclass(frozen=True, slots=True)
class Wanted:
    """So many carriers.

    Args:
        carriers: within the limits.
        needed: whatever the limits.
        at_least: no packing does with fewer; what `needed` can be too many by.
        calm_rounds: for so many rounds in a row fewer would have done than there are.
    """

    carriers: int
    needed: int
    at_least: int
    calm_rounds: int

    @property
    def lacking(self) -> int:
        """How many more the limits would have to allow."""
        return max(0, self.needed - self.carriers)


def carriers_wanted(
    shares: Shares, limits: Limits, *, present: int = 0, calm_rounds: int = 0
) -> Wanted:
    """The fewest that keep every carrier at the threshold; one for each share that is above it.

    Args:
        shares: of a carrier's time.
        present: how many there are; 0 before the first plan.
        calm_rounds: as the last round's `Wanted` has it.
    """
    is_hot = shares > limits.threshold
    hot = int(is_hot.sum())
    counted = fewest(shares[~is_hot], limits.threshold, limits.partitions_max)
    needed, at_least = hot + counted.carriers, hot + counted.at_least
    carriers = min(max(needed, limits.carriers_min), limits.carriers_max)
    if carriers >= present:
        return Wanted(carriers, needed, at_least, 0)
    calm_rounds += 1
    # A limit that was lowered is no lull that may pass.
    stays = calm_rounds < limits.calm_rounds and present <= limits.carriers_max
    return Wanted(present if stays else carriers, needed, at_least, calm_rounds if stays else 0)
