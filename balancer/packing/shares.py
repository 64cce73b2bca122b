"""The loads that are packed, refused where a sum of them would mean nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Shares = NDArray[np.float64]
"""By item, its share: at least 0."""
Carriers = NDArray[np.int64]
"""By item, the number of the carrier that holds it, or HOMELESS."""

HOMELESS = -1
SHARE_MAX = 1e15
"""Above it, float64 no longer tells a sum of a million shares from the same sum and one byte."""


class BadShare(ValueError):
    """A share that is no load. Nothing was packed."""

    def __init__(self, item: int, share: float, why: str):
        super().__init__(f"share {share!r} of item {item} {why}")
        self.item = item


def checked(shares: ArrayLike) -> Shares:
    """The shares as float64, one row. Raises BadShare for the first that is no load."""
    found = np.atleast_1d(np.asarray(shares, dtype=np.float64)).ravel()
    for is_bad, why in (
        (np.isnan(found), "is not a number"),
        (found < 0, "is negative"),
        (found > SHARE_MAX, f"is above {SHARE_MAX:g}"),
    ):
        if is_bad.any():
            item = int(is_bad.argmax())
            raise BadShare(item, float(found[item]), why)
    return found
