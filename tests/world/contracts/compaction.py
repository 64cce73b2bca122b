"""Contract of compaction: batches that lost records keep their offsets and sequences."""

from __future__ import annotations

import time

from tests.world.contracts.dialogue import Dialogue, stamped

SEGMENT_MS = 600_000
"""Age by which a record closes the segment before it (segment.ms of the topic)."""
LEFT = ((2, 3, 0), (5, 6, 1), (7, 7, 1), (8, 8, 1))
"""Batches that are left: first and last offset, number of records."""


async def play(talk: Dialogue) -> None:
    one, two = await talk.open("one"), await talk.open("two")
    first_ms = int(time.time() * 1000)
    for sequence, of in ((0, one), (2, one)):
        await talk.produce(stamped(of, sequence, first_ms=first_ms))
    await talk.produce(stamped(two, 0, 1, first_ms=first_ms))
    await talk.produce(stamped(two, 1, 2, first_ms=first_ms))
    await talk.produce(stamped(two, 3, 1, first_ms=first_ms))
    # The cleaner leaves the last segment alone.
    closes = stamped(two, 4, 1, first_ms=first_ms + 2 * SEGMENT_MS)
    talk.step("a batch in the next segment", ("NONE", 8), await talk.produce(closes))
    await talk.operator.compact(talk.topic)
    talk.step("batches that are left", LEFT, await _compacted(talk))

    talk.step("begin, end, end of what is committed", (0, 9, 9), await talk.ends())
    text = "records of the middle of a batch without any"
    talk.step(text, LEFT, await talk.batches(3))
    text = "records of a removed offset"
    talk.step(text, LEFT[1:], await talk.batches(4))
    text = "records of a removed offset within a batch"
    talk.step(text, LEFT[1:], await talk.batches(5))
    talk.step("a time before all", ("NONE", 6), await talk.listed(first_ms))
    epoch = talk.epoch
    talk.step("end of the epoch", ("NONE", epoch, 9), await talk.epoch_end(epoch))
    for of, last in ((one, 3), (two, 4)):
        state = await talk.memory(of)
        talk.step("last sequence of a producer", last, state and state.last_sequence)
    again = await talk.produce(stamped(one, 2, first_ms=first_ms))
    talk.step("an emptied batch again", ("NONE", 2), again)
    again = await talk.produce(stamped(one, 0, first_ms=first_ms))
    talk.step("a removed batch again", ("NONE", 0), again)
    text = "the next batch of its producer"
    talk.step(text, ("NONE", 9), await talk.produce(stamped(one, 4)))


async def _compacted(talk: Dialogue) -> tuple[tuple[int, int, int], ...]:
    """Returns the log's batches once no record that is superseded is left in closed segments."""
    found: list[tuple[tuple[int, int, int], ...]] = []

    async def is_compacted() -> bool:
        found.append(await talk.batches(0))
        return _records(found[-1]) <= _records(LEFT)

    await talk.until(is_compacted)
    return found[-1]


def _records(batches: tuple[tuple[int, int, int], ...]) -> int:
    return sum(count for _, _, count in batches)
