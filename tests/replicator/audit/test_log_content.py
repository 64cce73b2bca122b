"""Content of a log, as fetched and as counted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.audit.log_content import LogContent, content_of, joined
from replicator.audit.log_reader import LogReader
from replicator.batches import batch
from replicator.batches.batch import BrokenBatch
from replicator.batches.codec import DECOMPRESSED_BYTES_MAX, Codec
from replicator.batches.packer import PackingRule, pack
from replicator.config.topology import KafkaCluster
from replicator.kafka.client.cluster import Cluster, Fetched
from replicator.mirror.offset_map.spans import Span
from tests.replicator.audit.offset_sets import offsets
from tests.replicator.batches.source_batches import Record, batches, control, encoded, one_record

# -- The content of a log is what a reader of committed records would count there.

EVERYTHING = 2**62
TRANSACTIONAL = batch.TRANSACTIONAL


def content(
    data: bytes, begin: int = 0, end: int = EVERYTHING, aborted=None, fingerprints=False
) -> LogContent:
    return content_of(data, begin, end, aborted=aborted, with_fingerprints=fingerprints)[0]


def batch_of(first: int, count: int, **how) -> bytes:
    return encoded([one_record(first + n) for n in range(count)], **how)


@given(batches(), st.booleans(), st.data())
def test_the_content_has_exactly_the_records_within_whether_or_not_they_are_read(
    made, prints, drawn
):
    data, records = made
    places = st.integers(records[0].offset - 1, records[-1].offset + 2)
    begin, end = sorted((drawn.draw(places), drawn.draw(places)))
    found, next_offset = content_of(
        b"".join(data), begin, end, aborted=None, with_fingerprints=prints
    )
    assert offsets(found.records) == {r.offset for r in records if begin <= r.offset < end}
    assert next_offset > records[-1].offset
    assert not len(found.invisible)
    if prints:
        assert set(found.fingerprints.offset.tolist()) == offsets(found.records)


@given(batches())
def test_fingerprints_stay_when_records_are_packed_anew_and_differ_between_records(made):
    data, records = made
    whole = b"".join(data)
    before = content(whole, fingerprints=True).fingerprints
    anew = PackingRule(max_bytes=1 << 20, merge_below_records=1000, merge_batches_min=1)
    packed = pack(whole, position=0, aborted=None, rule=anew)
    at, after = 0, []
    for outgoing in packed.batches:
        outgoing.stamp(producer_id=1, producer_epoch=0, base_sequence=0)
        prints = content(bytes(outgoing.data), fingerprints=True).fingerprints
        after += list(zip(prints.print.tolist(), prints.bytes.tolist(), strict=True))
        at += outgoing.count
    assert at == len(records)
    assert after == list(zip(before.print.tolist(), before.bytes.tolist(), strict=True))
    contents = {(r.timestamp, r.key, r.value, r.headers) for r in records}
    assert len(set(before.print.tolist())) == len(contents)


@pytest.mark.parametrize(
    "other",
    [
        Record(3, 8, b"k", b"v", (("h", b"1"),)),
        Record(3, 7, b"K", b"v", (("h", b"1"),)),
        Record(3, 7, None, b"v", (("h", b"1"),)),
        Record(3, 7, b"k", b"", (("h", b"1"),)),
        Record(3, 7, b"kv", b"", (("h", b"1"),)),
        Record(3, 7, b"k", b"v", (("h", None),)),
        Record(3, 7, b"k", b"v"),
    ],
)
def test_any_part_of_a_record_shows_in_its_fingerprint(other):
    one = Record(3, 7, b"k", b"v", (("h", b"1"),))
    (first,), (second,) = (
        content(encoded([it]), fingerprints=True).fingerprints.print for it in (one, other)
    )
    assert first != second


def test_markers_and_aborted_records_are_invisible():
    aborted = batch_of(0, 5, attributes=TRANSACTIONAL, producer_id=9)
    committed = batch_of(5, 3, attributes=TRANSACTIONAL, producer_id=8)
    data = aborted + committed + control(8, 9, 0) + control(9, 8, 1) + batch_of(10, 2)
    found = content(data, aborted=[(9, 0)])
    assert offsets(found.records) == {5, 6, 7, 10, 11}
    assert offsets(found.invisible) == {0, 1, 2, 3, 4, 8, 9}
    # A reader of uncommitted records sees all but the markers.
    assert offsets(content(data).records) == {*range(8), 10, 11}


def test_a_transaction_after_the_aborted_one_of_the_same_producer_counts():
    how = {"attributes": TRANSACTIONAL, "producer_id": 9}
    data = batch_of(0, 2, **how) + control(2, 9, 0) + batch_of(3, 2, **how) + control(5, 9, 1)
    found = content(data, aborted=[(9, 0)])
    assert offsets(found.records) == {3, 4}
    # The same where the range begins behind the marker.
    assert offsets(content(data, 4, 5, aborted=[(9, 0)]).records) == {4}


def test_a_compacted_offset_is_neither_a_record_nor_invisible():
    data = encoded([one_record(1), one_record(4)], base_offset=0, next_offset=8) + batch_of(9, 1)
    found = content(data)
    assert offsets(found.records) == {1, 4, 9}
    assert not len(found.invisible)


def test_a_batch_that_the_fetch_cut_off_comes_with_the_next_one():
    first, second = batch_of(0, 5), batch_of(5, 5)
    found, at = content_of(first + second[:-1], 0, 100, aborted=None, with_fingerprints=False)
    assert (offsets(found.records), at) == ({0, 1, 2, 3, 4}, 5)
    assert content_of(first[:40], 0, 100, aborted=None, with_fingerprints=False)[1] == 0


def test_a_broken_batch_is_named_unless_it_is_behind_the_range():
    broken = bytearray(batch_of(5, 5))
    broken[-1] ^= 1
    data = batch_of(0, 5) + bytes(broken)
    assert offsets(content(data, end=5).records) == {0, 1, 2, 3, 4}
    with pytest.raises(BrokenBatch, match="5..9"):
        content(data, end=6)


def test_consecutive_parts_are_joined_to_one_range():
    data = [batch_of(0, 5), control(5, 9, 1), batch_of(6, 4)]
    parts = [content(part, fingerprints=True) for part in data]
    whole, at_once = joined(parts), content(b"".join(data), fingerprints=True)
    assert whole.records == at_once.records
    assert whole.invisible == at_once.invisible
    assert whole.fingerprints.print.tolist() == at_once.fingerprints.print.tolist()
    assert not len(joined([]).records)


# -- Fetches whose batches decompress to more together than is ever opened at once.


class Log(Cluster):
    """Cluster whose fetches return as many batches as fit, and at least one."""

    def __init__(self, *batches: bytes) -> None:
        super().__init__("west regional", KafkaCluster(bootstrap=("h:1",)))
        self.batches = batches

    async def fetch(self, topic, partition, offset, bytes_max, *, read_committed):
        found = b""
        for each in self.batches[offset:]:
            if found and len(found) + len(each) > bytes_max:
                break
            found += each
        end = len(self.batches)
        return Fetched(end, end, (), memoryview(found))


def folded(offset: int, size: int) -> bytes:
    return encoded([one_record(offset, bytes(size))], codec=Codec.ZSTD)


async def read(*batches: bytes):
    reader = LogReader(Log(*batches), 10.0)
    span = Span(0, len(batches))
    return await reader.read("flights", 0, span, committed=False, with_fingerprints=True)


async def test_batches_that_decompress_too_far_together_are_read_one_by_one():
    sizes = [1, DECOMPRESSED_BYTES_MAX * 2 // 3, DECOMPRESSED_BYTES_MAX * 2 // 3, 1]
    found = await read(*(folded(offset, size) for offset, size in enumerate(sizes)))
    assert found.fingerprints.offset.tolist() == [0, 1, 2, 3]
    assert all(found.fingerprints.bytes >= sizes)


async def test_one_batch_that_decompresses_too_far_is_named():
    with pytest.raises(BrokenBatch, match=r"offsets 1\.\.1.*more than 100 MiB"):
        await read(folded(0, 1), folded(1, DECOMPRESSED_BYTES_MAX), folded(2, 1))
