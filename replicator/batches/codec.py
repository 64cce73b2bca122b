"""Compression codecs of Kafka: payloads in and out, in the framing that every client reads."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

import cramjam
import numpy as np
from aiokafka.codec import snappy_decode, snappy_encode


class Codec(IntEnum):
    """Compression codec, as in bits 0 to 2 of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class BrokenPayload(Exception):
    """A payload that cannot be decompressed or read although its CRC is right.

    The producer itself wrote it like this: park the partition.
    """


class DecompressesTooFar(BrokenPayload):
    """Payloads that decompress to more than DECOMPRESSED_BYTES_MAX."""


DECOMPRESSED_BYTES_MAX = 100 << 20
"""Limit of decompressed bytes. Brokers accept no larger request (socket.request.max.bytes), so a
producer without compression cannot send a larger batch. One megabyte of zstd can decompress to
thirty gigabytes."""
DECOMPRESSED_BYTES_LIKELY = 64 << 10
"""Smallest buffer of the first decompression attempt."""
RATIO_LIKELY = 8
"""Expected decompression ratio, which sizes the buffer of the first attempt. Payloads that need
more are decompressed a second time. Allocating the largest buffer for every small payload would
cost more than that."""

# Speed matters more than size. gzip level 6 costs 10 microseconds for a record of 200 bytes, level
# 1 a fifth of that. lz4 from level 3 on is the slow LZ4 HC. zstd level 3 is Kafka's own default.
GZIP_LEVEL = 1
LZ4_LEVEL = 1
ZSTD_LEVEL = 3


# Levels for a payload that has to become smaller than these make it. Producers may have used any.
BETTER_LEVEL_RATIO = 2
"""Excess up to which a better level of a codec may help."""
SMALLER_LEVELS = {Codec.GZIP: (9,), Codec.ZSTD: (9, 19), Codec.LZ4: (12,)}


def compressed(codec: int, payload: bytes | memoryview, level: int | None = None) -> bytes:
    """Returns the payload in the framing of Kafka's clients.

    The framing is gzip, xerial snappy, an lz4 frame or a zstd frame.

    Args:
        level: of the codec; by default a fast one.
    """
    match codec:
        case Codec.NONE:
            return bytes(payload)
        case Codec.GZIP if level:
            # zlib, as the Java client has: other libraries count levels differently.
            packing = zlib.compressobj(level, zlib.DEFLATED, zlib.MAX_WBITS | 16)
            return packing.compress(payload) + packing.flush()
        case Codec.GZIP:
            return bytes(cramjam.gzip.compress(payload, level=GZIP_LEVEL))
        case Codec.SNAPPY:
            return bytes(snappy_encode(payload))
        case Codec.LZ4:
            # The Java client reads independent blocks only, and cramjam.lz4.compress writes linked
            # ones.
            frame = cramjam.lz4.Compressor(
                level=level or LZ4_LEVEL, content_checksum=False, block_linked=False
            )
            frame.compress(bytes(payload))
            return bytes(frame.finish())
        case Codec.ZSTD:
            return bytes(cramjam.zstd.compress(payload, level=level or ZSTD_LEVEL))
    raise _unknown(codec)


def squeezed(codecs: Sequence[int], payload: memoryview, max_bytes: int) -> tuple[bytes, int]:
    """Returns the payload in a form that takes at most so many bytes, and its codec; the smallest
    that was found where none fits.

    Tries what the source used first, then better levels of it, then other codecs.

    Args:
        codecs: those of the source, the preferred one first.
    """
    smallest = bytes(payload), int(Codec.NONE)
    for codec in dict.fromkeys((*codecs, Codec.ZSTD, Codec.GZIP, Codec.LZ4)):
        if codec == Codec.NONE:
            continue
        better = SMALLER_LEVELS.get(Codec(codec), ())
        # The best levels take seconds for some MB: only for what a producer packed like this.
        for level in (None, *(better if codec in codecs else better[:1])):
            packed = compressed(codec, payload, level)
            if len(packed) < len(smallest[0]):
                smallest = packed, codec
            if len(smallest[0]) <= max_bytes:
                return smallest
            if len(packed) > BETTER_LEVEL_RATIO * max_bytes:
                break  # higher levels take seconds, and gain less than that
    return smallest


def decompressed(codec: int, payloads: Sequence[memoryview]) -> bytes:
    """Returns the decompressed payloads, concatenated.

    gzip members, lz4 frames and zstd frames can be concatenated into one stream. For payloads of
    200 bytes, one call for all takes 0.1 microseconds per payload; one call for each takes 7.

    Raises:
        BrokenPayload: a payload cannot be decompressed, or the codec is unknown.
        DecompressesTooFar: beyond DECOMPRESSED_BYTES_MAX; raised before more is in memory.
    """
    try:
        match codec:
            case Codec.NONE:
                return b"".join(payloads)
            case Codec.GZIP:
                return _decompressed(cramjam.gzip.decompress_into, payloads)
            case Codec.SNAPPY:
                if sum(map(_snappy_size, payloads)) > DECOMPRESSED_BYTES_MAX:
                    raise DecompressesTooFar(_TOO_FAR)
                return b"".join(map(snappy_decode, payloads))
            case Codec.LZ4:
                return _decompressed(cramjam.lz4.decompress_into, payloads)
            case Codec.ZSTD:
                return _decompressed(cramjam.zstd.decompress_into, payloads)
    except DecompressesTooFar:
        raise
    except Exception as error:
        raise BrokenPayload(f"{Codec(codec).name.lower()}: {error}") from error
    raise _unknown(codec)


_TOO_FAR = f"they decompress to more than {DECOMPRESSED_BYTES_MAX >> 20} MiB"
_NO_ROOM = "failed to write whole buffer"


def _decompressed(into: Callable[[bytes, Any], int], payloads: Sequence[memoryview]) -> bytes:
    packed = b"".join(payloads)
    likely = max(DECOMPRESSED_BYTES_LIKELY, RATIO_LIKELY * len(packed))
    for room in (min(likely, DECOMPRESSED_BYTES_MAX), DECOMPRESSED_BYTES_MAX):
        # Pages that are never written take no physical memory.
        memory = np.empty(room, dtype=np.uint8)
        try:
            return bytes(memory[: into(packed, memory)])
        except cramjam.DecompressionError as error:
            if _NO_ROOM not in str(error):
                raise
    raise DecompressesTooFar(_TOO_FAR)


_XERIAL = b"\x82SNAPPY\0"
_XERIAL_BYTES = 16


def _snappy_size(payload: memoryview) -> int:
    """Returns the decompressed size that a snappy payload states."""
    if len(payload) <= _XERIAL_BYTES or payload[: len(_XERIAL)] != _XERIAL:
        return int(cramjam.snappy.decompress_raw_len(payload))
    total, at = 0, _XERIAL_BYTES
    while at < len(payload):
        begin = at + 4
        at = begin + int.from_bytes(payload[at:begin], "big")
        total += int(cramjam.snappy.decompress_raw_len(payload[begin:at]))
    return total


def _unknown(codec: int) -> BrokenPayload:
    return BrokenPayload(
        f"codec {codec} is none of {', '.join(known.name.lower() for known in Codec)}"
    )
