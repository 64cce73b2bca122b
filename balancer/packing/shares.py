"""The loads that are packed, refused where a sum of them would mean nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Shares = NDArray[np.float64]
"""By item, its share: at least 0."""
Carriers = NDArray[np.int64]
"""By item, the number of the carrier that holds it, or HOMELESS."""

HOMELESS = -1
SHARE_MAX = 1e12
"""In a sum of a million of these, float64 still sees a billionth of one."""


class BadShare(ValueError):
    """A share that is no load. Nothing was packed."""

    def __init__(self, item: int, share: float, why: str):
        super().__init__(f"share {share!r} of item {item} {why}")
        self.item = item


def checked(shares: ArrayLike) -> Shares:
    """The shares as float64. Raises BadShare for the first that is no load."""
    found = np.asarray(shares, dtype=np.float64)
    if found.ndim != 1:
        raise ValueError(f"shares in {found.ndim} dimensions: give one row")
    for is_bad, why in (
        (np.isnan(found), "is not a number"),
        (found < 0, "is negative"),
        (found > SHARE_MAX, f"is above {SHARE_MAX:g}"),
    ):
        if is_bad.any():
            item = int(is_bad.argmax())
            raise BadShare(item, float(found[item]), why)
    return found
