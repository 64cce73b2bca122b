"""Zigzag varints: signed integers as Kafka's records encode them, processed as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Octets = npt.NDArray[np.uint8]
Unsigned = npt.NDArray[np.uint64]

BYTES_MAX = 10


class BrokenNumber(ValueError):
    """A number that runs past the end of the bytes, or is longer than ten bytes."""


def read(data: Octets, at: Ints) -> tuple[Ints, Ints]:
    """Reads the number at each position; returns the numbers and the positions behind them.

    Raises:
        BrokenNumber: a number does not end within the data or within ten bytes.
    """
    value = np.zeros(len(at), dtype=np.uint64)
    more: npt.NDArray[Any] = np.ones(len(at), dtype=np.bool_)
    try:
        for place in range(BYTES_MAX):
            octet = np.where(more, data[np.where(more, at, 0)], 0) if place else data[at]
            value |= (octet & 0x7F).astype(np.uint64) << np.uint64(7 * place)
            at = at + more
            more = octet > 0x7F
            if not more.any():
                return unsigned_to_signed(value), at
    except IndexError:
        raise BrokenNumber("a number runs past the end of the records") from None
    raise BrokenNumber(f"a number of more than {BYTES_MAX} bytes")


def sizes(value: Unsigned) -> Ints:
    """Returns the encoded size of each number in bytes."""
    size = np.ones(len(value), dtype=np.int64)
    rest = value >> np.uint64(7)
    while rest.any():
        size += rest > 0
        rest = rest >> np.uint64(7)
    return size


def write(data: Octets, at: Ints, value: Unsigned, size: Ints) -> None:
    """Writes each number, `size` bytes long, at its position."""
    last = size - 1
    for place in range(int(size.max(initial=0))):
        septet = (value >> np.uint64(7 * place)).astype(np.uint8) & 0x7F
        octet = np.where(last > place, septet | 0x80, septet)
        if place:
            here = size > place
            data[at[here] + place] = octet[here]
        else:
            data[at] = octet


def signed_to_unsigned(value: Ints) -> Unsigned:
    """Maps 0, -1, 1, -2 ... to 0, 1, 2, 3 ..."""
    return ((value << 1) ^ (value >> 63)).view(np.uint64)


def unsigned_to_signed(value: Unsigned) -> Ints:
    return (value >> np.uint64(1)).view(np.int64) ^ -(value & np.uint64(1)).view(np.int64)
