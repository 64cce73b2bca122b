"""Even chunks: where they end does not depend on how records come in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aggregator.files.even_chunks import EvenChunks
from tests.aggregator.files.written_files import CUTS, RECORDS, slices


def chunks(parts, bytes_min):
    """Returns the offsets in each chunk."""
    even = EvenChunks(bytes_min)
    found = [chunk for part in parts for chunk in even.add([part])]
    assert even.size_bytes == sum(each.size_bytes for each in even.rest())
    return [[at for part in chunk for at in part.offset.tolist()] for chunk in found]


@given(RECORDS, CUTS, st.integers(1, 100))
def test_a_chunk_ends_with_the_record_that_reaches_its_bytes(records, cuts, bytes_min):
    parts = slices(records, cuts)
    sizes = [size for part in parts for size in part.record_bytes.tolist()]
    expected, opened, total = [], [], 0
    for at, size in enumerate(sizes):
        opened.append(at)
        total += size
        if total >= bytes_min:
            expected.append(opened)
            opened, total = [], 0
    assert chunks(parts, bytes_min) == expected


@given(RECORDS, CUTS)
def test_the_rest_are_the_records_of_no_chunk_once(records, cuts):
    even = EvenChunks(1 << 30)
    assert list(even.add(slices(records, cuts))) == []
    assert sum(map(len, even.rest())) == len(records)
    assert even.rest() == []
