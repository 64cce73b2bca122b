"""Even chunks: where they end does not depend on how records come in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aggregator.files.even_chunks import FORM_RECORD_BYTES, FORMS, EvenChunks
from tests.aggregator.files.written_files import CUTS, RECORDS, slices
from tests.replicator.batches.source_batches import Record


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


@given(RECORDS, CUTS, st.integers(1, 400))
def test_the_forms_of_all_records_of_a_chunk_count_once_it_is_made(records, cuts, bytes_min):
    """Records that make none count alone: they are decoded."""
    even, waiting = EvenChunks(bytes_min), []
    for part in slices(records, cuts):
        is_made = sum(int(each.record_bytes.sum()) for each in [*waiting, part]) >= bytes_min
        formed = [*waiting, part] if is_made else [part]
        size = sum(int(each.record_bytes.sum()) for each in formed)
        expected = FORMS * size + FORM_RECORD_BYTES * sum(map(len, formed))
        assert even.forming_bytes([part]) == expected
        for chunk in even.add([part]):
            chunk.clear()
        waiting = [] if is_made else [*waiting, part]
        if is_made:
            even.rest()
    rest = sum(int(each.record_bytes.sum()) for each in waiting)
    assert even.forming_bytes() == FORMS * rest + FORM_RECORD_BYTES * sum(map(len, waiting))


def test_a_chunk_counts_while_it_is_made():
    even = EvenChunks(10)
    (part,) = slices([Record(at, 5, b"key", b"value", ()) for at in range(2)])
    for _ in even.add([part.at(slice(0, 1)), part.at(slice(1, 2))]):
        assert even.size_bytes > 0
    assert even.size_bytes == 0
