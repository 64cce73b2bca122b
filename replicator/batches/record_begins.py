"""Record begins: where each record of an opened batch begins, behind the length of the one before.

A record is its length and then its attributes, a byte that is zero in all versions of Kafka. Of
many records the zeros are therefore looked at, all at once; a chain of lengths from the first
record to the end of the data proves that the right ones were found. Otherwise one length is read
after the other, which takes 0.2 microseconds a record.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from replicator.batches import varints

Ints = npt.NDArray[np.int64]
Octets = npt.NDArray[np.uint8]

MANY = 256
"""Number of records from which numpy's calls are faster than a loop."""
ZEROS_MAX = 8
"""Zeros a record above which the loop is faster."""


def record_begins(data: bytes | memoryview, begin: Ints, end: Ints, count: Ints) -> Ints:
    """Returns the position of each record.

    Args:
        begin, end, count: limits of ranges of the data, and the number of records in each.

    Raises:
        IndexError, BrokenVarints: the data ends within a record.
    """
    if (count == 1).all():
        return begin
    octets = np.frombuffer(data, np.uint8)
    found: list[Ints] = []
    for first, last, records in zip(begin.tolist(), end.tolist(), count.tolist(), strict=True):
        begins = at_once(octets[first:last], records) if records >= MANY else None
        found.append(one_by_one(data, first, records) if begins is None else begins + first)
    return np.concatenate(found) if found else np.empty(0, np.int64)


def at_once(octets: Octets, count: int) -> Ints | None:
    """Returns the positions of so many records that fill the data; None if they were not found."""
    zeros = np.flatnonzero(octets == 0)
    if not len(zeros) or len(zeros) > ZEROS_MAX * count:
        return None
    # Lengths of one, two and three bytes; nothing is before the first one.
    zeros = zeros[1:] if zeros[0] == 0 else zeros
    last, middle, first = (octets[zeros - back].astype(np.int64) for back in (1, 2, 3))
    has_two = (middle > 0x7F) & (zeros > 1)
    has_three = has_two & (first > 0x7F) & (zeros > 2)
    value = np.where(has_two, middle & 0x7F | last << 7, last)
    value = np.where(has_three, first & 0x7F | (middle & 0x7F) << 7 | last << 14, value)
    begin = zeros - 1 - has_two - has_three
    end = zeros + (value >> 1)
    possible = (last < 0x80) & (value & 1 == 0) & (end <= len(octets))
    begin, end = begin[possible], end[possible]
    # A record begins where another one ends, but for the first; and ends likewise.
    begins = np.zeros(len(octets) + 1, np.bool_)
    begins[begin] = begins[-1] = True
    begin, end = begin[begins[end]], end[begins[end]]
    ends = np.zeros(len(octets) + 1, np.bool_)
    ends[end] = ends[0] = True
    begin, end = begin[ends[begin]], end[ends[begin]]
    is_chain = (
        len(begin) == count
        and begin[0] == 0
        and end[-1] == len(octets)
        and bool((end[:-1] == begin[1:]).all())
    )
    return begin if is_chain else None


def one_by_one(data: bytes | memoryview, begin: int, count: int) -> Ints:
    """Returns the positions of so many records."""
    found, at = [], begin
    for _ in range(count):
        found.append(at)
        octet = data[at]
        if octet < 0x80:
            at += 1 + (octet >> 1)
        elif data[at + 1] < 0x80:
            at += 2 + ((octet & 0x7F | data[at + 1] << 7) >> 1)
        else:
            length, behind = varints.read_length(data, at)
            at = behind + length
    return np.array(found, dtype=np.int64)
