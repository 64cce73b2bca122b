"""Ticks of upsert tables as committed offsets of a real cluster."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import Iterator
from contextlib import suppress
from uuid import UUID

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import NewTopic

from aggregator.upsert.tick import Lane, LaneRange, Tick
from aggregator.upsert.tick_codec import UnreadableTick, encode
from aggregator.upsert.tick_cut import tick_zero
from aggregator.upsert.tick_store import TickStore
from replicator.config.names import PLAN_TOPIC, upsert_group
from replicator.config.topology import KafkaCluster
from replicator.kafka.client.cluster import Cluster, Fenced
from replicator.kafka.client.fenced_committer import FencedCommitter, OffsetRows
from tests.live.loop_thread import LoopThread


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    loop = LoopThread()
    yield loop
    loop.close()


@pytest.fixture
def client(aggregate, loop) -> Iterator[Cluster]:
    with suppress(KafkaException):  # it is there
        aggregate.create_topics(NewTopic(PLAN_TOPIC, 1))
    client = Cluster("aggregate", KafkaCluster.model_validate(aggregate.topology_table()))
    loop.wait(client.open([PLAN_TOPIC]))
    yield client
    loop.wait(client.close())


@pytest.fixture
def store(client) -> TickStore:
    return TickStore(client, f"feed-{uuid.uuid4().hex[:12]}", "orders")


def tick(number: int, lanes: int = 1) -> Tick:
    """Returns a tick; with 700 lanes it takes several parts."""
    drawn = random.Random(number)
    begins = [drawn.randrange(1 << 50) for _ in range(lanes)]
    return Tick(
        1,
        number,
        1_800_000_000_000 + number,
        tuple(Lane("aggregate", "orders", UUID(int=1), each) for each in range(lanes)),
        tuple(LaneRange(each, each + drawn.randrange(1000)) for each in begins),
    )


def test_a_tick_of_many_parts_is_read_back_and_replaced_by_a_shorter_one(loop, store):
    assert loop.wait(store.read()) is None
    holder = loop.wait(store.open())
    assert loop.wait(store.read_as_holder(holder)) is None
    large = tick(1, lanes=700)
    assert len(encode(large, store.transactional_id)) > 2
    for each in (large, tick(2), tick(3, lanes=1400), tick_zero(2)):
        loop.wait(store.commit(holder, each))
        assert loop.wait(store.read()) == each
        assert loop.wait(store.read_as_holder(holder)) == each


def test_the_older_of_two_holders_is_fenced_and_changes_nothing(loop, store):
    older = loop.wait(store.open())
    loop.wait(store.commit(older, tick(1, lanes=700)))
    newer = loop.wait(store.open())
    assert loop.wait(store.read_as_holder(newer)) == tick(1, lanes=700)
    with pytest.raises(Fenced):
        loop.wait(store.commit(older, tick(2, lanes=700)))
    with pytest.raises(Fenced):
        loop.wait(store.read_as_holder(older))
    assert loop.wait(store.read_as_holder(newer)) == tick(1, lanes=700)
    loop.wait(store.commit(newer, tick(2)))
    assert loop.wait(store.read()) == tick(2)


class Killed(Exception):
    """The coordinator ends in the middle of its transaction."""


def test_a_coordinator_killed_before_the_end_of_its_transaction_leaves_nothing_of_its_tick(
    loop, store
):
    """All parts are with the groups' coordinators, and none of them is ever shown."""
    dying = loop.wait(store.open())
    loop.wait(store.commit(dying, tick(1)))

    async def die(_: object) -> None:
        raise Killed

    with pytest.raises(Killed):
        loop.wait(store.commit(dying, tick(2, lanes=700), effects=die))
    assert loop.wait(store.read()) == tick(1)
    successor = loop.wait(store.open())
    assert loop.wait(store.read_as_holder(successor)) == tick(1)
    other = tick(2, lanes=1400)
    loop.wait(store.commit(successor, other))
    assert loop.wait(store.read_as_holder(successor)) == other


def test_a_coordinator_killed_at_any_time_leaves_the_tick_before_or_all_of_its_own(loop, store):
    """Cancelled after each of a few pauses; the next holder reads one whole tick."""
    before = 0
    for number, pause_seconds in enumerate((0.0, 0.001, 0.003, 0.006, 0.012, 0.05), 1):
        holder = loop.wait(store.open())
        work = loop.spawn(store.commit(holder, tick(number, lanes=700)))
        loop.wait(asyncio.sleep(pause_seconds))
        work.cancel()
        successor = loop.wait(store.open())
        found = loop.wait(store.read_as_holder(successor))
        assert found in (None if not before else tick(before, lanes=700), tick(number, lanes=700))
        before = found.number if found else 0


def test_what_another_producer_commits_is_named_and_not_taken_for_a_tick(loop, client, store):
    holder = loop.wait(store.open())
    loop.wait(store.commit(holder, tick(1, lanes=700)))
    stranger = loop.wait(FencedCommitter(client, f"stranger-{uuid.uuid4().hex}").open())
    feed = store.transactional_id.split(".")[2]

    def write(part: int, offset: int, text: str) -> None:
        rows: dict[str, OffsetRows] = {
            upsert_group(feed, "orders", part): [(PLAN_TOPIC, 0, offset, text)]
        }
        loop.wait(stranger.commit(rows, lambda *_: True))

    other = encode(tick(1, lanes=900), stranger.transactional_id)
    write(1, 1, other[1].metadata)
    with pytest.raises(UnreadableTick, match="part 1 of tick 1 is not of one commit"):
        loop.wait(store.read_as_holder(holder))
    for number, part in enumerate(other):
        write(number, 1, part.metadata)
    with pytest.raises(UnreadableTick, match="was committed by stranger-"):
        loop.wait(store.read_as_holder(holder))
