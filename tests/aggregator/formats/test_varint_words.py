"""Varints read eight bytes at a time."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from aggregator.formats.varint_words import PADDING, varints_at


def written(value):
    data = bytearray()
    while value > 127:
        data.append(value & 127 | 128)
        value >>= 7
    return bytes([*data, value])


sizes = st.integers(0, 64).flatmap(lambda bits: st.integers(0, 2**bits - 1))


@given(st.lists(sizes, max_size=9))
def test_numbers_of_64_bits_are_read_with_the_places_behind_them(values):
    texts = [written(value) for value in values]
    octets = np.frombuffer(b"".join(texts) + PADDING, np.uint8)
    ends = np.cumsum([len(text) for text in texts]).astype(np.int64)
    begins = np.concatenate(([0], ends))[:-1].astype(np.int64)
    found, behind, bad = varints_at(octets, begins)
    assert found.tolist() == values
    assert behind.tolist() == ends.tolist()
    assert not bad.any()


def test_numbers_of_more_than_64_bits_are_bad():
    texts = [b"\xff" * 9 + b"\x01", b"\xff" * 9 + b"\x02", b"\x80" * 9 + b"\x81\x00", b"\x80" * 10]
    octets = np.frombuffer(b"".join(texts) + PADDING, np.uint8)
    begins = np.concatenate(([0], np.cumsum([len(text) for text in texts])[:-1])).astype(np.int64)
    found, _, bad = varints_at(octets, begins)
    assert bad.tolist() == [False, True, True, True]
    assert found[0] == 2**64 - 1
