"""Compression of whole files: one stream, compressed chunk by chunk."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Protocol

import cramjam


class Compressor(Protocol):
    """Compressor of one stream."""

    def compress(self, data: bytes) -> bytes:
        """Returns what is complete of the stream after so much more."""

    def finish(self) -> bytes:
        """Returns the end of the stream."""


class _Plain:
    def compress(self, data: bytes) -> bytes:
        return data

    def finish(self) -> bytes:
        return b""


class _Gzip:
    def __init__(self) -> None:
        # Without a time in its header, so that the same records are the same bytes.
        self._stream = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)

    def compress(self, data: bytes) -> bytes:
        return self._stream.compress(data)

    def finish(self) -> bytes:
        return self._stream.flush()


class _Cramjam:
    def __init__(self, stream: cramjam.zstd.Compressor | cramjam.lz4.Compressor) -> None:
        self._stream = stream

    def compress(self, data: bytes) -> bytes:
        self._stream.compress(data)
        return bytes(self._stream.flush())

    def finish(self) -> bytes:
        return bytes(self._stream.finish())


STREAMS: dict[str, Callable[[], Compressor]] = {
    "none": _Plain,
    "gzip": _Gzip,
    "zstd": lambda: _Cramjam(cramjam.zstd.Compressor()),
    "lz4": lambda: _Cramjam(cramjam.lz4.Compressor()),
}
"""Compressors by codec."""
SUFFIXES = {"none": "", "gzip": ".gz", "zstd": ".zst", "lz4": ".lz4"}
"""End of a file's name, by codec."""
