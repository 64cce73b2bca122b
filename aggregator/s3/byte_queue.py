"""Byte queue: bytes that wait to be sent, in the pieces in which they came."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field


@dataclass(slots=True)
class ByteQueue:
    """Queue of bytes. They are copied once, when they are taken, and the copy takes the place of
    its pieces: it may have to be sent again for hours. A buffer that grows would copy them several
    times."""

    _pieces: deque[bytes | memoryview] = field(default_factory=deque)
    _size: int = 0

    def __len__(self) -> int:
        return self._size

    def __bytes__(self) -> bytes:
        return self.first(self._size)

    def append(self, data: bytes) -> None:
        """Takes further bytes in."""
        if data:
            self._pieces.append(data)
            self._size += len(data)

    def first(self, size: int) -> bytes:
        """Returns the first bytes; they stay in the queue."""
        found: list[bytes | memoryview] = []
        while self._pieces and size > 0:
            piece = self._pieces.popleft()
            if len(piece) > size:
                self._pieces.appendleft(memoryview(piece)[size:])
                piece = memoryview(piece)[:size]
            found.append(piece)
            size -= len(piece)
        data = b"".join(found)
        if data:
            self._pieces.appendleft(data)
        return data

    def drop(self, size: int) -> None:
        """Removes the first bytes."""
        self._size -= min(size, self._size)
        while self._pieces and size >= len(self._pieces[0]):
            size -= len(self._pieces.popleft())
        if self._pieces and size:
            self._pieces[0] = memoryview(self._pieces[0])[size:]
