"""Binary form of the windows of a look: one value in Redis.

A version byte, the length of the first part in four bytes, and two parts, each zlib-compressed:

    partitions  a line of JSON, [[topic, number of its partitions], ...]; then varints: differences
                between successive partition numbers of a topic
    numbers     varints: the earliest begin; then, column by column, begins relative to it and
                lengths (both in ms), bytes, records

The first part is the same in every look at the same partitions.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby

import numpy as np

from balancer.demand.window_columns import Numbers, WindowColumns
from balancer.topic_partition import TopicPartition
from replicator.batches import varints
from replicator.runtime.error_text import error_text

VERSION = 1
PART_BYTES_MAX = 256 << 20
"""Limit of an uncompressed part; a million partitions take a tenth of it."""
_HEADER = struct.Struct(">BI")
_FASTEST = 1


class UnknownVersion(ValueError):
    """A newer Sluice wrote these windows."""


class BrokenWindows(ValueError):
    """The bytes are not windows, or are incomplete."""


def pack(windows: WindowColumns) -> bytes:
    """Returns the binary form of windows. Their times have to be after 1970."""
    order = sorted(range(len(windows)), key=windows.partitions.__getitem__)
    places = [windows.partitions[at] for at in order]
    base = int(windows.begins_ms.min()) if order else 0
    columns = (
        windows.begins_ms - base,
        windows.ends_ms - windows.begins_ms,
        windows.bytes,
        windows.records,
    )
    numbers = np.concatenate([np.array([base]), *(column[order] for column in columns)])
    first = _deflated(_names(places))
    return _HEADER.pack(VERSION, len(first)) + first + _deflated(varints.packed(numbers))


def unpack(data: bytes) -> WindowColumns:
    """Returns the windows in these bytes. Windows of the same partitions share one `places` tuple.

    Raises:
        UnknownVersion, BrokenWindows
    """
    if data and data[0] != VERSION:
        raise UnknownVersion(f"windows of format {data[0]}; this Sluice reads {VERSION}")
    try:
        _, length = _HEADER.unpack_from(data)
        places = _places(data[_HEADER.size : _HEADER.size + length])
        numbers = varints.unpacked(_inflated(data[_HEADER.size + length :]))
        begins, lengths, taken, records = np.split(numbers[1:], 4)
        begins = begins + numbers[0]
        return WindowColumns(places, begins, begins + lengths, taken, records)
    except BrokenWindows:
        raise
    except (ValueError, LookupError, TypeError, struct.error, zlib.error, RecursionError) as error:
        raise BrokenWindows(f"{len(data)} bytes: {error_text(error)}") from error


def _names(places: Sequence[TopicPartition]) -> bytes:
    topics = []
    steps: list[int] = []
    for topic, some in groupby(places, key=lambda place: place.topic):
        numbers = [place.partition for place in some]
        topics.append([topic, len(numbers)])
        steps += (after - before for before, after in zip([0, *numbers], numbers, strict=False))
    return json.dumps(topics).encode() + b"\n" + varints.packed(steps)


@lru_cache(maxsize=2)
def _places(first: bytes) -> tuple[TopicPartition, ...]:
    text, _, rest = _inflated(first).partition(b"\n")
    steps = varints.unpacked(rest)
    places: list[TopicPartition] = []
    at = 0
    for topic, count in json.loads(text):
        if not (isinstance(topic, str) and isinstance(count, int) and count > 0):
            raise BrokenWindows(f"{count!r} partitions of {topic!r}")
        numbers: Numbers = steps[at : at + count].cumsum()
        places += (TopicPartition(topic, number) for number in numbers.tolist())
        at += count
    if at != len(steps) or len(set(places)) != at:
        raise BrokenWindows(f"{len(steps)} partitions, {at} by topic")
    return tuple(places)


def _deflated(part: bytes) -> bytes:
    return zlib.compress(part, _FASTEST)


def _inflated(part: bytes) -> bytes:
    inflating = zlib.decompressobj()
    whole = inflating.decompress(part, PART_BYTES_MAX)
    if not inflating.eof or inflating.unused_data:
        raise BrokenWindows("a part is cut, or too long")
    return whole
