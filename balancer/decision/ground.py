"""What a round plans on: which partitions, on which carriers, with which pins."""

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
"""Fewer carriers have to do also with so much more of every load: a load that goes up and down by
less does not take carriers away and bring them back."""


@dataclass(frozen=True, slots=True)
class Ground:
    """Of one round.

    Args:
        route: what is placed; `before` is what stands, also of partitions that are gone.
        wanted: how many carriers there are to be; None where loads were never known.
        impossible: pins that are not obeyed, since their carrier is not one of the route's.
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
    """Of what is seen.

    Args:
        kept: partitions that are gone and not believed to be.
        is_frozen: the number of carriers stays, whatever they are to carry.
        is_held: there are no fewer of them, unless the limits have changed.
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
    """By partition, in order. One that is gone is taken for what it is still said to have, or else
    for as much as the others have on average."""
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
