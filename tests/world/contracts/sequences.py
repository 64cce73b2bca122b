"""Contract of sequences: what a broker takes from a producer, and what it takes for repeated."""

from __future__ import annotations

from uuid import UUID

from replicator.kafka.client.fenced_committer import FencedCommitter
from tests.world.contracts.dialogue import Dialogue, stamped
from tests.world.kafka.log_batch import MAX_SEQUENCE

OTHER_ID = UUID(int=0x1234567890ABCDEF1234567890ABCDEF)
OUT_OF_ORDER = ("OUT_OF_ORDER_SEQUENCE_NUMBER", -1)


async def play(talk: Dialogue) -> None:
    one, two = await talk.open("one"), await talk.open("two")
    await _repeat(talk, one)
    await _wrap(talk, two)
    newer = await talk.open("one")
    await _raise_epoch(talk, one, newer)
    await _send_wrongly(talk, newer)
    talk.step("the log's end", 21, await talk.client.log_end(talk.topic, 0))


async def _repeat(talk: Dialogue, one: FencedCommitter) -> None:
    """Sends batches in order and again: a broker remembers the last five."""
    text = "an unknown producer begins at 10"
    talk.step(text, ("NONE", 0), await talk.produce(stamped(one, 10)))
    for sequence in range(12, 22, 2):
        answer = await talk.produce(stamped(one, sequence))
        talk.step(f"sequence {sequence}", ("NONE", sequence - 10), answer)
    for text, expected, data in (
        ("again the fifth batch from the end", ("NONE", 2), stamped(one, 12)),
        ("again the sixth batch from the end", OUT_OF_ORDER, stamped(one, 10)),
        ("again the last batch", ("NONE", 10), stamped(one, 20)),
        ("a longer batch from a known sequence on", OUT_OF_ORDER, stamped(one, 20, 3)),
        ("a batch that leaves one sequence out", OUT_OF_ORDER, stamped(one, 23)),
    ):
        talk.step(text, expected, await talk.produce(data))
    state = await talk.memory(one)
    known = state and (state.epoch, state.last_sequence, state.transaction_start)
    talk.step("memory of the producer", (0, 21, -1), known)


async def _wrap(talk: Dialogue, two: FencedCommitter) -> None:
    """Sends batches over the end of the sequences."""
    begin = stamped(two, MAX_SEQUENCE - 2)
    text = "another producer begins just before the end of the sequences"
    talk.step(text, ("NONE", 12), await talk.produce(begin))
    over = stamped(two, MAX_SEQUENCE, 3)
    talk.step("its batch over the end", ("NONE", 14), await talk.produce(over))
    talk.step("its next batch", ("NONE", 17), await talk.produce(stamped(two, 2)))
    state = await talk.memory(two)
    talk.step("its last sequence", 3, state and state.last_sequence)
    talk.step("again its batch over the end", ("NONE", 14), await talk.produce(over))


async def _raise_epoch(talk: Dialogue, one: FencedCommitter, newer: FencedCommitter) -> None:
    text = "a batch of an epoch that is newer than any marker"
    talk.step(text, ("NONE", 19), await talk.produce(stamped(newer, 0)))
    text = "a batch of the older epoch after that"
    refused = ("INVALID_PRODUCER_EPOCH", -1)
    talk.step(text, refused, await talk.produce(stamped(one, 22)))


async def _send_wrongly(talk: Dialogue, newer: FencedCommitter) -> None:
    data = stamped(newer, 2)
    large = await talk.produce(stamped(newer, 2, size=600_000))
    talk.step("a batch that is too large", ("MESSAGE_TOO_LARGE", -1), large)
    cut = await talk.produce(data[:-1])
    talk.step("a batch without its end", ("INVALID_RECORD", -1), cut)
    other = await talk.produce(data, topic_id=OTHER_ID)
    talk.step("a batch of another topic id", ("UNKNOWN_TOPIC_ID", -1), other)
    missing = await talk.produce(data, partition=7)
    text = "a batch of a partition that is not there"
    talk.step(text, ("UNKNOWN_TOPIC_OR_PARTITION", -1), missing)
