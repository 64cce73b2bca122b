"""Loads to pack; rejects shares whose sum would be meaningless."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Shares = NDArray[np.float64]
"""Loads by item, or by carrier for a base; each is at least 0."""
Carriers = NDArray[np.int64]
"""Carrier numbers by item; UNPLACED for an unplaced item."""

UNPLACED = -1
SHARE_MAX = 1e12
"""Largest share: in a sum of a million of these, float64 still resolves a billionth of one."""


class BadShare(ValueError):
    """A share is no valid load. Nothing was packed."""

    def __init__(self, item: int, share: float, why: str):
        super().__init__(f"share {share!r} of item {item} {why}")
        self.item = item


def checked(shares: ArrayLike) -> Shares:
    """Returns the shares as a float64 array.

    Raises:
        BadShare: a share is NaN, negative or above SHARE_MAX; names the first such item.
        ValueError: the shares are not one row.
    """
    found = np.asarray(shares, dtype=np.float64)
    if found.ndim != 1:
        raise ValueError(f"shares in {found.ndim} dimensions: give one row")
    is_bad = ~((found >= 0) & (found <= SHARE_MAX))
    if is_bad.any():
        item = int(is_bad.argmax())
        share = float(found[item])
        raise BadShare(item, share, _why_bad(share))
    return found


def _why_bad(share: float) -> str:
    if math.isnan(share):
        return "is not a number"
    return "is negative" if share < 0 else f"is above {SHARE_MAX:g}"
