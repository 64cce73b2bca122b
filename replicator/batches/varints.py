"""Varints (LEB128): seven bits to a byte, so that small numbers take one byte.

Kafka's records hold signed numbers in zigzag order (0, -1, 1, -2 ... as 0, 1, 2, 3 ...); our own
formats hold numbers from 0 on. Columns are processed by numpy, all numbers at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Octets = npt.NDArray[np.uint8]
Unsigned = npt.NDArray[np.uint64]

BYTES_MAX = 10
LENGTH_BYTES_MAX = 5
BYTES_MAX_UNSIGNED = 9
"""Size of 2**63 - 1, the largest number that our own formats hold."""
# Up to this many numbers or bytes, a plain loop is faster than numpy's dozen calls.
LOOP_MAX = 96

CUT = "the bytes end inside a number"
TOO_LONG = "a number does not fit in 63 bits"


class BrokenVarints(ValueError):
    """The bytes are cut or not ours, or a number does not fit."""


# -- our own formats: numbers from 0 to 2**63 - 1


def packed(values: Sequence[int] | Ints) -> bytes:
    """Returns the bytes of numbers from 0 to 2**63 - 1; raises BrokenVarints below 0."""
    if len(values) > LOOP_MAX:
        return _packed_at_once(np.asarray(values, dtype=np.int64))
    data = bytearray()
    for value in values:
        number = int(value)
        if number < 0:
            raise BrokenVarints(f"{number} is below 0")
        while number > 127:
            data.append(number & 127 | 128)
            number >>= 7
        data.append(number)
    return bytes(data)


def unpacked(data: bytes | memoryview) -> Ints:
    """Returns the numbers of these bytes; raises BrokenVarints when they are cut or not ours."""
    if len(data) <= LOOP_MAX:
        return np.array(list(numbers(data)), dtype=np.int64)
    octets = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero(octets < 128) + 1
    if not len(ends) or ends[-1] != len(octets):
        raise BrokenVarints(CUT)
    begins = np.concatenate(([0], ends[:-1]))
    if (ends - begins).max() > BYTES_MAX_UNSIGNED:
        raise BrokenVarints(TOO_LONG)
    return _read(octets, begins)[0].view(np.int64)


def numbers(data: bytes | memoryview) -> Iterator[int]:
    """Yields one number after the other, as far as it is asked.

    Raises:
        BrokenVarints: the bytes end inside a number, or it does not fit in 63 bits.
    """
    value = shift = 0
    for octet in data:
        if octet < 128:
            yield value | octet << shift
            value = shift = 0
        else:
            value |= (octet & 127) << shift
            shift += 7
            if shift > 56:
                raise BrokenVarints(TOO_LONG)
    if shift:
        raise BrokenVarints(CUT)


def _packed_at_once(values: Ints) -> bytes:
    if values.min() < 0:
        raise BrokenVarints(f"{values.min()} is below 0")
    unsigned = values.view(np.uint64)
    size = sizes(unsigned)
    ends = np.cumsum(size)
    octets = np.empty(int(ends[-1]), dtype=np.uint8)
    write(octets, ends - size, unsigned, size)
    return octets.tobytes()


# -- numbers of Kafka's records, single and in columns


def read_length(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """Reads a length in zigzag order; returns it and the position behind it.

    Raises:
        BrokenVarints: it does not end within LENGTH_BYTES_MAX, the size of any 32-bit number.
        IndexError: the data ends inside it.
    """
    value = 0
    for place in range(LENGTH_BYTES_MAX):
        octet = data[at + place]
        value |= (octet & 127) << (7 * place)
        if octet < 128:
            return value >> 1, at + place + 1
    raise BrokenVarints(f"a record's length of more than {LENGTH_BYTES_MAX} bytes")


def read_signed(data: Octets, at: Ints) -> tuple[Ints, Ints]:
    """Reads the zigzag number at each position; returns the numbers and the positions behind them.

    Raises:
        BrokenVarints: a number does not end within the data or within ten bytes.
    """
    value, behind = _read(data, at)
    return unsigned_to_signed(value), behind


def _read(data: Octets, at: Ints) -> tuple[Unsigned, Ints]:
    try:
        octet = data[at]
        more = octet > 0x7F
        # Most columns are of numbers that take a byte each.
        if not more.any():
            return octet.astype(np.uint64), at + 1
        value, at = (octet & 0x7F).astype(np.uint64), at + 1
        for place in range(1, BYTES_MAX):
            octet = np.where(more, data[np.where(more, at, 0)], 0)
            value |= (octet & 0x7F).astype(np.uint64) << np.uint64(7 * place)
            at = at + more
            more = octet > 0x7F
            if not more.any():
                return value, at
    except IndexError:
        raise BrokenVarints(CUT) from None
    raise BrokenVarints(f"a number of more than {BYTES_MAX} bytes")


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
