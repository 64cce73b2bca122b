"""Unsigned varints (LEB128): seven bits to a byte, so that small numbers take one byte."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

# Up to this many numbers or bytes, a plain loop is faster than numpy's dozen calls.
LOOP_MAX = 96

CUT = "the bytes end inside a number"
TOO_LONG = "a number does not fit in 63 bits"


class BrokenVarints(ValueError):
    """The bytes are cut or not ours, or a number does not fit: negative, or above 63 bits."""


def packed(values: Sequence[int] | npt.NDArray[np.int64]) -> bytes:
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


def unpacked(data: bytes | memoryview) -> npt.NDArray[np.int64]:
    """Returns the numbers of these bytes; raises BrokenVarints when they are cut or not ours."""
    if len(data) <= LOOP_MAX:
        return np.array(_unpacked_one_by_one(data), dtype=np.int64)
    octets = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero(octets < 128)
    if not len(ends) or ends[-1] != len(octets) - 1:
        raise BrokenVarints(CUT)
    begins = np.concatenate([[0], ends[:-1] + 1])
    lengths = ends - begins + 1
    longest = int(lengths.max())
    if longest > 9:
        raise BrokenVarints(TOO_LONG)
    values = np.zeros(len(ends), dtype=np.int64)
    for place in range(longest):
        reaching = lengths > place
        septets = octets[begins[reaching] + place].astype(np.int64) & 127
        values[reaching] |= septets << (7 * place)
    return values


def _unpacked_one_by_one(data: bytes | memoryview) -> list[int]:
    values = []
    value = place = 0
    for octet in data:
        value |= (octet & 127) << place
        if octet < 128:
            values.append(value)
            value = place = 0
        else:
            place += 7
            if place > 56:
                raise BrokenVarints(TOO_LONG)
    if place:
        raise BrokenVarints(CUT)
    return values


def _packed_at_once(values: npt.NDArray[np.int64]) -> bytes:
    if len(values) and values.min() < 0:
        raise BrokenVarints(f"{values.min()} is below 0")
    lengths = np.ones(len(values), dtype=np.int64)
    for place in range(1, 9):
        lengths += values >= np.int64(1) << np.int64(7 * place)
    ends = np.cumsum(lengths)
    begins = ends - lengths
    octets = np.zeros(int(ends[-1]), dtype=np.uint8)
    for place in range(int(lengths.max())):
        reaching = lengths > place
        septets = (values[reaching] >> (7 * place)) & 127
        more = (lengths[reaching] > place + 1).astype(np.int64) << 7
        octets[begins[reaching] + place] = septets | more
    return octets.tobytes()
