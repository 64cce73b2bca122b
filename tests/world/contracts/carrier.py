"""Contract of carriers: their requests in the order of a takeover, and what a fenced one gets."""

from __future__ import annotations

from replicator.kafka.client.fenced_committer import FencedCommitter
from tests.world.contracts.dialogue import Dialogue, code_of, stamped

GROUP = "contract"


async def play(talk: Dialogue) -> None:
    older, newer = await talk.open(), await talk.open()
    is_next = (newer.producer_id, newer.epoch) == (older.producer_id, older.epoch + 1)
    talk.step("another client opens the id: one epoch more", True, is_next)
    refused = await code_of(_commit(older, talk.topic, 1, ""))
    talk.step("the older holder commits", "INVALID_PRODUCER_EPOCH", refused)
    await _produce(talk, newer)
    await _commit_offsets(talk, newer)
    await _fence(talk, newer)


async def _produce(talk: Dialogue, holder: FencedCommitter) -> None:
    first = stamped(holder, 0)
    talk.step("first batch", ("NONE", 0), await talk.produce(first))
    talk.step("the same batch again", ("NONE", 0), await talk.produce(first))
    early = await talk.produce(stamped(holder, 5))
    talk.step("a batch too far ahead", ("OUT_OF_ORDER_SEQUENCE_NUMBER", -1), early)
    talk.step("the next batch", ("NONE", 2), await talk.produce(stamped(holder, 2)))
    broken = await talk.produce(stamped(holder, 4)[:-1] + b"\xff")
    talk.step("a batch with a wrong checksum", ("CORRUPT_MESSAGE", -1), broken)
    talk.step("the log's end", 4, await talk.client.log_end(talk.topic, 0))
    memory = await talk.memory(holder)
    talk.step("last sequence", 3, memory and memory.last_sequence)


async def _commit_offsets(talk: Dialogue, holder: FencedCommitter) -> None:
    await _commit(holder, talk.topic, 7, "seven")
    talk.step("offsets are committed", (7, "seven"), await _committed(talk))
    missing = await code_of(_commit(holder, "no-such-topic", 1, ""))
    talk.step("offsets of a topic that is not there", "UNKNOWN_TOPIC_OR_PARTITION", missing)
    talk.step("offsets after that", (7, "seven"), await _committed(talk))


async def _fence(talk: Dialogue, holder: FencedCommitter) -> None:
    fencing = await talk.open()
    await fencing.fence(talk.topic, [0])
    await talk.until_end(5)
    talk.step("the newer holder fences", 5, await talk.client.log_end(talk.topic, 0))
    late = await talk.produce(stamped(holder, 4))
    talk.step("a batch of the older epoch", ("INVALID_PRODUCER_EPOCH", -1), late)
    memory = await talk.memory(fencing)
    known = memory and (memory.epoch, memory.last_sequence)
    talk.step("memory of the fenced producer", (fencing.epoch, -1), known)
    early = await talk.produce(stamped(fencing, 4))
    text = "a batch of the newer epoch that does not begin at 0"
    talk.step(text, ("OUT_OF_ORDER_SEQUENCE_NUMBER", -1), early)
    text = "a batch of the newer epoch"
    talk.step(text, ("NONE", 5), await talk.produce(stamped(fencing, 0)))


async def _commit(of: FencedCommitter, topic: str, offset: int, metadata: str) -> None:
    await of.commit({GROUP: [(topic, 0, offset, metadata)]}, lambda *_: True)


async def _committed(talk: Dialogue) -> tuple[int, str]:
    (found,) = (await talk.client.commits(GROUP, [(talk.topic, [0])])).values()
    return found.offset, found.metadata
