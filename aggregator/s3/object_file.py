"""Object file: an object of the store as a file of which only some ranges are read."""

from __future__ import annotations

import io
import os

from aggregator.s3.object_store import ObjectStore


class ObjectFile(io.RawIOBase):
    """File for readers that seek. Each read asks the store: it may raise StoreProblem."""

    def __init__(self, store: ObjectStore, key: str, size_bytes: int) -> None:
        super().__init__()
        self.key = key
        self._store, self._size, self._position = store, size_bytes, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        begin = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._position = max(0, begin + offset)
        return self._position

    def read(self, size: int = -1) -> bytes:
        left = max(0, self._size - self._position)
        size = left if size < 0 else min(size, left)
        if not size:
            return b""
        found = self._store.read_range(self.key, self._position, size)
        self._position += len(found)
        return found
