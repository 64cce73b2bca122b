"""Tails behind a fence: read, counted by what their leaders remember, and kept."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from balancer.topic_partition import TopicPartition
from replicator.config.topology import KafkaCluster
from replicator.kafka.client.cluster import Answered, Cluster, ProducerState
from replicator.kafka.client.cluster_metadata import Leader, Topic
from replicator.kafka.client.loss import Loss, LossKind
from replicator.kafka.protocol.error_codes import Code
from replicator.mirror.ledger.entry import Custody, Entry
from replicator.mirror.ledger.fenced_tails import FencedTails, TailReadings, ask_memory, remembered
from replicator.mirror.ledger.inspection import TargetFindings
from replicator.mirror.ledger.landed import Memory
from replicator.mirror.ledger.tail import Remembered, Tail
from tests.replicator.mirror.ledger.ends import (
    LEADER_EPOCH,
    SOURCE,
    TARGET,
    CommitterStandIn,
    End,
    batch,
    marker,
)
from tests.replicator.mirror.ledger.held import PARTITION, held
from tests.replicator.mirror.ledger.test_tail import ENTRY, FENCE, BatchByBatch, own

# -- A tail is read behind a fence; if the number of landed records is unknown, that is a loss.

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


# -- A memory has the epoch that its leader confirmed, and no epoch that only metadata names.

FLIGHTS = TopicPartition("flights", 0)
STATE = ProducerState(3, 499)


class Elects(Cluster):
    """A cluster whose metadata names one leader after the other; each refresh moves to the next."""

    def __init__(self, *leaders: Leader | None, leads: Leader, shown: bool = True) -> None:
        super().__init__("elects", KafkaCluster.model_validate({"bootstrap": ["127.0.0.1:1"]}))
        self._successors, self.leads, self.shown = list(leaders), leads, shown
        self.confirmed: list[tuple[int, int]] = []
        self._next()

    def _next(self) -> None:
        leader = self._successors.pop(0) if len(self._successors) > 1 else self._successors[0]
        self._topic = Topic(UUID(int=1), {0: leader}) if self.shown else None

    def topic(self, name):
        return self._topic if name == FLIGHTS.topic else None

    async def refresh(self):
        self._next()

    async def send(self, node, request, purpose="control"):
        (_, [(partition, current, asked)]) = request._topics[0]
        assert (partition, current) == (FLIGHTS.partition, asked)
        self.confirmed.append((node, current))
        code = 0
        if (node, current) != (self.leads.node, self.leads.epoch):
            newer = current > self.leads.epoch
            code = Code.UNKNOWN_LEADER_EPOCH if newer else Code.FENCED_LEADER_EPOCH
        return SimpleNamespace(topics=[(FLIGHTS.topic, [(code, partition, current, 0)])])

    async def producer_states(self, topic, partition):
        return {7: STATE}


async def test_the_epoch_is_confirmed_by_the_leader():
    cluster = Elects(Leader(1, 5), leads=Leader(1, 5))
    memory = await ask_memory(cluster, FLIGHTS, 7)
    assert (memory.leader_epoch, memory.state) == (5, STATE)
    assert cluster.confirmed == [(1, 5)]


async def test_a_producer_that_nobody_remembers_has_no_state():
    memory = await ask_memory(Elects(Leader(1, 5), leads=Leader(1, 5)), FLIGHTS, 8)
    assert (memory.leader_epoch, memory.state) == (5, None)


async def test_a_former_leader_confirms_nothing_and_its_successor_is_asked():
    cluster = Elects(Leader(1, 5), Leader(1, 5), None, Leader(2, 6), leads=Leader(2, 6))
    assert (await ask_memory(cluster, FLIGHTS, 7)).leader_epoch == 6
    assert cluster.confirmed[-1] == (2, 6)


async def test_a_broker_that_does_not_lead_yet_is_asked_again():
    cluster = Elects(Leader(1, 6), leads=Leader(1, 5))

    async def refresh():
        cluster.leads = Leader(1, 6)

    cluster.refresh = refresh  # type: ignore[method-assign]
    assert (await ask_memory(cluster, FLIGHTS, 7)).leader_epoch == 6
    assert cluster.confirmed == [(1, 6), (1, 6)]


async def test_a_topic_that_is_gone_confirms_no_epoch():
    cluster = Elects(None, leads=Leader(1, 5), shown=False)
    assert (await ask_memory(cluster, FLIGHTS, 7)).leader_epoch == -1
    assert not cluster.confirmed


# -- A leader's memory counts if it is reliable; readings are kept between attempts.

FOUND = TargetFindings(start=0, end=1020, leader=LEADER_EPOCH, loss=None)
FORGOTTEN = Memory(LEADER_EPOCH, None)


@pytest.mark.parametrize(
    ("state", "known"),
    [
        (ProducerState(ENTRY.epoch, ENTRY.sequence), Remembered(1, 1020)),
        (ProducerState(ENTRY.epoch, ENTRY.sequence - 1), Remembered(0, 1020)),
        (ProducerState(ENTRY.epoch, -1), Remembered(0, 1020)),
        (ProducerState(ENTRY.epoch - 1, ENTRY.sequence + 9), Remembered(0, 1020)),
        (ProducerState(ENTRY.epoch + 1, -1), None),
        (None, None),
    ],
    ids=["landed", "nothing new", "sent nothing", "never wrote", "fenced before", "forgotten"],
)
def test_a_memory_of_the_entrys_epoch_or_an_older_one_is_reliable(state, known):
    assert remembered(ENTRY, FOUND, Memory(LEADER_EPOCH, state)) == known
    assert remembered(ENTRY, FOUND, Memory(LEADER_EPOCH + 1, state)) is None


async def attempt(
    readings: TailReadings, log: BatchByBatch, answers: int, memory: Memory = FORGOTTEN
):
    log.left = answers
    return await readings.read(
        PARTITION, ENTRY, 1000, FENCE, found=FOUND, memory=memory, is_whole=True
    )


async def test_the_next_attempt_continues_where_the_previous_one_was_cut_short():
    log = BatchByBatch(own(1000, 0, 10), own(1010, 10, 10), marker(1020, FENCE))
    readings = TailReadings(log)  # type: ignore[arg-type]
    with pytest.raises(asyncio.CancelledError):
        await attempt(readings, log, 1)
    first = readings.bytes_read
    assert first > 0
    assert (await attempt(readings, log, 2))[0].landed == 20
    assert log.asked == [1000, 1010, 1020]
    assert readings.bytes_read > first


async def test_a_log_that_became_shorter_is_read_again_from_the_entry():
    log = BatchByBatch(own(1000, 0, 10), marker(1010, FENCE))
    readings = TailReadings(log)  # type: ignore[arg-type]
    with pytest.raises(asyncio.CancelledError):
        await attempt(readings, log, 1)

    async def cut(topic, partition, offset, size):
        raise Answered("Fetch", [Code.OFFSET_OUT_OF_RANGE])

    read, log.read = log.read, cut
    with pytest.raises(Answered):
        await attempt(readings, log, 1)
    log.read = read
    assert (await attempt(readings, log, 2))[0].landed == 10
    assert log.asked == [1000, 1000, 1010]


async def test_a_complete_tail_is_kept_until_its_entry_is_replaced():
    log = BatchByBatch(own(1000, 0, 10), marker(1010, FENCE))
    readings = TailReadings(log)  # type: ignore[arg-type]
    first = await attempt(readings, log, 2)
    assert await attempt(readings, log, 0) == first
    assert log.asked == [1000, 1010]
    readings.forget([PARTITION])
    read = readings.bytes_read
    await attempt(readings, log, 2)
    assert readings.bytes_read == 2 * read


async def test_the_first_attempts_memory_counts_once_its_own_marker_has_reset_the_leader():
    log = BatchByBatch(own(1000, 0, 10), marker(1010, FENCE))
    readings = TailReadings(log)  # type: ignore[arg-type]
    memory = Memory(LEADER_EPOCH, ProducerState(ENTRY.epoch, ENTRY.sequence + 29))
    with pytest.raises(asyncio.CancelledError):
        await attempt(readings, log, 1, memory)
    reset = Memory(LEADER_EPOCH, ProducerState(ENTRY.epoch + 1, -1))
    assert (await attempt(readings, log, 1, reset))[1] == memory
