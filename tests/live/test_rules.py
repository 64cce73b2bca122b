"""Every rule of the ledger: in force it keeps both ends the same; taken out, its loss is seen.

Rules are taken out inside the test, by a mutation of the function that keeps them. Races are not
left to chance: one carrier is held before a named request while another one acts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import NewTopic

from balancer.plan import TopicPartition
from deploy.lab.compare import RouteVerdict
from deploy.lab.dump import compare_topic
from deploy.lab.kafka import KafkaCluster
from deploy.lab.redis import RedisServer
from deploy.lab.traffic import PLAIN, Shape, records, send
from replicator import takeover
from replicator.batch import scan
from replicator.carrier import Session
from replicator.entry import Custody
from replicator.lane import Lane
from replicator.ledger import Ledger
from replicator.tail import Tail
from replicator.takeover import Takeover
from replicator.writer import Writer
from tests.live.carrying import Carrying
from tests.live.conftest import TopicMaker
from tests.live.hand import Gate, Hand

IN_FORCE = pytest.mark.parametrize("in_force", [True, False], ids=["in force", "taken out"])
SELDOM = {"refresh_seconds": 600.0, "runs_seconds": 60.0}
"""Entries are written when a partition is taken, and then not before it must be."""


class Stage:
    """One topic of one partition on its way between two clusters."""

    def __init__(self, source: KafkaCluster, target: KafkaCluster, carrying: Carrying, topic: str):
        self.source, self.target, self.carrying, self.topic = source, target, carrying, topic
        self.place = TopicPartition(topic, 0)
        self.sent = 0
        self.hands: list[Hand] = []

    def send(self, count: int, shape: Shape = PLAIN) -> int:
        """More records; how far the source reaches now (markers of transactions left out)."""
        traffic = records(count, seed=self.sent, origin=str(self.sent))
        self.sent += send(self.source, self.topic, traffic, shape)
        return self.sent

    def hand(self, number: int, **settings: object) -> Hand:
        """A carrier; its session is killed at the end unless it ended before."""
        hand = Hand(self.carrying, number, **settings)  # type: ignore[arg-type]
        self.hands.append(hand)
        return hand

    def left_behind(self, number: int = 0, count: int = 1000, **settings: object) -> Hand:
        """A carrier that carried so much and was killed: its entry says nothing of that yet."""
        hand = self.hand(number, **{**SELDOM, **settings}).start()
        end = self.send(count)
        hand.until_landed(self.place, end)
        hand.kill()
        return hand

    def to_the_end(self, number: int) -> Hand:
        """A carrier that carries all there is."""
        hand = self.hand(number).start()
        hand.until_carried(self.place)
        return hand

    def delete_target_records(self, before: int) -> None:
        """What retention does."""
        where = Place(self.topic, 0, before)
        admin = self.target.admin()
        admin.delete_records([where])[where].result(30)

    def close(self) -> None:
        for hand in self.hands:
            hand.close()

    @property
    def entry(self):
        return self.carrying.entries()[self.place]

    def seen(self) -> RouteVerdict:
        """What readers see that do not wait for commits."""
        found = compare_topic({"west": self.source}, self.target, self.topic, ["read_uncommitted"])
        return found["read_uncommitted"].total


@pytest.fixture
def make_stage(
    regional: KafkaCluster, aggregate: KafkaCluster, redis: RedisServer, make_topic: TopicMaker
) -> Iterator[Callable[..., Stage]]:
    """`make_stage()`: a stage between the shared clusters; or between others, with configs."""
    with ExitStack() as stack:

        def make(
            source: KafkaCluster = regional,
            target: KafkaCluster = aggregate,
            source_config: dict[str, str] | None = None,
            target_config: dict[str, str] | None = None,
            **settings: object,
        ) -> Stage:
            topic = make_topic(source, config=source_config)
            new = NewTopic(topic, 1, config=target_config or {})
            admin = target.admin()
            admin.create_topics([new])[topic].result(30)
            carrying = stack.enter_context(Carrying({"west": source}, target, redis, **settings))
            carrying.adopt(topic)
            stage = Stage(source, target, carrying, topic)
            stack.callback(stage.close)
            return stage

        yield make


# -- custody


class ReadOnce(Ledger):
    """Believes for ever what it read first."""

    async def read(self, partitions):
        partitions = list(partitions)
        self.known = {**(await super().read(partitions)), **getattr(self, "known", {})}
        return {p: self.known[p] for p in partitions if p in self.known}


@IN_FORCE
def test_custody_the_entry_is_read_again_once_its_id_is_ours(make_stage, in_force):
    stage = make_stage()
    stage.left_behind(0)
    late = stage.hand(1, **SELDOM)
    if not in_force:
        late.session._ledger = ReadOnce(late.target, late.session._ledger.route)
    gate = Gate(late.target, "InitProducerId", lambda r: r._transactional_id.endswith(".0"))
    late.start()
    gate.wait()  # it has read the entry
    other = stage.to_the_end(2)
    stage.send(500)
    other.until_carried(stage.place)
    gate.open()
    late.until_carried(stage.place)
    if in_force:
        assert stage.seen().is_right
    else:
        assert stage.seen().duplicated >= 500


class OwnCommits(Ledger):
    """Commits in the transactions of whom it likes."""

    writer: Writer

    async def commit(self, writer, entries):
        await super().commit(self.writer, entries)


@IN_FORCE
def test_custody_an_entry_is_replaced_in_the_transaction_of_the_id_it_names(make_stage, in_force):
    stage = make_stage()
    stage.left_behind(0)
    late = stage.hand(1, **SELDOM)
    if not in_force:
        ledger = late.session._ledger = OwnCommits(late.target, late.session._ledger.route)
        ledger.writer = late.session._writer
    gate = Gate(late.target, "AddOffsetsToTxn")
    late.start()
    gate.wait()  # it has fenced and read the tail
    other = stage.to_the_end(2)
    stage.send(500)
    other.until_carried(stage.place)
    gate.open()
    late.until_carried(stage.place)
    if in_force:
        assert stage.seen().is_right
    else:
        assert stage.seen().duplicated >= 500


# -- the fence and the tail


async def tail_to_the_watermark(cluster, partition, entry, begin, end):
    landed, offset = 0, begin
    while offset < end:
        for _, header in scan(await cluster.read(*partition, offset, 1 << 20)):
            offset = header.next_offset
            if offset <= end and (header.producer_id, header.producer_epoch) == (entry.producer_id, entry.epoch):
                landed = entry.landed_up_to(header.base_sequence + header.last_offset_delta)
    return Tail(landed, offset, entry.mark, (), 0)


class ToTheWatermark(Takeover):
    """Reads up to the end that the log had when it was looked at."""

    async def _read_tail(self, partition, entry, found, state, marker):
        return await tail_to_the_watermark(
            self._target, partition, entry, entry.target_offset, found.end
        )


class OnlyWhatIsRemembered(Takeover):
    """Trusts the leader's memory of before the fence alone."""

    async def _read_tail(self, partition, entry, found, state, marker):
        tail = await super()._read_tail(partition, entry, found, state, marker)
        return takeover.replace(tail, landed=entry.landed_up_to(state.last_sequence))


@pytest.mark.parametrize("rule", [Takeover, ToTheWatermark, OnlyWhatIsRemembered])
def test_what_the_old_writer_lands_before_the_fence_is_found(make_stage, monkeypatch, rule):
    stage = make_stage()
    zombie = stage.hand(0, **SELDOM).start()
    zombie.until_landed(stage.place, stage.send(1000))
    zombie.freeze()
    monkeypatch.setattr("replicator.carrier.Takeover", rule)
    taker = stage.hand(1, **SELDOM)
    gate = Gate(taker.target, "EndTxn")
    taker.start()
    gate.wait()  # it has looked at the log and asked the leader; the fence is not there yet
    zombie.thaw()
    zombie.until_landed(stage.place, stage.send(500))
    gate.open()
    taker.until_carried(stage.place)
    if rule is Takeover:
        assert stage.seen().is_right
    else:
        assert stage.seen().duplicated == 500


class AsksAfterTheFence(Takeover):
    async def _read_tails(self, entries, found, holder):
        for topic, number in entries:
            await holder.fence(topic, [number])
        return await super()._read_tails(entries, found, holder)


class ReadsOnly(Takeover):
    """Counts what it reads, and forgets what the leader remembers."""

    async def _read_tail(self, partition, entry, found, state, marker):
        tail = await takeover.read_tail(self._target, partition, entry, found.start, marker)
        return tail


@pytest.mark.parametrize("rule", [Takeover, AsksAfterTheFence, ReadsOnly])
def test_a_tail_that_retention_deleted_is_remembered_by_the_leader(make_stage, monkeypatch, rule):
    stage = make_stage()
    stage.left_behind(0)
    stage.delete_target_records(1000)
    monkeypatch.setattr("replicator.carrier.Takeover", rule)
    stage.send(500)
    stage.to_the_end(1)
    again = stage.seen().arrived
    assert again == (500 if rule is Takeover else 1500)


# -- sequences


@pytest.mark.parametrize("taken_out", ["", "sequence", "sequence and offset of the answer"])
def test_a_partition_taken_again_goes_on_behind_its_last_sequence(
    make_stage, monkeypatch, taken_out
):
    stage = make_stage()
    hand = stage.hand(0).start()
    hand.until_landed(stage.place, stage.send(500))
    session = hand.session
    hand.call(session._scribe.release(f"{session._writer.transactional_id}.free"))
    if taken_out:
        monkeypatch.setattr(Writer, "next_sequence", lambda *_: 0)
    if "offset" in taken_out:
        acknowledge = Lane.acknowledge

        def believing(lane, unit, base_offset):
            return acknowledge(lane, unit, max(base_offset, lane.entry.target_offset))

        monkeypatch.setattr(Lane, "acknowledge", believing)
    stage.send(500)
    hand.take_again(stage.place)
    if taken_out == "sequence":
        hand.until(lambda: stage.place in session._scribe.parked)
        assert "target lost" in str(session._scribe.parked[stage.place])
        return
    hand.until_carried(stage.place)
    assert stage.seen().lost == (500 if taken_out else 0)
