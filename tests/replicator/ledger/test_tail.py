"""What a target never took is told apart from what compaction or retention has taken since."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from replicator.ledger.entry import DETAIL_CHARACTERS_MAX, SEQUENCE_MASK, Gap
from replicator.ledger.loss import LossKind
from replicator.ledger.tail import Found, missing_records, read_tail
from tests.replicator.carrier.test_lane import PLACE
from tests.replicator.ledger.held import held
from tests.replicator.ledger.test_takeover import batch, marker

ENTRY = held(sequence=SEQUENCE_MASK - 5, source_offset=100, target_offset=1000)
WRITER, OTHER = (ENTRY.producer_id, ENTRY.epoch), (99, 0)
TAKER = (ENTRY.producer_id, ENTRY.epoch + 1)


class Log:
    """A target whose log is these batches."""

    def __init__(self, *batches: bytes) -> None:
        self._batches = b"".join(batches)

    async def read(self, topic, partition, offset, size):
        return self._batches


def own(offset: int, first: int, count: int) -> bytes:
    """A batch whose first record is so many behind the entry."""
    return batch(offset, WRITER, (ENTRY.sequence + first) & SEQUENCE_MASK, count)


async def tail(*batches: bytes, is_whole: bool = True):
    log = Log(*batches)
    return await read_tail(log, PLACE, ENTRY, 1000, TAKER, is_whole=is_whole)  # type: ignore[arg-type]


async def test_a_batch_that_was_overtaken_is_missing():
    found = await tail(own(1000, 0, 10), own(1010, 15, 5), marker(1015, TAKER))
    assert found.landed == 20
    assert found.missing.kind is LossKind.BATCH_MISSING
    assert (found.missing.begin, found.missing.end) == (110, 115)
    assert "5 records" in found.missing.detail and "accept-loss" in found.missing.detail
    assert len(found.missing.detail) <= DETAIL_CHARACTERS_MAX


async def test_the_first_batch_may_be_the_one_that_is_missing():
    found = await tail(own(1000, 10, 5), marker(1005, TAKER))
    assert (found.missing.begin, found.missing.end) == (100, 110)


async def test_records_of_others_between_are_no_room_for_ours():
    found = await tail(
        own(1000, 0, 10), batch(1010, OTHER, 0, 5), own(1015, 15, 5), marker(1020, TAKER)
    )
    assert (found.missing.begin, found.missing.end) == (110, 115)


async def test_what_compaction_took_is_not_missing():
    found = await tail(own(1000, 0, 10), own(1015, 15, 5), marker(1020, TAKER))
    assert (found.landed, found.missing) == (20, None)


async def test_what_retention_took_is_not_missing():
    found = await tail(own(1000, 10, 5), marker(1005, TAKER), is_whole=False)
    assert (found.landed, found.missing) == (15, None)


async def test_what_landed_before_the_entry_or_twice_is_not_missing():
    found = await tail(
        own(1000, -5, 5), own(1005, 0, 10), own(1015, 0, 10), own(1025, 10, 5), marker(1030, TAKER)
    )
    assert (found.landed, found.missing) == (15, None)


counts = st.lists(st.integers(1, 9), min_size=1, max_size=12)


@given(counts)
def test_contiguous_batches_miss_nothing(sizes):
    ends = [sum(sizes[: k + 1]) for k in range(len(sizes))]
    found = [Found(end - size, end, False) for size, end in zip(sizes, ends, strict=True)]
    assert missing_records(ENTRY, found) is None


@given(counts, st.data())
def test_whatever_is_left_out_is_within_the_range(sizes, data):
    ends = [sum(sizes[: k + 1]) for k in range(len(sizes))]
    every = [Found(end - size, end, False) for size, end in zip(sizes, ends, strict=True)]
    out = data.draw(st.sets(st.sampled_from(range(len(every)))))
    kept = [each for k, each in enumerate(every) if k not in out]
    landed = kept[-1].end if kept else 0
    missing = [each for k, each in enumerate(every) if k in out and each.end <= landed]
    loss = missing_records(ENTRY, kept)
    if not missing:
        assert loss is None
    else:
        assert (loss.begin, loss.end) == (100 + missing[0].first, 100 + missing[-1].end)


def test_the_range_is_in_offsets_of_the_source_gaps_and_all():
    gapped = replace(ENTRY, gaps=(Gap(10, 1000),))
    loss = missing_records(gapped, [Found(0, 8, False), Found(12, 15, False)])
    assert (loss.begin, loss.end) == (108, 1112)
