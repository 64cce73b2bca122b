"""Object upload: the bytes of one object on their way into the store, where nobody sees them before
the last step."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from crc32c import crc32c

from aggregator.s3.answers import Answer, StoreProblem
from aggregator.s3.object_store import ObjectStore, PutPart
from replicator.runtime.run_in_thread import run_in_thread

LARGER_AFTER = 1000
"""Number of parts after which parts grow: an upload may have 10 000."""


class Identity(NamedTuple):
    """Identity of an object's content."""

    size_bytes: int
    crc32c: int


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


@dataclass(eq=False)
class ObjectUpload:
    """Upload of one object: a multipart upload once its bytes are more than one part.

    Each method may be called again after a StoreProblem: it goes on with the same bytes.

    Args:
        metadata: what is known of the object from its begin on.
    """

    store: ObjectStore
    key: str
    metadata: Mapping[str, str]
    part_bytes: int
    _buffer: ByteQueue = field(init=False, default_factory=ByteQueue)
    _size: int = field(init=False, default=0)
    _crc: int = field(init=False, default=0)
    _upload_id: str | None = field(init=False, default=None)
    _parts: list[PutPart] = field(init=False, default_factory=list)

    @property
    def buffered_bytes(self) -> int:
        """Bytes that are not uploaded yet."""
        return len(self._buffer)

    @property
    def has_parts(self) -> bool:
        """True for a multipart upload."""
        return self._upload_id is not None

    @property
    def identity(self) -> Identity:
        """Identity of all bytes so far."""
        return Identity(self._size, self._crc)

    def add(self, data: bytes) -> None:
        """Takes further bytes in."""
        self._buffer.append(data)
        self._size += len(data)
        self._crc = crc32c(data, self._crc)

    async def send(self) -> None:
        """Uploads all whole parts, but for the last one of the object."""
        while len(self._buffer) > self._next_bytes:
            await self._send_part(self._next_bytes)

    async def send_rest(self) -> None:
        """Uploads the last part, so that only `complete` is left."""
        await self.send()
        if self._upload_id is not None and self._buffer:
            await self._send_part(len(self._buffer))

    async def complete(self, over: str | None = None) -> None:
        """Shows the object, unless its name is taken. Whether it did, only HEAD tells.

        Args:
            over: ETag of a content that may be overwritten, if it is still there.
        """
        try:
            await self._complete(over)
        except StoreProblem as problem:
            if over is None or problem.answer not in (Answer.TAKEN, Answer.ABSENT):
                raise
            # That content is gone: the name is free, or has another one, which is kept.
            await self._complete(None)

    async def abort(self) -> None:
        """Gives up what is uploaded."""
        if self._upload_id is not None:
            await run_in_thread(self.store.abort, self.key, self._upload_id)

    @property
    def _next_bytes(self) -> int:
        return self.part_bytes * (1 + len(self._parts) // LARGER_AFTER)

    async def _complete(self, over: str | None) -> None:
        if self._upload_id is None:
            data, crc = bytes(self._buffer), self._crc
            await run_in_thread(self.store.put, self.key, data, crc, self.metadata, over)
        else:
            await run_in_thread(
                self.store.complete, self.key, self._upload_id, self._parts, self._crc, over
            )

    async def _send_part(self, size: int) -> None:
        if self._upload_id is None:
            self._upload_id = await run_in_thread(self.store.begin, self.key, self.metadata)
        data = self._buffer.first(size)
        number = len(self._parts) + 1
        put = await run_in_thread(
            self.store.put_part, self.key, self._upload_id, number, data, crc32c(data)
        )
        self._parts.append(put)
        self._buffer.drop(size)
