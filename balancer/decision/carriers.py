"""Carriers of a round: how many a route has, which numbers they have, and what they may carry."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from itertools import count
from statistics import fmean

import numpy as np

from balancer.decision.placement import PartitionShares, RouteView, Where, loads
from balancer.decision.settings import Limits
from balancer.decision.state import RoundState, Wanted
from balancer.decision.view import RoundView
from balancer.packing.count import fewest
from balancer.packing.shares import BadShare, Shares, checked
from balancer.topic_partition import TopicPartition

HEADROOM = 0.1
"""The carrier count shrinks only if the smaller number still fits with every load higher by this
part. A load that varies by less does not remove carriers and bring them back."""
ALIKE = 0.05
"""Width of a class of loads, as a part of a carrier's time; loads of one class count as equal."""


@dataclass(frozen=True, slots=True)
class RoundInputs:
    """Partitions, carriers and pins that a round plans with.

    Args:
        route: view to place; its `before` is the active placement, partitions that are gone
            included.
        wanted: number of wanted carriers; None when loads were never known.
        impossible_pins: pins that are not obeyed because the route has no such carrier.
    """

    route: RouteView
    wanted: Wanted | None
    impossible_pins: Where


def round_inputs(
    view: RoundView,
    limits: Limits,
    *,
    kept: Collection[TopicPartition],
    is_frozen: bool,
    is_held: bool,
) -> RoundInputs:
    """Returns the inputs of a round.

    Args:
        view: knowledge about the route.
        limits: limits of the route.
        kept: vanished partitions that are not believed to be deleted.
        is_frozen: True when the number of carriers stays, whatever their load.
        is_held: True when the number of carriers shrinks only if `carriers_max` demands it.

    Raises ValueError that names the partition when a share is no valid load.
    """
    before, orders = view.before, view.orders
    shares = _shares(view, kept)
    present = len(before.carriers)
    wanted = before.wanted and replace(before.wanted, calm=())
    if present and (is_frozen or view.degraded):
        number = present
    elif view.degraded:
        number = min(max(view.slots or 0, limits.carriers_min), limits.carriers_max)
    else:
        wanted = _wanted(shares, limits, before)
        if is_held and wanted.carriers < min(present, limits.carriers_max):
            calm = before.wanted.calm if before.wanted else ()
            wanted = replace(wanted, carriers=min(present, limits.carriers_max), calm=calm)
        number = wanted.carriers
    pins = {each: orders.pins[each] for each in sorted(orders.pins) if each in shares}
    carriers = numbered(
        number,
        before.carriers,
        loads(before.where, shares, before.carriers) if number < present else {},
        set(pins.values()),
        orders.excluded,
    )
    possible = {each: carrier for each, carrier in pins.items() if carrier in carriers}
    impossible = {each: carrier for each, carrier in pins.items() if carrier not in carriers}
    return RoundInputs(RouteView(shares, carriers, before.where, possible), wanted, impossible)


def _shares(view: RoundView, kept: Collection[TopicPartition]) -> dict[TopicPartition, float]:
    """Returns the shares by partition, in order.

    A kept partition has its share of the view, if any, or else the mean of the other shares.
    """
    where = view.before.where
    if where.keys() == view.partitions:
        return {each: view.shares[each] for each in where}
    found = {each: view.shares[each] for each in view.partitions}
    average = fmean(found.values()) if found and kept else 0.0
    found |= {each: view.shares.get(each, average) for each in kept}
    return {each: found[each] for each in sorted(found)}


def _wanted(by_partition: PartitionShares, limits: Limits, before: RoundState) -> Wanted:
    present = len(before.carriers)
    shares = np.fromiter(by_partition.values(), np.float64, len(by_partition))
    try:
        now = carriers_wanted(shares, limits)
    except BadShare as error:
        topic, partition = list(by_partition)[error.item]
        raise ValueError(f"{topic}-{partition}: {error}") from None
    if now.carriers >= present:
        return now
    with_more = carriers_wanted(
        shares * (1 + HEADROOM), limits, present=present, last=before.wanted
    )
    carriers = min(with_more.carriers, present)
    return Wanted(carriers, now.needed, now.at_least, with_more.calm)


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


def numbered(
    wanted: int,
    present: Collection[int],
    by_carrier: Mapping[int, float],
    pinned: Collection[int],
    excluded: Collection[int],
) -> tuple[int, ...]:
    """Returns the carriers' numbers, in order: as many as are wanted, if possible those of before.

    Of too many carriers those with the least load go; of about equal ones the highest number goes
    first. Carriers with a pinned partition stay, so more may be left than are wanted. Missing
    carriers get the lowest free numbers.

    Args:
        wanted: number of carriers.
        present: numbers of the previous round.
        by_carrier: load of each carrier, as a part of its time.
        pinned: carriers that a partition is pinned to.
        excluded: numbers that are not used; other numbers replace them.
    """
    usable = sorted(set(present) - set(excluded))
    free = [at for at in usable if at not in pinned]
    free.sort(key=lambda at: (int(by_carrier.get(at, 0.0) / ALIKE), -at))
    kept = set(usable) - set(free[: max(0, len(usable) - wanted)])
    taken = kept | set(excluded)
    new = (number for number in count() if number not in taken)
    return tuple(sorted(kept | {next(new) for _ in range(wanted - len(kept))}))
