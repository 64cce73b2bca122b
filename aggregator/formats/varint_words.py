"""Varint words: numbers of up to ten bytes, read eight bytes at a time.

A varint has seven bits of the number in each byte, the lowest first; the highest bit of a byte says
that another one follows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from aggregator.formats.record_slice import Ints
from aggregator.formats.time_texts import Flags
from replicator.batches.varints import Octets

Words = npt.NDArray[np.uint64]

PADDING = bytes(16)
"""Bytes that stand behind the data, so that a number may be read at its end."""
_U = np.uint64
_HIGH_BITS = _U(0x8080808080808080)


def words_at(octets: Octets, at: Ints) -> Words:
    """Returns eight bytes from each position as a number, the lowest byte first."""
    words = np.ndarray((len(octets) - 7,), dtype="<u8", buffer=octets.data, strides=(1,))
    found: Words = words[at]
    return found


def varints_at(octets: Octets, at: Ints) -> tuple[Words, Ints, Flags]:
    """Reads the number at each position.

    Args:
        octets: the data, with PADDING behind it.

    Returns:
        The numbers, the positions behind them, and True for each of more than ten bytes or 64 bits.
    """
    octet = octets[at]
    if (octet < 128).all():
        return octet.astype(np.uint64), at + 1, np.zeros(len(at), np.bool_)
    word = words_at(octets, at)
    ends = ~word & _HIGH_BITS
    lowest = ends & (~ends + _U(1))
    # All bits up to that of the last byte; for a number of more than eight bytes, all of the word.
    value = septets(word & (lowest - _U(1)))
    behind = at + ((np.bitwise_count(lowest - _U(1)).astype(np.int64) + 1) >> 3)
    bad = np.zeros(len(at), np.bool_)
    is_long = lowest == 0
    if is_long.any():
        which = np.flatnonzero(is_long)
        rest = words_at(octets, at[which] + 8)
        ninth, tenth = rest & _U(0xFF), rest >> _U(8) & _U(0xFF)
        has_tenth = ninth > 127
        bad[which] = has_tenth & (tenth > 1)
        high = (ninth & _U(127)) << _U(56) | np.where(has_tenth, tenth & _U(1), _U(0)) << _U(63)
        value[which] |= high
        behind[which] = at[which] + 9 + has_tenth
    return value, behind, bad


def septets(word: Words) -> Words:
    """Returns the low seven bits of each byte, put together."""
    pairs = (word & _U(0x007F007F007F007F)) | (word & _U(0x7F007F007F007F00)) >> _U(1)
    fours = (pairs & _U(0x00003FFF00003FFF)) | (pairs & _U(0x3FFF00003FFF0000)) >> _U(2)
    return (fours & _U(0x0FFFFFFF)) | (fours & _U(0x0FFFFFFF00000000)) >> _U(4)
