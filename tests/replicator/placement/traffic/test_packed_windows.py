import random
import zlib
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.demand.window import Window
from balancer.demand.window_columns import WindowColumns
from balancer.topic_partition import TopicPartition
from replicator.batches import varints
from replicator.placement.traffic.packed_windows import BrokenWindows, UnknownVersion, pack, unpack
from tests.balancer.demand.one_by_one import one_by_one

PLACES = st.builds(TopicPartition, st.sampled_from(["a", "b.c", "ünï", ""]), st.integers(0, 10**6))
WINDOWS = st.builds(
    lambda begin, length, taken, records: Window(begin, begin + length, taken, records),
    st.integers(0, 1 << 45),
    st.integers(1, 1 << 32),
    st.integers(0, 1 << 60),
    st.integers(0, 1 << 50),
)


def minute(partitions, topic="topic", begin=1_700_000_000_000):
    drawn = random.Random(partitions)
    return {
        TopicPartition(topic, number): Window(
            begin, begin + 60_000, drawn.randrange(10**6), drawn.randrange(10**3)
        )
        for number in range(partitions)
    }


@given(st.dictionaries(PLACES, WINDOWS, max_size=30))
def test_windows_come_back_as_they_were(windows):
    assert one_by_one(unpack(pack(WindowColumns.of(windows)))) == windows


def test_a_partition_takes_about_five_bytes_a_look():
    packed = pack(WindowColumns.of(minute(10_000)))
    assert len(packed) < 5 * 10_000


def test_looks_at_the_same_partitions_share_their_names():
    first, second = (pack(WindowColumns.of(minute(50, begin=at))) for at in (10**12, 2 * 10**12))
    assert unpack(first).partitions is unpack(second).partitions


def test_windows_of_another_version_are_told_from_broken_ones():
    data = pack(WindowColumns.of(minute(3)))
    with pytest.raises(UnknownVersion, match="format 2"):
        unpack(bytes([2]) + data[1:])


@pytest.mark.parametrize("length", [0, 1, 4, 5, 12, 40])
def test_cut_bytes_are_refused(length):
    with pytest.raises(BrokenWindows):
        unpack(pack(WindowColumns.of(minute(200)))[:length])


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_a_byte_that_changed_is_refused_or_still_makes_windows(at, change):
    data = bytearray(pack(WindowColumns.of(minute(50))))
    data[at % len(data)] ^= change
    with suppress(BrokenWindows, UnknownVersion):
        one_by_one(unpack(bytes(data)))


@given(st.binary(max_size=200))
def test_bytes_of_no_kind_are_refused(data):
    with pytest.raises((BrokenWindows, UnknownVersion)):
        unpack(b"\x01" + data)


def of_parts(names, numbers):
    first, second = (zlib.compress(part) for part in (names, varints.packed(numbers)))
    return b"\x01" + len(first).to_bytes(4, "big") + first + second


@pytest.mark.parametrize(
    ("names", "numbers"),
    [
        (b'[["t", 1]]\n\x00', [5, 0, 0, 1, 1]),  # length 0
        (b'[["t", 1]]\n\x00', [5, 0, 1, 1]),
        (b'[["t", 1]]\n\x00', [5]),
        (b'[["t", 1]]\n\x00', []),
        (b'[["t", 2]]\n\x00', [5, 0, 1, 1, 1]),
        (b'[["t", 2]]\n\x00\x00', [5, 0, 0, 1, 1, 1, 1, 1, 1]),  # the same partition twice
        (b'[["t", -1]]\n', [5]),
        (b"[[7, 1]]\n\x00", [5, 0, 1, 1, 1]),
        (b'{"t": 1}\n\x00', [5, 0, 1, 1, 1]),
        (b"[" * 100_000 + b"\n", [5]),
        (b"7\n", [5]),
    ],
)
def test_parts_that_do_not_belong_together_are_refused(names, numbers):
    with pytest.raises(BrokenWindows):
        unpack(of_parts(names, np.array(numbers, dtype=np.int64)))
