"""Record headers: the headers of one record as they are encoded behind its value.

Layout: number of headers, then for each one length and bytes of its name, length and bytes of its
value. Numbers are zigzag varints, and a value of length -1 is null. Source of the layout:
org.apache.kafka.common.record.DefaultRecord.
"""

from __future__ import annotations

from collections.abc import Iterable

from replicator.batches.varints import BYTES_MAX, BrokenVarints

Headers = tuple[tuple[str, bytes | None], ...]
"""Names and values. Bytes of a name that are not UTF-8 stand as lone surrogates (PEP 383), so that
`encoded_headers` writes the same bytes again."""

_UNDECODED = "surrogateescape"


def read_headers(encoded: bytes) -> Headers:
    """Returns the headers of one record, byte for byte.

    Args:
        encoded: from their number on, up to the end of the record.

    Raises:
        BrokenVarints: they do not fill these bytes.
    """
    count, at = _number(encoded, 0)
    found: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        name, at = _field(encoded, at)
        value, at = _field(encoded, at)
        if name is None:
            raise BrokenVarints("a header without a name")
        found.append((name.decode(errors=_UNDECODED), value))
    if count < 0 or at != len(encoded):
        raise BrokenVarints("headers do not fill their record")
    return tuple(found)


def encoded_headers(headers: Iterable[tuple[str, bytes | None]]) -> bytes:
    """Returns the bytes of headers behind a record's value."""
    found = list(headers)
    fields = (
        encoded_field(field)
        for name, value in found
        for field in (name.encode(errors=_UNDECODED), value)
    )
    return b"".join((encoded_number(len(found)), *fields))


def encoded_field(field: bytes | None) -> bytes:
    """Returns a key, a value or a part of a header, with its length in front."""
    return encoded_number(-1) if field is None else encoded_number(len(field)) + field


def encoded_number(number: int) -> bytes:
    """Returns a number of 64 bits as a zigzag varint."""
    left, octets = (number << 1) ^ (number >> 63), bytearray()
    while left > 0x7F:
        octets.append(left & 0x7F | 0x80)
        left >>= 7
    octets.append(left)
    return bytes(octets)


def _field(encoded: bytes, at: int) -> tuple[bytes | None, int]:
    """Returns the field at a place, None for null, and the place behind it."""
    length, begin = _number(encoded, at)
    if length < -1 or length > len(encoded) - begin:
        raise BrokenVarints("a header ends behind its record")
    return (None, begin) if length < 0 else (encoded[begin : begin + length], begin + length)


def _number(encoded: bytes, at: int) -> tuple[int, int]:
    """Returns the zigzag number at a place, and the place behind it."""
    value = 0
    for place, octet in enumerate(encoded[at : at + BYTES_MAX]):
        value |= (octet & 0x7F) << 7 * place
        if octet < 0x80:
            return (value >> 1) ^ -(value & 1), at + place + 1
    raise BrokenVarints("a header's length that does not end")
