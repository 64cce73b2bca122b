"""Version: a row of a key, as far as it matters for which row of the key is the newest."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

ORDER_MIN = -(1 << 63)
"""Least order."""


class Version(NamedTuple):
    """Row of a key. Versions compare by what the record alone says: the largest is the newest.

    Args:
        order: value of the column that says which row is the newest, or the record's timestamp in
            milliseconds.
        lane: number of the input partition; of equal versions that of the larger number wins.
        offset: of the record.
        row: number of the row in its record.
        row_id: see Tick.row_id.
        is_delete: the record deletes the key.
    """

    order: int
    lane: int
    offset: int
    row: int
    row_id: int
    is_delete: bool


class EndKind(StrEnum):
    """Reason why a row is not visible any more."""

    SUPERSEDED = "superseded"
    """A newer row came."""
    LATE = "late"
    """A newer row of its key was there before: it was never visible."""
    DELETED = "deleted"
    """A record deleted the key."""


class RowEnd(NamedTuple):
    """End of a row: a segment update event. The same tick always gives the same ends.

    Args:
        row_id: of the row that ends. It is the old row's, not that of the row that ends it.
        lane: of the row that ends, with its offset: the segment and the offset of the source.
        tick: at which it ends.
        by_row_id: the row that ends it.
        key: 16 bytes, the hash of the key (key_hash.py).
    """

    row_id: int
    lane: int
    offset: int
    kind: EndKind
    tick: int
    by_row_id: int
    key: bytes
