"""Byte queue: bytes that wait to be sent, in the pieces in which they came."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field


@dataclass(slots=True)
class ByteQueue:
    """Queue of bytes. They are copied once, when they are taken: a buffer that grows copies them
    several times."""

    _pieces: deque[bytes | memoryview] = field(default_factory=deque)
    _size: int = 0

    def __len__(self) -> int:
        return self._size

    def __bytes__(self) -> bytes:
        return b"".join(self._pieces)

    def append(self, data: bytes) -> None:
        """Takes further bytes in."""
        if data:
            self._pieces.append(data)
            self._size += len(data)

    def first(self, size: int) -> bytes:
        """Returns the first bytes; they stay in the queue."""
        found: list[bytes | memoryview] = []
        for piece in self._pieces:
            if size <= 0:
                break
            found.append(piece if len(piece) <= size else memoryview(piece)[:size])
            size -= len(piece)
        return b"".join(found)

    def drop(self, size: int) -> None:
        """Removes the first bytes."""
        self._size -= min(size, self._size)
        while self._pieces and size >= len(self._pieces[0]):
            size -= len(self._pieces.popleft())
        if self._pieces and size:
            self._pieces[0] = memoryview(self._pieces[0])[size:]
