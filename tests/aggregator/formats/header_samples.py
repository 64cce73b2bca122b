"""Headers for tests, of every kind that a producer may write, and their bytes written by hand."""

from __future__ import annotations

from hypothesis import strategies as st

LENGTHS = (0, 1, 62, 63, 64, 65, 107, 127, 128, 300, 8191, 8192, 8193, 20_000)
"""Lengths on both sides of each size of a varint that a test can afford."""
COUNTS = (0, 1, 2, 63, 64, 65, 130)


def _bytes(length: int) -> st.SearchStrategy[bytes]:
    return st.integers(0, 255).map(lambda seed: bytes((seed + at) & 255 for at in range(length)))


FIELDS = st.sampled_from(LENGTHS).flatmap(_bytes) | st.binary(max_size=6)
_HEADER = st.tuples(FIELDS | st.text(max_size=6).map(str.encode), st.none() | FIELDS)
_SMALL = st.tuples(st.binary(max_size=3), st.none() | st.binary(max_size=3))
HEADERS = st.lists(_HEADER, max_size=4).map(tuple) | st.sampled_from(COUNTS).flatmap(
    lambda count: st.lists(_SMALL, min_size=count, max_size=count).map(tuple)
)
"""Names that may be any bytes, and values that may be null."""


def encoded_by_hand(headers: tuple[tuple[bytes, bytes | None], ...]) -> bytes:
    """Returns headers as a producer writes them behind a value."""
    return number(len(headers)) + b"".join(field(name) + field(value) for name, value in headers)


def field(data: bytes | None) -> bytes:
    """Returns a key, a value or a part of a header with its length."""
    return number(-1) if data is None else number(len(data)) + data


def number(value: int) -> bytes:
    """Returns a zigzag varint."""
    left = value * 2 if value >= 0 else -value * 2 - 1
    found = []
    while left >= 128:
        found.append(left % 128 + 128)
        left //= 128
    return bytes([*found, left])
