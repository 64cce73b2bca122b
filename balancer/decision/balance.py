"""Balance check: finds that a sticky plan would move nothing, without making that plan.

The check costs a fraction of a plan, and most rounds need no more.
"""

from __future__ import annotations

import numpy as np

from balancer.decision.limits import Limits
from balancer.decision.placing import RouteView
from balancer.packing.bounds import ROUNDING, heaviest_at_least


def is_balanced(view: RouteView, limits: Limits) -> bool:
    """Returns True when a sticky plan would move nothing.

    Returns False also when only a plan can tell: a partition is new, has lost its carrier, is not
    where it is pinned, or is hot and shares its carrier.
    """
    carriers = sorted(set(view.carriers))
    index = {carrier: at for at, carrier in enumerate(carriers)}
    where = np.array([index.get(view.before.get(each, -1), -1) for each in view.shares], np.int64)
    if len(where) and where.min() < 0:
        return False
    shares = np.fromiter(view.shares.values(), np.float64, len(where))
    pins = {each: at for each, at in view.pins.items() if each in view.shares}
    if any(view.before[each] != carrier for each, carrier in pins.items()):
        return False
    counts = np.bincount(where, minlength=len(carriers))
    with_hot = where[shares > limits.threshold]
    if (counts > limits.partitions_max).any() or (counts[with_hot] > 1).any():
        return False
    is_calm = np.full(len(carriers), True)
    is_calm[with_hot] = False
    if not is_calm.any():
        return True
    base = np.zeros(len(carriers))
    for partition, carrier in pins.items():
        base[index[carrier]] += view.shares[partition]
    is_free = is_calm[where] & np.array([each not in pins for each in view.shares], np.bool_)
    bound = heaviest_at_least(shares[is_free], int(is_calm.sum()), base[is_calm])
    found = np.bincount(where, shares, len(carriers))[is_calm]
    heaviest = max(bound * (1 + limits.slack) * (1 + ROUNDING), limits.idle)
    return bool(found.max() <= heaviest)
