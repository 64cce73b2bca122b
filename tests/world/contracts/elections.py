"""Contract of elections: what leaders and followers answer, before and after another one leads.

A leader that was cut off, and still believes in its epoch, cannot be provoked at a certain moment.
The world does as Partition.getLocalLog: its own metadata decide.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aiokafka.protocol.commit import OffsetCommitRequest
from aiokafka.protocol.coordination import FindCoordinatorRequest
from aiokafka.protocol.transaction import InitProducerIdRequest

from replicator.kafka.client.cluster import LATEST, TRANSACTION
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.kafka.protocol.error_codes import Code, named
from tests.world.contracts.dialogue import Dialogue, stamped

NOT_LEADER, FENCED, UNKNOWN = (
    "NOT_LEADER_OR_FOLLOWER",
    "FENCED_LEADER_EPOCH",
    "UNKNOWN_LEADER_EPOCH",
)


async def play(talk: Dialogue) -> None:
    writer = await talk.open()
    await _ask_coordinators(talk)
    former, epoch = talk.leader, talk.epoch
    follower = next(node for node in talk.client.nodes if node != former)
    talk.step("a batch to the leader", ("NONE", 0), await talk.produce(stamped(writer, 0)))
    await _until_followed(talk, follower, 2)
    await _ask_follower(talk, "a follower", follower, writer)
    await talk.operator.elect_another(talk.topic)
    await _ask_new_leader(talk, epoch, writer)
    await _until_followed(talk, former, 4)
    await _ask_follower(talk, "the former leader", former, writer)
    await _lack_replicas(talk, writer)


async def _until_followed(talk: Dialogue, node: int, end: int) -> None:
    """Waits until a follower knows that records below an offset are replicated."""

    async def is_known() -> bool:
        return (await talk.read(0, node=node)).high_watermark >= end

    await talk.until(is_known)


async def _ask_coordinators(talk: Dialogue) -> None:
    """Asks each broker about a transactional id that one of them coordinates."""
    name, nodes = f"{talk.topic}.id", talk.client.nodes
    found = set()
    for node in nodes:
        answer = await talk.client.send(node, FindCoordinatorRequest(name, TRANSACTION))
        found.add((named(answer.error_code), answer.coordinator_id))
    codes = {code for code, _ in found}
    talk.step("the coordinator of an id: errors, answers", ({"NONE"}, 1), (codes, len(found)))
    (_, coordinator), *_ = found
    for node in nodes:
        if node != coordinator:
            request = InitProducerIdRequest(name, 30_000)
            answer = await talk.client.send(node, request)
            text = "opening an id at another broker"
            talk.step(text, "NOT_COORDINATOR", named(answer.error_code))


async def _ask_follower(talk: Dialogue, who: str, node: int, writer: FencedCommitter) -> None:
    """Asks a broker that does not lead: it answers a consumer's Fetch (KIP-392), and nothing
    else."""
    now = talk.epoch

    def step(text: str, expected: object, answer: object) -> None:
        talk.step(f"{text}, asked from {who}", expected, answer)

    end = await talk.client.log_end(talk.topic, 0)
    step("a batch", (NOT_LEADER, -1), await talk.produce(stamped(writer, 50), node=node))
    step("the log's end", (NOT_LEADER, -1), await talk.listed(LATEST, node=node))
    step("producers", "NONE", await talk.described(node=node))
    step("end of an epoch", (NOT_LEADER, -1, -1), await talk.epoch_end(now, node=node))
    before = [(now - 1, FENCED)] if now else []  # -1 stands for any epoch
    for current, code in (*before, (now, NOT_LEADER), (now + 1, UNKNOWN)):
        answer = await talk.epoch_end(now, current=current, node=node)
        step(f"end of an epoch in epoch {current - now:+d}", (code, -1, -1), answer)
    step("records", ("NONE", end, end, [], end // 2), (await talk.read(0, node=node)).summary)
    for current, code in (*before, (now, "NONE"), (now + 1, UNKNOWN)):
        answer = (await talk.read(0, epoch=current, node=node)).code
        step(f"records in epoch {current - now:+d}", code, answer)
    beyond = (await talk.read(end + 1, node=node)).code
    step("records behind the end", "OFFSET_OUT_OF_RANGE", beyond)


async def _ask_new_leader(talk: Dialogue, former: int, writer: FencedCommitter) -> None:
    now = talk.epoch
    talk.step("the new leader's epoch is newer", True, now > former)
    again = await talk.produce(stamped(writer, 0))
    talk.step("a batch that the former leader has", ("NONE", 0), again)
    text = "the next batch"
    talk.step(text, ("NONE", 2), await talk.produce(stamped(writer, 2)))
    state = await talk.memory(writer)
    talk.step("memory of the producer", 3, state and state.last_sequence)
    text = "end of the former epoch"
    talk.step(text, ("NONE", former, 2), await talk.epoch_end(former, current=now))
    text = "end of the epoch"
    talk.step(text, ("NONE", now, 4), await talk.epoch_end(now, current=now))
    for current, code in ((former, FENCED), (now, "NONE"), (now + 1, UNKNOWN)):
        answer = (await talk.read(0, epoch=current)).code
        talk.step(f"records of the new leader in epoch {current - now:+d}", code, answer)
    old = await talk.epoch_end(now, current=former)
    talk.step("end of the epoch, asked in the former one", (FENCED, -1, -1), old)


async def _lack_replicas(talk: Dialogue, writer: FencedCommitter) -> None:
    """Stops the followers: two replicas have to be in sync."""
    followers = [node for node in talk.client.nodes if node != talk.leader]
    one, other = followers
    await talk.operator.stop(talk.topic, one)
    text = "a batch with two in sync"
    talk.step(text, ("NONE", 4), await talk.produce(stamped(writer, 4)))
    await talk.operator.stop(talk.topic, other)
    text = "a batch with the leader alone in sync"
    talk.step(text, ("NOT_ENOUGH_REPLICAS", -1), await talk.produce(stamped(writer, 6)))
    talk.step("the log's end after that", 6, await talk.client.log_end(talk.topic, 0))
    await _ask_lonely_coordinators(talk)
    for node in followers:
        await talk.operator.start(talk.topic, node)
    text = "the batch once all are in sync"
    talk.step(text, ("NONE", 6), await talk.produce(stamped(writer, 6)))


async def _ask_lonely_coordinators(talk: Dialogue) -> None:
    """Asks coordinators that are alone in sync: they can change nothing."""
    name, group = f"{talk.topic}.id", f"{talk.topic}.group"
    opening = InitProducerIdRequest(name, 30_000)
    rows = [(talk.topic, [(0, 7, "seven")])]
    offsets = OffsetCommitRequest(group, -1, "", -1, rows)
    refused = "COORDINATOR_NOT_AVAILABLE"
    text = "opening an id with one replica in sync"
    talk.step(text, refused, await _loaded(talk, opening, lambda it: it.error_code))
    text = "offsets with one replica in sync"
    talk.step(text, refused, await _loaded(talk, offsets, lambda it: it.topics[0][1][0][1]))


async def _loaded(talk: Dialogue, request: Any, code: Callable[[Any], int]) -> str:
    """Returns the error of the only broker that runs, once it coordinates everything."""
    found: list[int] = []

    async def is_loaded() -> bool:
        found.append(code(await talk.client.send(talk.leader, request)))
        return found[-1] not in (Code.NOT_COORDINATOR, Code.COORDINATOR_LOAD_IN_PROGRESS)

    await talk.until(is_loaded)
    return named(found[-1])
