"""Contract of truncation: a log that lost its end by an unclean election.

Our requests name no last fetched epoch, so no answer to Fetch names a diverging one
(Partition.readRecords); ends of epochs tell the same.
"""

from __future__ import annotations

import time

from replicator.kafka.protocol.metadata import MetadataRequest
from tests.world.contracts.dialogue import Dialogue, stamped

OUT_OF_RANGE = "OFFSET_OUT_OF_RANGE"


async def play(talk: Dialogue) -> None:
    writer = await talk.open()
    # A broker that starts forgets producers of old records.
    first_ms = int(time.time() * 1000)

    async def produce(text: str, expected: tuple[str, int], sequence: int) -> None:
        data = stamped(writer, sequence, first_ms=first_ms)
        talk.step(text, expected, await talk.produce(data))

    former, epoch = talk.leader, talk.epoch
    (follower,) = [node for node in await _replicas(talk) if node != former]
    await produce("a batch that stays", ("NONE", 0), 0)
    await talk.operator.stop(talk.topic, follower)
    await produce("a batch that the follower misses", ("NONE", 2), 2)
    await talk.operator.elect_unclean(talk.topic, follower)
    now = talk.epoch
    talk.step("the follower leads", follower, talk.leader)

    talk.step("begin and end of the log", (0, 2, 2), await talk.ends())
    talk.step("records that are left", ((0, 1, 2),), (await talk.read(0)).batches)
    talk.step("records at the end", ("NONE", 2, 2, [], 0), (await talk.read(2)).summary)
    talk.step("records behind the end", OUT_OF_RANGE, (await talk.read(3)).code)
    old = await talk.read(2, epoch=epoch)
    talk.step("records in the former epoch", "FENCED_LEADER_EPOCH", old.code)
    text = "end of the former epoch"
    talk.step(text, ("NONE", epoch, 2), await talk.epoch_end(epoch, current=now))
    text = "end of an epoch in which nobody led"
    talk.step(text, ("NONE", epoch, 2), await talk.epoch_end(now - 1))
    state = await talk.memory(writer)
    talk.step("memory of the producer", 1, state and state.last_sequence)
    await produce("a batch behind the lost one", ("OUT_OF_ORDER_SEQUENCE_NUMBER", -1), 4)
    await produce("the lost batch again", ("NONE", 2), 2)

    await talk.operator.elect_another(talk.topic)
    talk.step("the former leader leads again", former, talk.leader)
    left = ((0, 1, 2), (2, 3, 2))
    talk.step("records that it has", left, (await talk.read(0)).batches)
    text = "end of the first epoch, asked from it"
    talk.step(text, ("NONE", epoch, 2), await talk.epoch_end(epoch))
    text = "end of the follower's epoch, asked from it"
    talk.step(text, ("NONE", now, 4), await talk.epoch_end(now))
    state = await talk.memory(writer)
    talk.step("its memory of the producer", 3, state and state.last_sequence)


async def _replicas(talk: Dialogue) -> list[int]:
    answer = await talk.client.send(talk.leader, MetadataRequest([talk.topic]))
    replicas: list[int] = answer.topics[0][4][0][4]
    return replicas
