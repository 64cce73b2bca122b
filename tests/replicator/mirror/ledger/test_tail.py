"""Records that a target never took are told apart from those compaction or retention removed."""

import asyncio
import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.batches.batch import LOG_APPEND_TIME, scan
from replicator.kafka.client.cluster import Answered
from replicator.kafka.client.loss import LossKind
from replicator.kafka.protocol.error_codes import Code
from replicator.mirror.ledger.entry import DETAIL_CHARACTERS_MAX, SEQUENCE_MASK, Gap, Mark
from replicator.mirror.ledger.tail import (
    FoundBatch,
    Reading,
    Remembered,
    mark_holds,
    missing_records,
    read_tail,
)
from tests.replicator.mirror.ledger.ends import LEADER_EPOCH, batch, marker
from tests.replicator.mirror.ledger.held import PARTITION, held

ENTRY = held(sequence=SEQUENCE_MASK - 5, source_offset=100, target_offset=1000)
WRITER, OTHER = (ENTRY.producer_id, ENTRY.epoch), (99, 0)
FENCE = (ENTRY.producer_id, ENTRY.epoch + 1)


class Log:
    """A target whose log is these batches."""

    def __init__(self, *batches: bytes) -> None:
        self._batches = b"".join(batches)

    async def read(self, topic, partition, offset, size):
        return self._batches


def own(offset: int, first: int, count: int) -> bytes:
    """Returns a batch whose first record is the entry's sequence plus `first`."""
    return batch(offset, WRITER, (ENTRY.sequence + first) & SEQUENCE_MASK, count)


async def tail(*batches: bytes, is_whole: bool = True):
    log = Log(*batches)
    reading = Reading(ENTRY, 1000, is_whole=is_whole)
    return await read_tail(log, PARTITION, reading, FENCE)  # type: ignore[arg-type]


async def test_a_batch_that_was_overtaken_is_missing():
    found = await tail(own(1000, 0, 10), own(1010, 15, 5), marker(1015, FENCE))
    assert found.landed == 20
    assert found.missing.kind is LossKind.BATCH_MISSING
    assert (found.missing.begin, found.missing.end) == (110, 115)
    assert "5 records" in found.missing.detail and "accept-loss" in found.missing.detail
    assert len(found.missing.detail) <= DETAIL_CHARACTERS_MAX


async def test_records_that_were_given_other_timestamps_are_named():
    stamped = bytearray(own(1010, 10, 5))
    struct.pack_into(">h", stamped, 21, LOG_APPEND_TIME)
    found = await tail(own(1000, 0, 10), bytes(stamped), own(1015, 15, 5), marker(1020, FENCE))
    assert found.landed == 20 and found.missing is None
    assert found.changed.kind is LossKind.TIMES_CHANGED
    assert (found.changed.begin, found.changed.end) == (110, 115)
    assert len(found.changed.detail) <= DETAIL_CHARACTERS_MAX


async def test_the_first_batch_may_be_the_one_that_is_missing():
    found = await tail(own(1000, 10, 5), marker(1005, FENCE))
    assert (found.missing.begin, found.missing.end) == (100, 110)


async def test_records_of_other_producers_leave_no_room_for_missing_ones():
    found = await tail(
        own(1000, 0, 10), batch(1010, OTHER, 0, 5), own(1015, 15, 5), marker(1020, FENCE)
    )
    assert (found.missing.begin, found.missing.end) == (110, 115)


async def test_compacted_records_are_not_missing():
    found = await tail(own(1000, 0, 10), own(1015, 15, 5), marker(1020, FENCE))
    assert (found.landed, found.missing) == (20, None)


async def test_records_deleted_by_retention_are_not_missing():
    found = await tail(own(1000, 10, 5), marker(1005, FENCE), is_whole=False)
    assert (found.landed, found.missing) == (15, None)


async def test_records_that_landed_before_the_entry_or_twice_are_not_missing():
    found = await tail(
        own(1000, -5, 5),
        own(1005, 0, 10),
        own(1015, 0, 10),
        own(1025, 10, 5),
        marker(1030, FENCE),
    )
    assert (found.landed, found.missing) == (15, None)


counts = st.lists(st.integers(1, 9), min_size=1, max_size=12)


@given(counts)
def test_contiguous_batches_miss_nothing(sizes):
    ends = [sum(sizes[: k + 1]) for k in range(len(sizes))]
    found = [FoundBatch(end - size, end, False) for size, end in zip(sizes, ends, strict=True)]
    assert missing_records(ENTRY, found) is None


@given(counts, st.data())
def test_every_missing_record_is_within_the_range(sizes, data):
    ends = [sum(sizes[: k + 1]) for k in range(len(sizes))]
    every = [FoundBatch(end - size, end, False) for size, end in zip(sizes, ends, strict=True)]
    out = data.draw(st.sets(st.sampled_from(range(len(every)))))
    kept = [each for k, each in enumerate(every) if k not in out]
    landed = kept[-1].end if kept else 0
    missing = [each for k, each in enumerate(every) if k in out and each.end <= landed]
    loss = missing_records(ENTRY, kept)
    if not missing:
        assert loss is None
    else:
        assert (loss.begin, loss.end) == (100 + missing[0].first, 100 + missing[-1].end)


def test_the_range_is_in_source_offsets_including_gaps():
    gapped = replace(ENTRY, gaps=(Gap(10, 1000),))
    loss = missing_records(gapped, [FoundBatch(0, 8, False), FoundBatch(12, 15, False)])
    assert (loss.begin, loss.end) == (108, 1112)


# -- end of a tail


async def test_the_marker_of_an_earlier_takeover_ends_the_tail():
    later = (ENTRY.producer_id, ENTRY.epoch + 2)
    log = Log(own(1000, 0, 10), marker(1010, FENCE), marker(1011, later))
    reading = Reading(ENTRY, 1000, is_whole=True)
    found = await read_tail(log, PARTITION, reading, later)  # type: ignore[arg-type]
    assert (found.landed, found.end) == (10, 1011)


async def test_a_marker_of_the_entrys_own_epoch_or_another_producer_does_not_end_the_tail():
    found = await tail(
        marker(1000, WRITER), marker(1001, OTHER), own(1002, 0, 10), marker(1012, FENCE)
    )
    assert (found.landed, found.end) == (10, 1013)


# -- attempts


class BatchByBatch:
    """A log that returns one batch at a time, from some offset on, until it is cut short."""

    def __init__(self, *batches: bytes, start: int = 0) -> None:
        self.batches = batches
        self.start = start
        self.left = len(batches)
        self.asked: list[int] = []

    async def read(self, topic, partition, offset, size):
        if self.left == 0:
            raise asyncio.CancelledError
        self.left -= 1
        self.asked.append(offset)
        if offset < self.start:
            raise Answered("Fetch", [Code.OFFSET_OUT_OF_RANGE])
        for each in self.batches:
            [(_, header)] = scan(each)
            if header.next_offset > offset:
                return each
        raise asyncio.CancelledError

    async def log_start(self, topic, partition):
        return self.start


def under(leader: int, batch: bytes) -> bytes:
    """Returns the batch as a leader of this epoch wrote it."""
    data = bytearray(batch)
    struct.pack_into(">i", data, 12, leader)
    return bytes(data)


async def read_in(log, reading: Reading, attempts: list[int]):
    """Reads the tail in attempts of so many answers each, and a last one that is not cut short."""
    for answers in attempts:
        log.left = answers
        try:
            return await read_tail(log, PARTITION, reading, FENCE)
        except asyncio.CancelledError:
            reading.continue_from(log.start)
    log.left = 10 * len(log.batches)
    return await read_tail(log, PARTITION, reading, FENCE)


KINDS = st.lists(st.tuples(st.booleans(), st.integers(1, 5)), max_size=12)


def a_log(kinds) -> tuple[list[bytes], int, int]:
    """Returns batches of the writer and of others with a marker at the end.

    Also returns the number of records landed, and the end before the marker.
    """
    batches, offset, landed = [], 1000, 0
    for is_own, count in kinds:
        if is_own:
            batches.append(own(offset, landed, count))
            landed += count
        else:
            batches.append(batch(offset, OTHER, 0, count))
        offset += count
    return [*batches, marker(offset, FENCE)], landed, offset


@given(KINDS, st.lists(st.integers(1, 4), max_size=4))
async def test_a_tail_read_in_several_attempts_is_the_one_read_in_one(kinds, attempts):
    batches, landed, end = a_log(kinds)
    at_once = await tail(*batches)
    log = BatchByBatch(*batches)
    assert await read_in(log, Reading(ENTRY, 1000, 5, is_whole=True), attempts) == at_once
    assert len(log.asked) == len(batches)
    assert (at_once.landed, at_once.end) == (landed, end + 1)


@given(KINDS, KINDS)
async def test_skipping_the_records_of_other_producers_does_not_change_the_tail(before, since):
    """The leader was asked between the two lists; the end of the log was known before."""
    _, landed, end = a_log(before)
    batches, _, _ = a_log([*before, *since])
    at_once = await tail(*batches)
    log = BatchByBatch(*batches)
    reading = Reading(ENTRY, 1000, LEADER_EPOCH, True, Remembered(landed, end))
    found = await read_in(log, reading, [])
    assert found == at_once
    others_behind = 0
    for is_own, _ in reversed(before):
        if is_own:
            break
        others_behind += 1
    assert len(log.asked) == len(batches) - others_behind


@pytest.mark.parametrize("attempts", [[], [2, 1]], ids=["in one attempt", "in several"])
async def test_under_another_leader_than_was_asked_nothing_is_skipped(attempts):
    """The memory may include records that the next leader never had, or lack some that it took."""
    batches = [
        own(1000, 0, 10),
        batch(1010, OTHER, 0, 5),
        under(6, own(1015, 10, 5)),
        under(6, marker(1020, FENCE)),
    ]
    reading = Reading(ENTRY, 1000, 5, True, Remembered(10, 1020))
    found = await read_in(BatchByBatch(*batches), reading, attempts)
    assert (found.landed, found.missing) == (15, None)


async def test_records_read_before_an_election_are_read_again():
    reading = Reading(ENTRY, 1000, 5, is_whole=True)
    cut = BatchByBatch(own(1000, 0, 10), own(1010, 10, 10))
    with pytest.raises(asyncio.CancelledError):
        await read_tail(cut, PARTITION, reading, FENCE)  # type: ignore[arg-type]
    assert reading.landed == 20
    reading.continue_from(0)
    today = [
        own(1000, 0, 10),
        under(6, batch(1010, OTHER, 0, 20)),
        under(6, marker(1030, FENCE)),
    ]
    found = await read_in(BatchByBatch(*today), reading, [])
    assert (found.landed, found.end) == (10, 1031)


async def test_retention_between_two_attempts_leaves_a_hole():
    reading = Reading(ENTRY, 1000, 5, is_whole=True)
    log = BatchByBatch(own(1000, 0, 10), own(1010, 10, 10), own(1020, 20, 5), marker(1025, FENCE))
    log.left = 1
    with pytest.raises(asyncio.CancelledError):
        await read_tail(log, PARTITION, reading, FENCE)  # type: ignore[arg-type]
    log.start = 1020
    found = await read_in(log, reading, [])
    assert (found.landed, found.missing) == (25, None)


# -- the mark


class Shows:
    """A log whose leader shows nothing at first, and reports its end once that is known."""

    def __init__(self, end: int, *answers: bytes) -> None:
        self.end, self.answers = end, list(answers)

    async def read(self, topic, partition, offset, size):
        return self.answers.pop(0)

    async def log_end(self, topic, partition):
        return self.end


@pytest.mark.parametrize(("end", "holds"), [(1010, True), (1009, False)])
async def test_an_empty_answer_is_no_proof_that_a_mark_is_gone(end, holds):
    log = Shows(end, b"", b"", own(1000, 0, 10))
    mark = Mark(1009, *WRITER, (ENTRY.sequence + 9) & SEQUENCE_MASK)
    assert await mark_holds(log, PARTITION, mark) is holds  # type: ignore[arg-type]
