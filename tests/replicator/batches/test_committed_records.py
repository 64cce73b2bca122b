"""Committed records of a fetch: batches that decompress far are opened in several steps."""

import pytest

from replicator.batches.codec import DECOMPRESSED_BYTES_MAX, Codec
from replicator.batches.committed_records import committed_records
from tests.replicator.batches.source_batches import Record, encoded

RECORDS = 20
LARGE = 20 << 20
PACKED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]


def batch(first, size, codec, count=RECORDS):
    found = [Record(first + at, 1_000, b"k", bytes(size), ()) for at in range(count)]
    return encoded(found, codec=codec)


def steps(fetched, end, limit):
    """Yields the offsets and the opened bytes of each step, as a reader fetches again."""
    position = 0
    while position < end:
        found = committed_records(fetched, position=position, aborted=(), opened_bytes_max=limit)
        assert found.trouble is None and found.next_offset > position
        yield found.records.offset.tolist(), len(found.records.data)
        position = found.next_offset


@pytest.mark.parametrize("codec", PACKED)
def test_batches_that_decompress_far_are_opened_in_steps_and_none_is_left_out(codec):
    fetched = b"".join(batch(at * RECORDS, 10_000, codec) for at in range(30))
    found = list(steps(fetched, 30 * RECORDS, 1_000_000))
    assert [at for offsets, _ in found for at in offsets] == [*range(30 * RECORDS)]
    assert max(size for _, size in found) <= 1_100_000
    assert len(found) < 12


def test_a_batch_beyond_the_limit_is_opened_alone():
    fetched = batch(0, 100, Codec.ZSTD) + batch(RECORDS, 100_000, Codec.ZSTD)
    found = list(steps(fetched, 2 * RECORDS, 1_000))
    assert [len(offsets) for offsets, _ in found] == [RECORDS, RECORDS]


def test_batches_without_compression_count_as_they_are():
    fetched = b"".join(batch(at * RECORDS, 1_000, Codec.NONE) for at in range(10))
    assert len(list(steps(fetched, 10 * RECORDS, 50_000))) == 5


def test_without_a_limit_all_batches_are_opened_at_once():
    fetched = b"".join(batch(at * RECORDS, 10_000, Codec.GZIP) for at in range(3))
    assert len(list(steps(fetched, 3 * RECORDS, None))) == 1


def test_batches_that_decompress_too_far_only_together_are_not_broken():
    assert 6 * LARGE > DECOMPRESSED_BYTES_MAX
    fetched = b"".join(batch(at, LARGE, Codec.ZSTD, count=1) for at in range(6))
    found = list(steps(fetched, 6, None))
    assert [at for offsets, _ in found for at in offsets] == [*range(6)]


def test_batches_behind_an_end_are_left_out_and_a_gap_before_it_is_passed():
    first, second = (
        encoded([Record(offset, 0, None, b"value")], base_offset=offset) for offset in (3, 9)
    )
    found = committed_records(first + second, position=3, aborted=None, end=7)
    assert (found.next_offset, found.trouble) == (7, None)
    assert found.records is not None
    assert found.records.offset.tolist() == [3]


def test_a_broken_batch_does_not_say_that_it_is_behind_an_end():
    first, second = (
        encoded([Record(offset, 0, None, b"value")], base_offset=offset) for offset in (3, 9)
    )
    found = committed_records(first + second[:-1] + b"?", position=3, aborted=None, end=7)
    assert found.next_offset == 4
    assert found.trouble
