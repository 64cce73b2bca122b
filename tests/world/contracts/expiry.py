"""Contract of expiry: producers and transactional ids that a cluster has forgotten.

The cluster forgets producers whose last records are some seconds old, and transactional ids that
were not used for some seconds. Committed offsets expire after a minute at least; the world does as
OffsetMetadataManager.cleanupExpiredOffsets.
"""

from __future__ import annotations

import time

from aiokafka.protocol.transaction import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    TxnOffsetCommitRequest,
)

from replicator.kafka.client.cluster import GROUP
from replicator.kafka.client.fenced_committer import FencedCommitter
from tests.world.contracts.dialogue import Dialogue, stamped
from tests.world.contracts.transactions import identity, listed

UNKNOWN_ID = "INVALID_PRODUCER_ID_MAPPING"


async def play(talk: Dialogue) -> None:
    first = await talk.open()
    await _forget_sequences(talk, first)
    second = await _forget_a_fence(talk, first)
    await _keep_an_open_transaction(talk)
    await _forget_an_id(talk, second)


async def _until_forgotten(talk: Dialogue, of: FencedCommitter) -> None:
    async def is_forgotten() -> bool:
        return await talk.memory(of) is None

    await talk.until(is_forgotten)


async def _forget_sequences(talk: Dialogue, holder: FencedCommitter) -> None:
    talk.step("first batch", ("NONE", 0), await talk.produce(stamped(holder, 0)))
    await _until_forgotten(talk, holder)
    text = "the same batch again, of a forgotten producer"
    talk.step(text, ("NONE", 2), await talk.produce(stamped(holder, 0)))
    await _until_forgotten(talk, holder)
    text = "a batch of a forgotten producer that goes on"
    talk.step(text, ("NONE", 4), await talk.produce(stamped(holder, 2)))
    await _until_forgotten(talk, holder)
    text = "a batch of a forgotten producer that leaves sequences out"
    talk.step(text, ("NONE", 6), await talk.produce(stamped(holder, 77)))


async def _forget_a_fence(talk: Dialogue, holder: FencedCommitter) -> FencedCommitter:
    """Returns the holder whose fence was forgotten."""
    fencing = await talk.open()
    await fencing.fence(talk.topic, [0])
    await talk.until_end(9)
    recent = int(time.time() * 1000)
    late = await talk.produce(stamped(holder, 79, first_ms=recent))
    talk.step("a batch behind a fence", ("INVALID_PRODUCER_EPOCH", -1), late)
    await _until_forgotten(talk, fencing)
    late = await talk.produce(stamped(holder, 79))
    talk.step("a batch behind a forgotten fence", ("NONE", 9), late)
    return fencing


async def _keep_an_open_transaction(talk: Dialogue) -> None:
    """An old producer with an open transaction stays known, while a newer one is forgotten."""
    writer, other = await talk.open("open"), await talk.open("other")
    name = writer.transactional_id
    joins = AddPartitionsToTxnRequest(*identity(writer), [(talk.topic, [0])])
    talk.step("a partition joins", "NONE", await talk.transaction(name, joins))
    data = stamped(writer, 0, is_transactional=True)
    answer = await talk.produce(data, transactional_id=name)
    talk.step("an old batch of an open transaction", ("NONE", 11), answer)
    talk.step("a batch after it", ("NONE", 13), await talk.produce(stamped(other, 0)))
    await _until_forgotten(talk, other)
    state = await talk.memory(writer)
    known = state and (state.last_sequence, state.transaction_start)
    talk.step("memory of the open transaction", (1, 11), known)
    abort = EndTxnRequest(*identity(writer), False)
    talk.step("the abort", "NONE", await talk.transaction(name, abort))
    await talk.until_end(16)


async def _forget_an_id(talk: Dialogue, holder: FencedCommitter) -> None:
    async def is_forgotten() -> bool:
        return not await listed(talk, holder.producer_id)

    await talk.until(is_forgotten)
    name, producer_id, epoch = identity(holder)
    group = f"{talk.topic}.group"
    joins = AddOffsetsToTxnRequest(*identity(holder), group)
    text = "a group joins under a forgotten id"
    talk.step(text, UNKNOWN_ID, await talk.transaction(name, joins))
    end = EndTxnRequest(*identity(holder), True)
    text = "the end of a transaction of a forgotten id"
    talk.step(text, UNKNOWN_ID, await talk.transaction(name, end))
    rows = [(talk.topic, [(0, 7, "")])]
    offsets = TxnOffsetCommitRequest(name, group, producer_id, epoch, rows)
    text = "offsets of a forgotten id"
    talk.step(text, UNKNOWN_ID, await talk.coordinated(GROUP, group, offsets))
    late = await talk.produce(stamped(holder, 81))
    talk.step("a batch of a forgotten id", ("NONE", 16), late)
    anew = await talk.open()
    talk.step("epoch of the id, opened again", 0, anew.epoch)
    is_other = anew.producer_id != producer_id
    talk.step("its producer id is another one", True, is_other)
