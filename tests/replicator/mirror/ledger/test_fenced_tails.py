"""A tail is read behind a fence; if the number of landed records is unknown, that is a loss."""

from dataclasses import replace
from typing import Any

import pytest

from balancer.topic_partition import TopicPartition
from replicator.kafka.client.cluster import ProducerState
from replicator.kafka.client.loss import Loss, LossKind
from replicator.mirror.ledger.entry import Custody, Entry
from replicator.mirror.ledger.fenced_tails import FencedTails
from replicator.mirror.ledger.inspection import TargetFindings
from replicator.mirror.ledger.tail import Tail
from tests.replicator.mirror.ledger.ends import (
    SOURCE,
    TARGET,
    CommitterStandIn,
    End,
    batch,
    marker,
)
from tests.replicator.mirror.ledger.held import held

ONE, TWO = TopicPartition("flights", 0), TopicPartition("flights", 1)
HELD = held(
    source_offset=10,
    target_offset=100,
    producer_id=7,
    epoch=3,
    sequence=50,
    transactional_id="sluice.west.east.3",
    source_topic=SOURCE,
    target_topic=TARGET,
)


def fenced_tails(target: Any) -> FencedTails:
    return FencedTails(target, CommitterStandIn("sluice.west.east.99", 8, 0))  # type: ignore[arg-type]


async def read_one(target: End, entry: Entry = HELD) -> Tail | Loss:
    """Returns the tail of one entry behind a fence by (7, 5)."""
    tails, holder = fenced_tails(target), CommitterStandIn(entry.transactional_id)
    found = await tails.examine(ONE, entry, holder)  # type: ignore[arg-type]
    return (await tails.read_all({ONE: entry}, {ONE: found}, holder))[ONE]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("states", "landed"),
    [
        ({7: ProducerState(3, 1049)}, 1000),
        ({7: ProducerState(3, -1)}, 0),
        ({7: ProducerState(2, 5)}, 0),
        ({7: ProducerState(4, -1)}, None),
        ({}, None),
    ],
    ids=["remembered", "sent nothing", "never wrote", "fenced before", "forgotten"],
)
async def test_a_tail_that_retention_deleted_is_known_from_the_leader_or_a_loss(states, landed):
    log = marker(2000, (7, 4)) + marker(2001, (7, 5))
    tail = await read_one(End(TARGET, 2000, 2000, states, log))
    if landed is None:
        assert tail == Loss(LossKind.TARGET_TAIL_DELETED, 100, 2000)
    else:
        assert isinstance(tail, Tail) and tail.landed == landed


@pytest.mark.parametrize(
    ("states", "own", "landed"),
    [
        ({}, b"", None),
        ({}, batch(100, (7, 3), 50, 5), None),
        ({}, batch(100, (7, 3), 50, 5) + batch(112, (7, 3), 62, 3), 15),
        ({7: ProducerState(3, 64)}, b"", 15),
        ({7: ProducerState(2, 5)}, b"", 0),
    ],
    ids=["all gone", "its end gone", "its end there", "remembered", "never wrote"],
)
async def test_a_tail_that_the_cleaner_may_have_ended_is_known_or_a_loss(states, own, landed):
    """The last record in the log is another producer's."""
    log = own + batch(115, (6, 0), 0, 1) + marker(116, (7, 5))
    tail = await read_one(End(TARGET, 0, 116, states, log))
    if landed is None:
        assert isinstance(tail, Loss) and "compaction left nothing" in tail.detail
    else:
        assert isinstance(tail, Tail) and tail.landed == landed


async def test_only_held_entries_of_other_producers_are_fenced():
    target = End(TARGET, 0, 100, {}, marker(100, (7, 5)))
    tails, holder = fenced_tails(target), CommitterStandIn(HELD.transactional_id)
    found = TargetFindings(start=0, end=100, leader=5, loss=None)
    free = replace(HELD, custody=Custody.RELEASED)
    own = replace(HELD, producer_id=8, epoch=0)
    for entry in (free, own, replace(free, custody=Custody.VIRGIN)):
        assert await tails.read_all({ONE: entry}, {ONE: found}, holder) == {}  # type: ignore[arg-type]
    assert holder.fenced == []
    entries = {ONE: HELD, TWO: free}
    assert set(await tails.read_all(entries, {ONE: found, TWO: found}, holder)) == {ONE}  # type: ignore[arg-type]
    assert holder.fenced == [("flights", [0])]


async def test_the_leader_is_asked_for_its_memory_before_the_fence_resets_it():
    events: list[str] = []

    class Asked(End):
        async def producer_states(self, topic, partition):
            events.append("asked")
            return await super().producer_states(topic, partition)

    class Holder(CommitterStandIn):
        async def fence(self, topic, partitions):
            events.append("fenced")

    target = Asked(TARGET, 0, 100, {}, marker(100, (7, 5)))
    found = TargetFindings(start=0, end=100, leader=5, loss=None)
    holder = Holder(HELD.transactional_id)
    await fenced_tails(target).read_all({ONE: HELD}, {ONE: found}, holder)  # type: ignore[arg-type]
    assert events == ["asked", "fenced"]


async def test_a_producer_id_that_expired_cannot_be_fenced():
    target, holder = End(TARGET, 0, 100), CommitterStandIn(HELD.transactional_id, producer_id=17)
    tails = fenced_tails(target)
    loss = (await tails.examine(ONE, HELD, holder)).loss  # type: ignore[arg-type]
    assert loss and loss.kind is LossKind.WRITER_FORGOTTEN
    free = replace(HELD, custody=Custody.RELEASED)
    assert (await tails.examine(ONE, free, holder)).loss is None  # type: ignore[arg-type]
