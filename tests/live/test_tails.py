"""Fence and tail: a takeover finds all that a dead writer landed, or it stops."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from deploy.lab.kafka import KafkaCluster
from deploy.lab.traffic import Shape
from replicator.batches.batch import scan
from replicator.mirror.carrier.carrier_assembly import Makers
from replicator.mirror.ledger.fenced_tails import FencedTails
from replicator.mirror.ledger.tail import Reading, Tail, read_tail
from replicator.mirror.ledger.takeover import Takeover
from tests.live.conftest import FORGETS_PRODUCERS
from tests.live.deposed_leader import REPLICATED_BY_TWO, DeposedLeader
from tests.live.hand import Gate, names_topic
from tests.live.stage import COMPACTED, SELDOM

SESSION_MS = 40_000
"""Broker session timeout: for this long a stopped follower stays in sync, and a dead leader keeps
its leadership. A carrier has to be frozen within it, on a busy machine too."""


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    directory = tmp_path_factory.mktemp("three")
    properties = {
        "broker.session.timeout.ms": SESSION_MS,
        "replica.lag.time.max.ms": 2 * SESSION_MS,
    }
    with KafkaCluster("three", directory, brokers=3, properties=properties) as cluster:
        yield cluster


@pytest.fixture
def stage(request, make_stage):
    """A stage on "one broker", or on "three brokers" that all have a replica."""
    if request.param == "one broker":
        return make_stage()
    return make_stage(target=request.getfixturevalue("three"), own_copies=3)


def with_the_rule_and_without(*mutations):
    """Parametrizes a test: the rule on one and on three brokers, each mutation on one broker."""
    without = [("one broker", mutation) for mutation in mutations]
    in_force = pytest.param("one broker", FencedTails, marks=pytest.mark.core)
    cases = [in_force, ("three brokers", FencedTails), *without]
    return pytest.mark.parametrize(("stage", "rule"), cases, indirect=["stage"])


async def tail_to_the_watermark(cluster, partition, entry, begin, end):
    landed, offset = 0, begin
    while offset < end:
        for _, header in scan(await cluster.read(*partition, offset, 1 << 20)):
            offset = header.next_offset
            if offset <= end and (header.producer_id, header.producer_epoch) == (
                entry.producer_id,
                entry.epoch,
            ):
                landed = entry.landed_up_to(header.base_sequence + header.last_offset_delta)
    return Tail(landed, offset, entry.mark, ())


class ToTheWatermark(FencedTails):
    """Mutation: reads up to the log end of the inspection, not to the marker."""

    async def read(self, partition, entry, found, memory, marker):
        return await tail_to_the_watermark(
            self.target, partition, entry, entry.target_offset, found.end
        )


class OnlyWhatIsRemembered(FencedTails):
    """Mutation: trusts only the leader's memory from before the fence."""

    async def read(self, partition, entry, found, memory, marker):
        tail = await super().read(partition, entry, found, memory, marker)
        return replace(tail, landed=entry.landed_up_to(memory.state.last_sequence))


@with_the_rule_and_without(ToTheWatermark, OnlyWhatIsRemembered)
def test_what_the_old_writer_lands_before_the_fence_is_found(stage, rule):
    zombie = stage.hand(0, **SELDOM).start()
    zombie.until_landed(stage.place, stage.send(1000))
    zombie.freeze()
    taker = stage.hand(1, makers=Makers(takeover=partial(Takeover, tails=rule)), **SELDOM)
    gate = Gate(taker.target, "AddPartitionsToTxn")
    taker.start()
    gate.wait()  # it has inspected the log and asked the leader; no fence yet
    zombie.thaw()
    zombie.until_landed(stage.place, stage.send(500))
    gate.open()
    taker.until_carried(stage.place)
    if rule is FencedTails:
        stage.assert_exact()
    else:
        assert stage.seen().duplicated == 500


@pytest.fixture(scope="module")
def cleans(tmp_path_factory):
    """A broker that compacts at once and expires producers: only its log shows what landed."""
    directory = tmp_path_factory.mktemp("cleans")
    properties = {**FORGETS_PRODUCERS, "log.cleaner.backoff.ms": 100}
    with KafkaCluster("cleans", directory, properties=properties) as cluster:
        yield cluster


class CountsRecords(FencedTails):
    """Mutation: counts the records found instead of using the last sequence."""

    async def read(self, partition, entry, found, memory, marker):
        tail = await super().read(partition, entry, found, memory, marker)
        landed, offset = 0, entry.target_offset
        while offset < tail.end:
            for _, header in scan(await self.target.read(*partition, offset, 1 << 20)):
                offset = header.next_offset
                if (header.producer_id, header.producer_epoch) == (entry.producer_id, entry.epoch):
                    landed += header.count
        return replace(tail, landed=landed)


@pytest.mark.parametrize("rule", [FencedTails, CountsRecords])
def test_a_compacted_tail_is_counted_by_its_last_sequence(make_stage, cleans, rule):
    stage = make_stage(target=cleans, target_config=COMPACTED)
    old = stage.left_behind(0, 1000, Shape(batch_records=100), keys=70)
    stage.until_forgotten(old)
    stage.compact_target(left=70)
    taker = stage.hand(1, makers=Makers(takeover=partial(Takeover, tails=rule)), **SELDOM).start()
    taker.until(lambda: stage.place in taker.pipelines)
    again = 0 if rule is FencedTails else 930
    assert stage.entry.source_offset == 1000 - again
    stage.send(500, keys=70)
    taker.until_carried(stage.place)
    # Offsets count every append, also of records that the cleaner removed.
    closing, fence = 1, 1
    assert taker.call(taker.target.log_end(*stage.place)) == 1000 + closing + fence + again + 500
    seen = stage.seen()
    if rule is FencedTails:
        assert (seen.arrived, seen.lost) == (70 + 500, 930)
        assert not (seen.duplicated or seen.reordered or seen.changed)
    else:
        assert seen.duplicated == 70


class AsksAfterTheFence(FencedTails):
    async def read_all(self, entries, found, holder):
        for topic, number in entries:
            await holder.fence(topic, [number])
            # EndTxn is answered before its marker is written.
            epoch = None
            while epoch != holder.epoch:
                states = await self.target.producer_states(topic, number)
                epoch = states[holder.producer_id].epoch
        return await super().read_all(entries, found, holder)


class ReadsOnly(FencedTails):
    """Mutation: counts the records read and ignores the leader's memory."""

    async def read(self, partition, entry, found, memory, marker):
        return await read_tail(self.target, partition, Reading(entry, found.start), marker)


@with_the_rule_and_without(AsksAfterTheFence, ReadsOnly)
def test_a_tail_that_retention_deleted_is_remembered_by_the_leader(stage, rule):
    stage.left_behind(0)
    stage.delete_target_records(1000)
    stage.send(500)
    hand = stage.hand(1, makers=Makers(takeover=partial(Takeover, tails=rule))).start()
    if rule is AsksAfterTheFence:
        assert "target deleted the tail" in hand.reason_of(stage.place)
        return
    hand.until_carried(stage.place)
    again = stage.seen().arrived
    assert again == (500 if rule is FencedTails else 1500)


class OnlyWhereAllIsForgotten(FencedTails):
    """Mutation: takes a memory reset by another carrier's marker for proof that nothing landed."""

    async def read(self, partition, entry, found, memory, marker):
        tail = await super().read(partition, entry, found, memory, marker)
        return tail if memory.state is None or isinstance(tail, Tail) else _nothing(found)


def _nothing(found):
    return Tail(0, found.end, None, ())


@with_the_rule_and_without(OnlyWhereAllIsForgotten)
def test_a_deleted_tail_stops_the_second_taker_where_the_first_did_not_commit(stage, rule):
    stage.left_behind(0)
    stage.delete_target_records(1000)
    first = stage.hand(1, **SELDOM)
    gate = Gate(first.target, "TxnOffsetCommit", lambda r: names_topic(r, stage.topic))
    first.start()
    gate.wait()  # it has fenced, and so reset the leader's memory
    first.kill()
    gate.open()
    second = stage.hand(2, makers=Makers(takeover=partial(Takeover, tails=rule)), **SELDOM).start()
    if rule is FencedTails:
        assert "target deleted the tail" in second.reason_of(stage.place)
        assert stage.seen().arrived == 0
    else:
        second.until_carried(stage.place)
        assert stage.seen().arrived == 1000


class TakesItForNothing(FencedTails):
    """Mutation: concludes from an empty tail that nothing landed."""

    async def read_all(self, entries, found, holder):
        tails = await super().read_all(entries, found, holder)
        return {
            place: tail
            if isinstance(tail, Tail)
            else Tail(0, found[place].end, entries[place].mark, ())
            for place, tail in tails.items()
        }


@pytest.mark.parametrize("rule", [FencedTails, TakesItForNothing])
def test_a_tail_that_the_cleaner_took_whole_stops(make_stage, cleans, rule):
    """Other producers have rewritten all of its keys, and no broker remembers its writer."""
    stage = make_stage(target=cleans, target_config=COMPACTED)
    old = stage.left_behind(0, 1000, Shape(batch_records=100), keys=70)
    stage.foreign(70, keys=70)
    stage.until_forgotten(old)
    stage.compact_target(left=70)
    taker = stage.hand(1, makers=Makers(takeover=partial(Takeover, tails=rule)), **SELDOM).start()
    if rule is FencedTails:
        assert "compaction left nothing" in taker.reason_of(stage.place)
    else:
        taker.until(lambda: stage.place in taker.pipelines)
        assert stage.entry.source_offset == 0


LED_BY_ONE = {
    "target_config": {"min.insync.replicas": "1"},
    "target_replicas": REPLICATED_BY_TWO,
    "own_copies": 3,
}


class TheLargerAnswer(FencedTails):
    """Mutation: counts what a former leader remembers, whatever the log shows."""

    async def read(self, partition, entry, found, memory, marker):
        tail = await super().read(partition, entry, found, memory, marker)
        remembered = entry.landed_up_to(memory.state.last_sequence)
        return replace(tail, landed=max(tail.landed, remembered))


@pytest.mark.parametrize(
    ("cause", "rule"),
    [
        ("by_a_kill", FencedTails),
        ("by_a_stall", FencedTails),
        ("by_a_preferred_election", FencedTails),
        ("by_a_preferred_election", TheLargerAnswer),
    ],
)
def test_records_that_only_a_deposed_leader_had_are_carried_again(make_stage, three, cause, rule):
    stage = make_stage(target=three, **LED_BY_ONE)
    with DeposedLeader(three, stage) as deposed:
        if cause == "by_a_preferred_election":
            deposed.prefer_the_follower()
        old = stage.hand(0, **SELDOM).start()
        old.until_landed(stage.place, stage.send(1000))
        old.freeze()
        taker = stage.hand(1, makers=Makers(takeover=partial(Takeover, tails=rule)), **SELDOM)
        asks = Gate(taker.target, "DescribeProducers")
        fences = Gate(taker.target, "AddPartitionsToTxn")
        taker.start()
        asks.wait()
        deposed.stop_the_follower()
        deposed.answer_the_followers_fetch()
        old.thaw()
        stage.until_remembered(old, stage.send(500))
        asks.open()
        fences.wait()
        old.freeze()
        getattr(deposed, cause)()
        fences.open()
        taker.until_carried(stage.place)
        seen = stage.seen()
        assert seen.duplicated == 0
        # A batch that the follower's last fetch still received is not lost.
        assert seen.lost == 0 if rule is FencedTails else 0 < seen.lost <= 500


def test_a_deleted_tail_stops_where_the_leader_that_remembers_it_was_deposed(make_stage, three):
    stage = make_stage(target=three, **LED_BY_ONE)
    stage.left_behind(0)
    stage.delete_target_records(1000)
    with DeposedLeader(three, stage) as deposed:
        deposed.prefer_the_follower()
        taker = stage.hand(1, **SELDOM)
        fences = Gate(taker.target, "AddPartitionsToTxn")
        taker.start()
        fences.wait()
        deposed.by_a_preferred_election()
        fences.open()
        assert "target deleted the tail" in taker.reason_of(stage.place)
    assert stage.seen().arrived == 0
