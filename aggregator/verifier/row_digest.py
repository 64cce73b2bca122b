"""Digests and differences of rows by their identities, (offset, row in the record). Pure.

Digests of equal sets of rows are equal; digests of different ones differ, except by a chance of one
in 2^64. ClickHouse computes the same digests (`DIGEST_SQL`), so that only the rows of chunks that
differ have to be sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aggregator.store.recognition import Identities

CHUNK_OFFSETS = 100_000
"""Offsets of a chunk: its rows are compared as a whole, or one by one if their digests differ."""
RANGES_MAX = 5
DIGEST_SQL = "sum(intHash64(bitXor(intHash64(toUInt64(_offset)), toUInt64(_row))))"
SALT = np.uint64(0x4CF2D2BAAE6DA887)

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]


class Digest(NamedTuple):
    """Number of rows, and the sum of their hashes."""

    rows: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """Offsets of rows that differ: a row of each, and some offsets several times.

    Args:
        missing: of rows that should be in the table and are not.
        surplus: of rows in the table for which the topic has nothing.
        doubled: of rows that are in the table more than once.
    """

    missing: Ints
    surplus: Ints
    doubled: Ints

    @property
    def is_empty(self) -> bool:
        """True if nothing differs."""
        return not (len(self.missing) or len(self.surplus) or len(self.doubled))


def digest(rows: Identities) -> Digest:
    """Returns the digest of rows."""
    with np.errstate(over="ignore"):
        words = _hashed(_hashed(rows.offset.astype(np.uint64)) ^ rows.row.astype(np.uint64))
        return Digest(len(rows), int(words.sum(dtype=np.uint64)))


def chunks(begin: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yields (number, begin, end) of the chunks of a range of offsets."""
    if begin >= end:
        return
    for number in range(begin // CHUNK_OFFSETS, (end - 1) // CHUNK_OFFSETS + 1):
        first = number * CHUNK_OFFSETS
        yield number, max(begin, first), min(end, first + CHUNK_OFFSETS)


def difference(expected: Identities, found: Identities) -> Difference:
    """Returns the rows that differ. No identity may be expected twice."""
    rows, counts = np.unique(_pairs(found), axis=0, return_counts=True)
    unique = Identities(rows[:, 0], rows[:, 1])
    return Difference(
        missing=expected.offset[~expected.among(unique)],
        surplus=unique.offset[~unique.among(expected)],
        doubled=unique.offset[counts > 1],
    )


def ranges(offsets: Ints) -> str:
    """Returns offsets for people: 5..7, 9; the first ranges of many."""
    unique = np.unique(offsets)
    if not len(unique):
        return "none"
    breaks = np.flatnonzero(np.diff(unique) > 1)
    firsts = unique[np.concatenate(([0], breaks + 1))]
    lasts = unique[np.concatenate((breaks, [len(unique) - 1]))]
    shown = [
        str(first) if first == last else f"{first}..{last}"
        for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True)
    ]
    more = len(shown) - RANGES_MAX
    return ", ".join(shown[:RANGES_MAX]) + (f" and {more} more ranges" if more > 0 else "")


def _pairs(rows: Identities) -> Ints:
    return np.stack((rows.offset, rows.row), axis=1)


def _hashed(words: Words) -> Words:
    """Returns ClickHouse's intHash64: the finalizer of MurmurHash3 with a salt."""
    words = words ^ SALT
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        words = (words ^ (words >> np.uint64(33))) * np.uint64(factor)
    return words ^ (words >> np.uint64(33))
