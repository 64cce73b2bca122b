"""Round inputs: the partitions, carriers and pins that a round plans with."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from balancer.decision.carrier_numbers import numbered
from balancer.decision.carriers_wanted import Wanted, carriers_wanted
from balancer.decision.limits import Limits
from balancer.decision.loads import loads
from balancer.decision.placing import RouteView
from balancer.decision.round_view import RoundView
from balancer.decision.standing import Standing
from balancer.packing.shares import BadShare
from balancer.plan import TopicPartition

HEADROOM = 0.1
"""The carrier count shrinks only if the smaller number still fits with every load higher by this
part. A load that varies by less does not remove carriers and bring them back."""


@dataclass(frozen=True, slots=True)
class Ground:
    """Inputs of one round.

    Args:
        route: view to place; its `before` is the active placement, partitions that are gone
            included.
        wanted: number of wanted carriers; None when loads were never known.
        impossible: pins that are not obeyed because the route has no such carrier.
    """

    route: RouteView
    wanted: Wanted | None
    impossible: Mapping[TopicPartition, int]


def ground(
    view: RoundView,
    limits: Limits,
    *,
    kept: Collection[TopicPartition],
    is_frozen: bool,
    is_held: bool,
) -> Ground:
    """Returns the inputs of a round.

    Args:
        view: knowledge about the route.
        limits: limits of the route.
        kept: vanished partitions that are not believed to be deleted.
        is_frozen: True when the number of carriers stays, whatever their load.
        is_held: True when the number of carriers shrinks only if `carriers_max` demands it.
    """
    before = view.standing or Standing()
    shares = _shares(view, before, kept)
    present = len(before.carriers)
    wanted = before.wanted and replace(before.wanted, calm=())
    if present and (is_frozen or view.degraded):
        count = present
    elif view.degraded:
        count = min(max(view.slots or 0, limits.carriers_min), limits.carriers_max)
    else:
        wanted = _wanted(shares, limits, before)
        if is_held and wanted.carriers < min(present, limits.carriers_max):
            calm = before.wanted.calm if before.wanted else ()
            wanted = replace(wanted, carriers=min(present, limits.carriers_max), calm=calm)
        count = wanted.carriers
    orders = view.orders
    pins = {each: orders.pins[each] for each in sorted(orders.pins) if each in shares}
    carriers = numbered(
        count,
        before.carriers,
        loads(before.where, shares, before.carriers) if count < present else {},
        set(pins.values()),
        orders.excluded,
    )
    possible = {each: carrier for each, carrier in pins.items() if carrier in carriers}
    return Ground(
        RouteView(shares, carriers, before.where, possible),
        wanted,
        {each: carrier for each, carrier in pins.items() if each not in possible},
    )


def _shares(
    view: RoundView, before: Standing, kept: Collection[TopicPartition]
) -> dict[TopicPartition, float]:
    """Returns the shares by partition, in order.

    A kept partition has its share of the view, if any, or else the mean of the other shares.
    """
    if before.where.keys() == view.partitions:
        return {each: view.shares[each] for each in before.where}
    found = {each: view.shares[each] for each in view.partitions}
    average = fmean(found.values()) if found and kept else 0.0
    found |= {each: view.shares.get(each, average) for each in kept}
    return {each: found[each] for each in sorted(found)}


def _wanted(
    by_partition: Mapping[TopicPartition, float], limits: Limits, before: Standing
) -> Wanted:
    present = len(before.carriers)
    shares = np.fromiter(by_partition.values(), np.float64, len(by_partition))
    try:
        now = carriers_wanted(shares, limits)
    except BadShare as error:
        topic, number = list(by_partition)[error.item]
        raise ValueError(f"{topic}-{number}: {error}") from None
    if now.carriers >= present:
        return now
    with_more = carriers_wanted(
        shares * (1 + HEADROOM), limits, present=present, last=before.wanted
    )
    carriers = min(with_more.carriers, present)
    return Wanted(carriers, now.needed, now.at_least, with_more.calm)
