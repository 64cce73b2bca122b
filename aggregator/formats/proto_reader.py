"""Proto reader: serialized messages of one type as columns, by ptars.

ptars reads all messages of a call or none. A message that it cannot read is found by halving, so it
changes nothing about the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import pyarrow as pa
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from ptars import HandlerPool, PtarsConfig

from aggregator.formats.record_slice import Ints
from aggregator.tables.value_limits import limits_of

PIECE_BYTES = 1 << 20
"""Bytes of messages that are read at once: ptars lets no other thread of Python run meanwhile."""
UNCHECKED_BYTES = 32 << 10
"""Messages that are longer are parsed by Google's library first, which refuses deep nesting: ptars
passes nested groups by recursion, and some 100 000 of them end the process."""
# PyO3 names what it makes of a Rust panic, and exports no class.
_PANIC = "PanicException"

Unit = Literal["us", "ns"]


@dataclass(frozen=True, slots=True, eq=False)
class ReadMessages:
    """Messages that could be read.

    Args:
        columns: a row for each of them.
        which: index of each among all messages.
        refused: why others could not be read, by index.
    """

    columns: pa.RecordBatch
    which: Ints
    refused: dict[int, str]


class ProtoReader:
    """Reads messages of one type. A column is null where a field with presence is not set.

    Args:
        timestamp_unit: us or ns, of google.protobuf.Timestamp. A time that has no room in 64 bits
            becomes the least or largest.
    """

    def __init__(self, message: Descriptor, timestamp_unit: Unit = "us") -> None:
        config = PtarsConfig(
            timestamp_unit=timestamp_unit,
            use_large_string=True,
            use_large_binary=True,
            use_large_list=True,
        )
        self._handler = HandlerPool([message.file], config).get_for_message(message)
        self._checked = GetMessageClass(message)

    def read(self, messages: pa.BinaryArray) -> ReadMessages:
        """Reads messages, none of which is null."""
        parts: list[pa.RecordBatch] = []
        which: list[Ints] = []
        refused: dict[int, str] = {}
        broken = self._broken(messages)
        for first, last in _pieces(messages):
            for begin, part in self._halves(messages, first, last, broken):
                if isinstance(part, str):
                    refused[begin] = part
                else:
                    parts.append(part)
                    which.append(np.arange(begin, begin + len(part)))
        if not parts:
            parts.append(self._handler.array_to_record_batch(messages[:0]))
            which.append(np.empty(0, np.int64))
        columns = parts[0] if len(parts) == 1 else pa.concat_batches(parts)
        return ReadMessages(columns, np.concatenate(which), refused)

    def _broken(self, messages: pa.BinaryArray) -> dict[int, str]:
        """Returns why long messages cannot be read, by index."""
        broken = {}
        for at in np.flatnonzero(np.diff(limits_of(messages)) > UNCHECKED_BYTES).tolist():
            try:
                self._checked.FromString(messages[at].as_py())
            except DecodeError as error:
                broken[at] = str(error)
        return broken

    def _halves(
        self, messages: pa.BinaryArray, first: int, last: int, broken: Mapping[int, str]
    ) -> Iterator[tuple[int, pa.RecordBatch | str]]:
        """Yields messages that were read together and reasons why one was not, with the index of
        the first."""
        if any(first <= at < last for at in broken):
            if last - first == 1:
                yield first, broken[first]
                return
            middle = (first + last) // 2
            yield from self._halves(messages, first, middle, broken)
            yield from self._halves(messages, middle, last, broken)
            return
        try:
            part = self._handler.array_to_record_batch(messages[first:last])
        except BaseException as error:
            if not isinstance(error, ValueError) and type(error).__name__ != _PANIC:
                raise
            if last - first == 1:
                yield first, str(error)
                return
        else:
            yield first, part
            return
        middle = (first + last) // 2
        yield from self._halves(messages, first, middle, broken)
        yield from self._halves(messages, middle, last, broken)


def _pieces(messages: pa.BinaryArray) -> Iterator[tuple[int, int]]:
    limits = limits_of(messages)
    steps = np.arange(limits[0] + PIECE_BYTES, limits[-1], PIECE_BYTES)
    inner = np.searchsorted(limits, steps)
    bounds = np.unique(np.concatenate(([0], inner, [len(messages)]))).tolist()
    yield from pairwise(bounds)
