"""Contract of deletion: a log that lost its begin, as by retention."""

from __future__ import annotations

import time

from tests.world.contracts.dialogue import Dialogue, stamped

OUT_OF_RANGE = "OFFSET_OUT_OF_RANGE"


async def play(talk: Dialogue) -> None:
    writer, epoch = await talk.open(), talk.epoch
    first_ms = int(time.time() * 1000)
    for sequence in (0, 2, 4):
        await talk.produce(stamped(writer, sequence, first_ms=first_ms + sequence))

    await talk.operator.delete_before(talk.topic, 3)
    talk.step("begin, end, end of what is committed", (3, 6, 6), await talk.ends())
    talk.step("records before the begin", OUT_OF_RANGE, (await talk.read(2)).code)
    read = await talk.read(3)
    text = "records from the begin on, within a batch"
    talk.step(text, (3, ((2, 3, 2), (4, 5, 2))), (read.start, read.batches))
    text = "the first record that is old enough"
    talk.step(text, ("NONE", 3), await talk.listed(first_ms))
    talk.step("end of the epoch", ("NONE", epoch, 6), await talk.epoch_end(epoch))
    state = await talk.memory(writer)
    talk.step("memory of the producer", 5, state and state.last_sequence)
    text = "a deleted batch again"
    talk.step(text, ("NONE", 0), await talk.produce(stamped(writer, 0, first_ms=first_ms)))

    await talk.operator.delete_before(talk.topic, 6)
    talk.step("an empty log: begin, end, end of what is committed", (6, 6, 6), await talk.ends())
    talk.step("the last record", OUT_OF_RANGE, (await talk.read(5)).code)
    talk.step("records of an empty log", ("NONE", 6, 6, [], 0), (await talk.read(6)).summary)
    talk.step("a time in an empty log", ("NONE", -1), await talk.listed(first_ms))
    text = "end of the epoch in an empty log"
    talk.step(text, ("NONE", epoch, 6), await talk.epoch_end(epoch))
    state = await talk.memory(writer)
    talk.step("memory of the producer still", 5, state and state.last_sequence)
    talk.step("the next batch", ("NONE", 6), await talk.produce(stamped(writer, 6)))
