"""Contract of truncation: a log that lost its end by an unclean election.

Our requests name no last fetched epoch, so no answer to Fetch names a diverging one
(Partition.readRecords); ends of epochs tell the same.
"""

from __future__ import annotations

import time

from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.kafka.protocol.metadata import MetadataRequest
from tests.world.contracts.dialogue import Dialogue, stamped

OUT_OF_RANGE = "OFFSET_OUT_OF_RANGE"


async def play(talk: Dialogue) -> None:
    writer = await talk.open()
    # A broker that starts forgets producers of old records.
    batches = [stamped(writer, at, first_ms=int(time.time() * 1000)) for at in (0, 2, 4)]
    former, epoch = talk.leader, talk.epoch
    (follower,) = [node for node in await _replicas(talk) if node != former]
    talk.step("a batch that stays", ("NONE", 0), await talk.produce(batches[0]))
    await talk.operator.stop(talk.topic, follower)
    text = "a batch that the follower misses"
    talk.step(text, ("NONE", 2), await talk.produce(batches[1]))
    await talk.operator.elect_unclean(talk.topic, follower)
    now = talk.epoch
    talk.step("the follower leads", follower, talk.leader)
    await _read(talk, epoch)
    await _produce(talk, writer, batches)
    await talk.operator.elect_another(talk.topic)
    talk.step("the former leader leads again", former, talk.leader)
    await _ask_former_leader(talk, writer, (epoch, now))


async def _read(talk: Dialogue, former: int) -> None:
    """Reads the log of the leader that missed a batch of the former epoch."""
    talk.step("begin and end of the log", (0, 2, 2), await talk.ends())
    talk.step("records that are left", ((0, 1, 2),), (await talk.read(0)).batches)
    talk.step("records at the end", ("NONE", 2, 2, [], 0), (await talk.read(2)).summary)
    talk.step("records behind the end", OUT_OF_RANGE, (await talk.read(3)).code)
    old = await talk.read(2, epoch=former)
    talk.step("records in the former epoch", "FENCED_LEADER_EPOCH", old.code)
    now = talk.epoch
    text = "end of the former epoch"
    talk.step(text, ("NONE", former, 2), await talk.epoch_end(former, current=now))
    text = "end of an epoch in which nobody led"
    talk.step(text, ("NONE", former, 2), await talk.epoch_end(now - 1))


async def _produce(talk: Dialogue, writer: FencedCommitter, batches: list[bytes]) -> None:
    """Goes on behind the lost batch, and then with it."""
    state = await talk.memory(writer)
    talk.step("memory of the producer", 1, state and state.last_sequence)
    refused = ("OUT_OF_ORDER_SEQUENCE_NUMBER", -1)
    talk.step("a batch behind the lost one", refused, await talk.produce(batches[2]))
    talk.step("the lost batch again", ("NONE", 2), await talk.produce(batches[1]))


async def _ask_former_leader(
    talk: Dialogue, writer: FencedCommitter, epochs: tuple[int, int]
) -> None:
    """Asks the broker that had the lost batch, and has truncated its log since."""
    first, second = epochs
    left = ((0, 1, 2), (2, 3, 2))
    talk.step("records that it has", left, (await talk.read(0)).batches)
    text = "end of the first epoch, asked from it"
    talk.step(text, ("NONE", first, 2), await talk.epoch_end(first))
    text = "end of the follower's epoch, asked from it"
    talk.step(text, ("NONE", second, 4), await talk.epoch_end(second))
    state = await talk.memory(writer)
    talk.step("its memory of the producer", 3, state and state.last_sequence)


async def _replicas(talk: Dialogue) -> list[int]:
    answer = await talk.client.send(talk.leader, MetadataRequest([talk.topic]))
    replicas: list[int] = answer.topics[0][4][0][4]
    return replicas
