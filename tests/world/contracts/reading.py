"""Contract of reading: offsets by time and isolation, transactions, fetch sessions, epochs."""

from __future__ import annotations

import time
from typing import Any

from aiokafka.protocol.transaction import EndTxnRequest

from replicator.kafka.client.cluster import EARLIEST, LATEST
from replicator.kafka.protocol.error_codes import named
from replicator.kafka.protocol.fetch import FetchPosition
from tests.world.contracts.dialogue import Dialogue, stamped
from tests.world.contracts.sequences import OTHER_ID

OUT_OF_RANGE, NOT_THERE = "OFFSET_OUT_OF_RANGE", "UNKNOWN_TOPIC_OR_PARTITION"


async def play(talk: Dialogue) -> None:
    # Older records would stand in a segment of their own, and a read ends with its segment.
    first_ms = int(time.time() * 1000)
    await _write(talk, first_ms)
    await _list(talk, first_ms)
    await _read_open(talk)
    await _read_aborted(talk)
    await _read_wrongly(talk)
    await _read_little(talk)
    await _read_in_session(talk)
    await _ask_epochs(talk)


async def _write(talk: Dialogue, first_ms: int) -> None:
    """Writes three records, and two of an open transaction."""
    text = "an empty log: begin, end, end of what is committed"
    talk.step(text, (0, 0, 0), await talk.ends())
    talk.step("a time in an empty log", ("NONE", -1), await talk.listed(first_ms))
    writer = await talk.open()
    await talk.produce(stamped(writer, 0, 3, first_ms=first_ms))
    await writer.add_partitions(talk.topic, [0])
    data = stamped(writer, 3, is_transactional=True, first_ms=first_ms)
    await talk.produce(data, transactional_id=writer.transactional_id)


async def _list(talk: Dialogue, first_ms: int) -> None:
    text = "an open transaction: begin, end, end of what is committed"
    talk.step(text, (0, 5, 3), await talk.ends())
    text = "the last record that is old enough"
    talk.step(text, ("NONE", 0), await talk.listed(first_ms))
    talk.step("a time within a batch", ("NONE", 2), await talk.listed(first_ms + 2))
    talk.step("a time behind all records", ("NONE", -1), await talk.listed(first_ms + 3))
    text = "offsets of a partition that is not there"
    talk.step(text, (NOT_THERE, -1), await talk.listed(LATEST, partition=7))
    talk.step("the begin of a log", ("NONE", 0), await talk.listed(EARLIEST))


async def _read_open(talk: Dialogue) -> None:
    """Reads around an open transaction: error, high watermark, last stable offset, aborted, and the
    number of batches."""
    read = await talk.read(0, read_committed=False)
    talk.step("read from 0, uncommitted too", ("NONE", 5, 3, [], 2), read.summary)
    talk.step("read from 0, committed", ("NONE", 5, 3, [], 1), (await talk.read(0)).summary)
    text = "read from the middle of a batch, committed"
    talk.step(text, ("NONE", 5, 3, [], 1), (await talk.read(1)).summary)
    text = "read from the open transaction on, committed"
    talk.step(text, ("NONE", 5, 3, [], 0), (await talk.read(3)).summary)


async def _read_aborted(talk: Dialogue) -> None:
    writer = f"{talk.topic}.id"
    (producer_id, state), *_ = (await talk.client.producer_states(talk.topic, 0)).items()
    end = EndTxnRequest(writer, producer_id, state.epoch, False)
    talk.step("the abort", "NONE", await talk.transaction(writer, end))
    await talk.until_end(6)
    text = "after the abort: begin, end, end of what is committed"
    talk.step(text, (0, 6, 6), await talk.ends())
    text = "read aborted records, committed"
    talk.step(text, ("NONE", 6, 6, [3], 2), (await talk.read(3)).summary)
    text = "read from 0 to the aborted ones, committed"
    talk.step(text, ("NONE", 6, 6, [3], 3), (await talk.read(0)).summary)
    talk.step("read from the end", ("NONE", 6, 6, [], 0), (await talk.read(6)).summary)


async def _read_wrongly(talk: Dialogue) -> None:
    talk.step("read behind the end", OUT_OF_RANGE, (await talk.read(7)).code)
    talk.step("read before the begin", OUT_OF_RANGE, (await talk.read(-5)).code)
    later = await talk.read(0, epoch=talk.epoch + 1)
    talk.step("read in an epoch to come", "UNKNOWN_LEADER_EPOCH", later.code)
    other = await talk.read(0, topic=OTHER_ID)
    talk.step("read another topic id", "UNKNOWN_TOPIC_ID", other.code)
    missing = await talk.read(0, partition=7)
    talk.step("read a partition that is not there", NOT_THERE, missing.code)


async def _read_little(talk: Dialogue) -> None:
    """Reads with limits of bytes: only the first batch may exceed them, a later one is cut."""
    whole, rest = (await talk.read(0)).size, (await talk.read(3)).size
    first = whole - rest
    one = await talk.read(0, bytes_max=1)
    text = "read one byte: batches and bytes"
    talk.step(text, (1, first), (len(one.batches), one.size))
    cut = await talk.read(0, bytes_max=first + 20)
    text = "read a batch and 20 bytes: batches and bytes"
    talk.step(text, (1, first + 20), (len(cut.batches), cut.size))


async def _read_in_session(talk: Dialogue) -> None:
    """Reads in a fetch session: error, whether there is a session, and partitions named."""
    begin, end = (FetchPosition(talk.id, 0, offset, 1 << 20) for offset in (0, 6))
    first = await talk.in_session((0, 0), [begin])
    talk.step("a session begins", ("NONE", True, 1), shown(first))
    number = first.session_id
    await talk.in_session((number, 1), [end])
    nothing = await talk.in_session((number, 2), [])
    talk.step("the session without news", ("NONE", True, 0), shown(nothing))
    again = await talk.in_session((number, 3), [begin])
    talk.step("the session at another offset", ("NONE", True, 1), shown(again))
    late = await talk.in_session((number, 3), [])
    talk.step("the session in an epoch that is over", ("error 71", False, 0), shown(late))
    left = await talk.in_session((number, 4), [], [(talk.id, 0)])
    talk.step("the session without the partition", ("NONE", False, 0), shown(left))
    unknown = await talk.in_session((123_456_789, 1), [])
    talk.step("a session that nobody has", ("error 70", False, 0), shown(unknown))


def shown(answer: Any) -> tuple[str, bool, int]:
    """Returns error, whether there is a session, and how many partitions the answer names."""
    count = sum(len(rows) for _, rows, _ in answer.topics)
    return named(answer.error_code), answer.session_id > 0, count


async def _ask_epochs(talk: Dialogue) -> None:
    epoch = talk.epoch
    text = "end of an epoch, asked in an epoch to come"
    later = await talk.epoch_end(epoch, current=epoch + 1)
    talk.step(text, ("UNKNOWN_LEADER_EPOCH", -1, -1), later)
    now = await talk.epoch_end(epoch, current=epoch)
    talk.step("end of the epoch, asked in it", ("NONE", epoch, 6), now)
    talk.step("end of no epoch", ("NONE", -1, -1), await talk.epoch_end(-1))
    text = "end of an epoch to come"
    talk.step(text, ("NONE", -1, -1), await talk.epoch_end(epoch + 9))
    text = "end of an epoch of a partition that is not there"
    talk.step(text, (NOT_THERE, -1, -1), await talk.epoch_end(epoch, partition=7))
    text = "producers of a partition that is not there"
    talk.step(text, NOT_THERE, await talk.described(partition=7))
