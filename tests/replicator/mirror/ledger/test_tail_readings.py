"""A leader's memory counts if it is reliable; readings are kept between attempts."""

import asyncio

import pytest

from replicator.kafka.client.cluster import Answered, ProducerState
from replicator.kafka.protocol.error_codes import Code
from replicator.mirror.ledger.fenced_tails import TailReadings, remembered
from replicator.mirror.ledger.inspection import TargetFindings
from replicator.mirror.ledger.landed import Memory
from replicator.mirror.ledger.tail import Remembered
from tests.replicator.mirror.ledger.ends import LEADER_EPOCH, marker
from tests.replicator.mirror.ledger.held import PARTITION
from tests.replicator.mirror.ledger.test_tail import ENTRY, FENCE, BatchByBatch, own

FOUND = TargetFindings(start=0, end=1020, leader=LEADER_EPOCH, loss=None)
FORGOTTEN = Memory(LEADER_EPOCH, None)


@pytest.mark.parametrize(
    ("state", "known"),
    [
        (ProducerState(ENTRY.epoch, ENTRY.sequence), Remembered(1, 1020)),
        (ProducerState(ENTRY.epoch, ENTRY.sequence - 1), Remembered(0, 1020)),
        (ProducerState(ENTRY.epoch, -1), Remembered(0, 1020)),
        (ProducerState(ENTRY.epoch - 1, ENTRY.sequence + 9), Remembered(0, 1020)),
        (ProducerState(ENTRY.epoch + 1, -1), None),
        (None, None),
    ],
    ids=["landed", "nothing new", "sent nothing", "never wrote", "fenced before", "forgotten"],
)
def test_a_memory_of_the_entrys_epoch_or_an_older_one_is_reliable(state, known):
    assert remembered(ENTRY, FOUND, Memory(LEADER_EPOCH, state)) == known
    assert remembered(ENTRY, FOUND, Memory(LEADER_EPOCH + 1, state)) is None


async def attempt(
    readings: TailReadings, log: BatchByBatch, answers: int, memory: Memory = FORGOTTEN
):
    log.left = answers
    return await readings.read(
        PARTITION, ENTRY, 1000, FENCE, found=FOUND, memory=memory, is_whole=True
    )


async def test_the_next_attempt_continues_where_the_previous_one_was_cut_short():
    log = BatchByBatch(own(1000, 0, 10), own(1010, 10, 10), marker(1020, FENCE))
    readings = TailReadings(log)  # type: ignore[arg-type]
    with pytest.raises(asyncio.CancelledError):
        await attempt(readings, log, 1)
    first = readings.bytes_read
    assert first > 0
    assert (await attempt(readings, log, 2))[0].landed == 20
    assert log.asked == [1000, 1010, 1020]
    assert readings.bytes_read > first


async def test_a_log_that_became_shorter_is_read_again_from_the_entry():
    log = BatchByBatch(own(1000, 0, 10), marker(1010, FENCE))
    readings = TailReadings(log)  # type: ignore[arg-type]
    with pytest.raises(asyncio.CancelledError):
        await attempt(readings, log, 1)

    async def cut(topic, partition, offset, size):
        raise Answered("Fetch", [Code.OFFSET_OUT_OF_RANGE])

    read, log.read = log.read, cut
    with pytest.raises(Answered):
        await attempt(readings, log, 1)
    log.read = read
    assert (await attempt(readings, log, 2))[0].landed == 10
    assert log.asked == [1000, 1000, 1010]


async def test_a_complete_tail_is_kept_until_its_entry_is_replaced():
    log = BatchByBatch(own(1000, 0, 10), marker(1010, FENCE))
    readings = TailReadings(log)  # type: ignore[arg-type]
    first = await attempt(readings, log, 2)
    assert await attempt(readings, log, 0) == first
    assert log.asked == [1000, 1010]
    readings.forget([PARTITION])
    read = readings.bytes_read
    await attempt(readings, log, 2)
    assert readings.bytes_read == 2 * read


async def test_the_first_attempts_memory_counts_once_its_own_marker_has_reset_the_leader():
    log = BatchByBatch(own(1000, 0, 10), marker(1010, FENCE))
    readings = TailReadings(log)  # type: ignore[arg-type]
    memory = Memory(LEADER_EPOCH, ProducerState(ENTRY.epoch, ENTRY.sequence + 29))
    with pytest.raises(asyncio.CancelledError):
        await attempt(readings, log, 1, memory)
    reset = Memory(LEADER_EPOCH, ProducerState(ENTRY.epoch + 1, -1))
    assert (await attempt(readings, log, 1, reset))[1] == memory
