"""Contract of sequences: what a broker takes from a producer, and what it takes for repeated."""

from __future__ import annotations

from uuid import UUID

from tests.world.contracts.dialogue import Dialogue, stamped
from tests.world.kafka.log_batch import MAX_SEQUENCE

OTHER_ID = UUID(int=0x1234567890ABCDEF1234567890ABCDEF)
OUT_OF_ORDER = ("OUT_OF_ORDER_SEQUENCE_NUMBER", -1)


async def play(talk: Dialogue) -> None:
    one, two = await talk.open("one"), await talk.open("two")

    async def produce(text: str, expected: tuple[str, int], data: bytes) -> None:
        talk.step(text, expected, await talk.produce(data))

    await produce("an unknown producer begins at 10", ("NONE", 0), stamped(one, 10))
    for sequence in range(12, 22, 2):
        await produce(f"sequence {sequence}", ("NONE", sequence - 10), stamped(one, sequence))
    await produce("again the fifth batch from the end", ("NONE", 2), stamped(one, 12))
    await produce("again the sixth batch from the end", OUT_OF_ORDER, stamped(one, 10))
    await produce("again the last batch", ("NONE", 10), stamped(one, 20))
    await produce("a longer batch from a known sequence on", OUT_OF_ORDER, stamped(one, 20, 3))
    await produce("a batch that leaves one sequence out", OUT_OF_ORDER, stamped(one, 23))
    state = await talk.memory(one)
    known = state and (state.epoch, state.last_sequence, state.transaction_start)
    talk.step("memory of the producer", (0, 21, -1), known)

    begin = "another producer begins just before the end of the sequences"
    await produce(begin, ("NONE", 12), stamped(two, MAX_SEQUENCE - 2))
    over = stamped(two, MAX_SEQUENCE, 3)
    await produce("its batch over the end", ("NONE", 14), over)
    await produce("its next batch", ("NONE", 17), stamped(two, 2))
    state = await talk.memory(two)
    talk.step("its last sequence", 3, state and state.last_sequence)
    await produce("again its batch over the end", ("NONE", 14), over)

    newer = await talk.open("one")
    text = "a batch of an epoch that is newer than any marker"
    await produce(text, ("NONE", 19), stamped(newer, 0))
    text = "a batch of the older epoch after that"
    await produce(text, ("INVALID_PRODUCER_EPOCH", -1), stamped(one, 22))
    large = stamped(newer, 2, size=600_000)
    await produce("a batch that is too large", ("MESSAGE_TOO_LARGE", -1), large)
    await produce("a batch without its end", ("INVALID_RECORD", -1), stamped(newer, 2)[:-1])
    answer = await talk.produce(stamped(newer, 2), topic_id=OTHER_ID)
    talk.step("a batch of another topic id", ("UNKNOWN_TOPIC_ID", -1), answer)
    answer = await talk.produce(stamped(newer, 2), partition=7)
    text = "a batch of a partition that is not there"
    talk.step(text, ("UNKNOWN_TOPIC_OR_PARTITION", -1), answer)
    talk.step("the log's end", 21, await talk.client.log_end(talk.topic, 0))
