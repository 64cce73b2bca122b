"""Avro items: the items of arrays and maps, each with a cursor of its own.

Items of many datums are passed in step. Once few datums have items left, they are passed one after
the other by a loop over bytes: the first way costs the same for each step, however few they are.
"""

from __future__ import annotations

import numpy as np

from aggregator.formats.avro_cursors import Cursors
from aggregator.formats.avro_schema import AvroType
from aggregator.formats.avro_values import values_of
from aggregator.formats.record_slice import Ints

_LOOP_BELOW = 100
_SIZES = {"null": 0, "boolean": 1, "float": 4, "double": 8}
_LIMITS = {"int": (-(2**31), 2**31), "long": (-(2**63), 2**63)}


def items_of(kind: AvroType, cursors: Cursors) -> tuple[Cursors, Ints]:
    """Passes an array or a map of each datum.

    Returns:
        Cursors at the items, and the index of the datum of each, in ascending order. The items end
        where they end; whether each can be read is not known.
    """
    (item,) = kind.parts
    found: list[tuple[Ints, Ints, Ints]] = []
    left = np.flatnonzero(~cursors.is_broken)
    while len(left) >= _LOOP_BELOW:
        block = cursors.some(left)
        count = block.number()
        has_size = np.flatnonzero(count < 0)
        if len(has_size):
            sized = block.some(has_size)
            sized.number()
            block.rejoin(has_size, sized)
            count = np.abs(count)
        # The least number of 64 bits has no absolute value.
        block.break_where(count < 0)
        for which, begin, end in _passed(item, block, count):
            found.append((left[which], begin, end))
        cursors.rejoin(left, block)
        left = left[(count > 0) & ~block.is_broken]
    for at in left.tolist():
        begins, ends, behind, is_broken = _walked(item, cursors, at)
        found.append((np.full(len(begins), at), begins, ends))
        cursors.at[at] = behind
        if is_broken:
            cursors.break_where(np.arange(len(cursors)) == at)
    if not found:
        nothing = np.empty(0, np.int64)
        return cursors.some(nothing), nothing
    owner, begin, end = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.argsort(owner, kind="stable")
    owner = owner[order]
    return Cursors.over(cursors.octets, begin[order], end[order], cursors.record[owner]), owner


def _passed(item: AvroType, block: Cursors, count: Ints) -> list[tuple[Ints, Ints, Ints]]:
    """Passes the items of a block of each datum; returns indexes, begins and ends of items."""
    found: list[tuple[Ints, Ints, Ints]] = []
    left = np.where(block.is_broken, 0, count)
    which = np.flatnonzero(left)
    while len(which) >= _LOOP_BELOW:
        step = block.some(which)
        begin = step.at.copy()
        skip(item, step)
        block.rejoin(which, step)
        good = ~step.is_broken
        found.append((which[good], begin[good], step.at[good]))
        left[which] -= 1
        which = which[good & (left[which] > 0)]
    for at in which.tolist():
        limits, is_broken = _looped(item, block, at, int(left[at]))
        found.append((np.full(len(limits) - 1, at), limits[:-1], limits[1:]))
        block.at[at] = limits[-1]
        if is_broken:
            block.break_where(np.arange(len(block)) == at)
    return found


def skip(kind: AvroType, cursors: Cursors) -> None:
    """Passes a value of each datum."""
    if kind.base == "record":
        for part in kind.parts:
            skip(part, cursors)
    elif kind.base == "union":
        branch = cursors.number()
        cursors.break_where((branch < 0) | (branch >= len(kind.parts)))
        branch[cursors.is_broken] = -1
        for number, part in enumerate(kind.parts):
            which = np.flatnonzero(branch == number)
            if len(which):
                chosen = cursors.some(which)
                skip(part, chosen)
                cursors.rejoin(which, chosen)
    elif kind.base in ("array", "map"):
        items_of(kind, cursors)
    else:
        values_of(kind, cursors, None)


def _looped(item: AvroType, block: Cursors, at: int, count: int) -> tuple[Ints, bool]:
    """Returns where items of one datum begin and end, and True if they do not end within it."""
    begin = int(block.at[at])
    data = block.octets[begin : int(block.end[at])].tobytes()
    limits, place = [0], 0
    is_broken = False
    try:
        for _ in range(count):
            place = _behind(item, data, place)
            if place > len(data):
                raise IndexError
            limits.append(place)
    except IndexError:
        is_broken = True
    return np.array(limits) + begin, is_broken


def _walked(item: AvroType, cursors: Cursors, at: int) -> tuple[Ints, Ints, int, bool]:
    """Returns where all items of one datum's array or map begin and end, the place behind it, and
    True if it does not end within the datum."""
    begin = int(cursors.at[at])
    data = cursors.octets[begin : int(cursors.end[at])].tobytes()
    begins: list[int] = []
    ends: list[int] = []
    place = 0
    is_broken = False
    try:
        while (found := _block(data, place))[0]:
            count, place = found
            for _ in range(count):
                behind = _behind(item, data, place)
                if behind > len(data):
                    raise IndexError
                begins.append(place)
                ends.append(behind)
                place = behind
        place = found[1]
    except IndexError:
        is_broken = True
    return (
        np.array(begins, np.int64) + begin,
        np.array(ends, np.int64) + begin,
        begin + place,
        is_broken,
    )


def _block(data: bytes, at: int) -> tuple[int, int]:
    """Returns the number of items of a block, and where these begin."""
    count, at = _number(data, at)
    if count < 0:
        _, at = _number(data, at)
    return abs(count), at


def _behind(kind: AvroType, data: bytes, at: int) -> int:
    """Returns the place behind a value; raises IndexError if there is none."""
    base = kind.base
    if base == "boolean" and data[at] > 1:
        raise IndexError
    if base in _SIZES:
        return at + _SIZES[base]
    if base == "fixed":
        return at + kind.size
    if base == "record":
        for part in kind.parts:
            at = _behind(part, data, at)
        return at
    if base in ("array", "map"):
        return _behind_items(kind.parts[0], data, at)
    number, at = _number(data, at)
    if base == "union":
        if not 0 <= number < len(kind.parts):
            raise IndexError
        return _behind(kind.parts[number], data, at)
    if base in ("string", "bytes"):
        if number < 0:
            raise IndexError
        return at + number
    least, behind = (0, len(kind.symbols)) if base == "enum" else _LIMITS[base]
    if not least <= number < behind:
        raise IndexError
    return at


def _behind_items(item: AvroType, data: bytes, at: int) -> int:
    while True:
        count, at = _block(data, at)
        if not count:
            return at
        for _ in range(count):
            at = _behind(item, data, at)
            if at > len(data):
                raise IndexError


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(0, 70, 7):
        octet = data[at]
        at += 1
        value |= (octet & 127) << place
        if octet < 128:
            return (value >> 1) ^ -(value & 1), at
    raise IndexError
