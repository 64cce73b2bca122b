"""Frames of Kafka's protocol: responses read in place, requests sent in parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from io import BytesIO

KEPT_SHARE = 2
"""A view of a part keeps the whole frame in memory. A part smaller than 1/KEPT_SHARE of its frame
is therefore copied."""


class InParts(ABC):
    """A request that can be sent as parts, without joining them."""

    @abstractmethod
    def parts(self) -> Sequence[bytes | bytearray | memoryview]: ...


class Frame(BytesIO):
    """A response, read field by field as aiokafka's types do; record batches stay in place."""

    def __init__(self, data: memoryview):
        super().__init__()
        self._data = data
        self._at = 0

    def read(self, size: int | None = -1) -> bytes:
        begin, self._at = self._at, self._at + (size or 0)
        return self._data[begin : self._at].tobytes()

    def rest(self) -> memoryview:
        """Returns all bytes that were not read yet."""
        begin, self._at = self._at, len(self._data)
        return self._data[begin:]

    def view(self, size: int) -> memoryview:
        """Returns the next bytes, which the caller may change."""
        begin, self._at = self._at, self._at + size
        part = self._data[begin : self._at]
        return part if size * KEPT_SHARE >= len(self._data) else memoryview(bytearray(part))
