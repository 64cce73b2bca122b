"""The fence, and the tail behind it: what a dead writer landed is found, all of it, or it stops."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deploy.lab.kafka import KafkaCluster
from deploy.lab.traffic import Shape
from replicator.batches.batch import scan
from replicator.ledger import takeover
from replicator.ledger.tail import Tail
from replicator.ledger.takeover import Takeover
from tests.live.conftest import FORGETS_PRODUCERS
from tests.live.hand import Gate, names_topic
from tests.live.stage import COMPACTED, SELDOM


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
        return replace(tail, landed=entry.landed_up_to(state.last_sequence))


@pytest.mark.parametrize("rule", [Takeover, ToTheWatermark, OnlyWhatIsRemembered])
def test_what_the_old_writer_lands_before_the_fence_is_found(make_stage, monkeypatch, rule):
    stage = make_stage()
    zombie = stage.hand(0, **SELDOM).start()
    zombie.until_landed(stage.place, stage.send(1000))
    zombie.freeze()
    monkeypatch.setattr("replicator.carrier.stint.Takeover", rule)
    taker = stage.hand(1, **SELDOM)
    gate = Gate(taker.target, "AddPartitionsToTxn")
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


@pytest.fixture(scope="module")
def cleans(tmp_path_factory):
    """A broker that cleans at once, and forgets who wrote what: only its log can tell."""
    directory = tmp_path_factory.mktemp("cleans")
    properties = {**FORGETS_PRODUCERS, "log.cleaner.backoff.ms": 100}
    with KafkaCluster("cleans", directory, properties=properties) as cluster:
        yield cluster


class CountsRecords(Takeover):
    """Takes as many for landed as it finds."""

    async def _read_tail(self, partition, entry, found, state, marker):
        tail = await super()._read_tail(partition, entry, found, state, marker)
        landed, offset = 0, entry.target_offset
        while offset < tail.end:
            for _, header in scan(await self._target.read(*partition, offset, 1 << 20)):
                offset = header.next_offset
                if (header.producer_id, header.producer_epoch) == (entry.producer_id, entry.epoch):
                    landed += header.count
        return replace(tail, landed=landed)


@pytest.mark.parametrize("rule", [Takeover, CountsRecords])
def test_a_compacted_tail_is_counted_by_its_last_sequence(make_stage, cleans, monkeypatch, rule):
    stage = make_stage(target=cleans, target_config=COMPACTED)
    old = stage.left_behind(0, 1000, Shape(batch_records=100), keys=70)
    stage.until_forgotten(old)
    stage.compact_target(left=70)
    monkeypatch.setattr("replicator.carrier.stint.Takeover", rule)
    taker = stage.hand(1, **SELDOM).start()
    taker.until(lambda: stage.place in taker.lanes)
    again = 0 if rule is Takeover else 930
    assert stage.entry.source_offset == 1000 - again
    stage.send(500, keys=70)
    taker.until_carried(stage.place)
    # Offsets tell how often something was written, whatever the cleaner took of it.
    closing, fence = 1, 1
    assert taker.call(taker.target.log_end(*stage.place)) == 1000 + closing + fence + again + 500
    seen = stage.seen()
    if rule is Takeover:
        assert (seen.arrived, seen.lost) == (70 + 500, 930)
        assert not (seen.duplicated or seen.reordered or seen.changed)
    else:
        assert seen.duplicated == 70


class AsksAfterTheFence(Takeover):
    async def _read_tails(self, entries, found, holder):
        for topic, number in entries:
            await holder.fence(topic, [number])
            # EndTxn answers before its marker is written.
            epoch = None
            while epoch != holder.epoch:
                states = await self._target.producer_states(topic, number)
                epoch = states[holder.producer_id].epoch
        return await super()._read_tails(entries, found, holder)


class ReadsOnly(Takeover):
    """Counts what it reads, and forgets what the leader remembers."""

    async def _read_tail(self, partition, entry, found, state, marker):
        return await takeover.read_tail(self._target, partition, entry, found.start, marker)


@pytest.mark.parametrize("rule", [Takeover, AsksAfterTheFence, ReadsOnly])
def test_a_tail_that_retention_deleted_is_remembered_by_the_leader(make_stage, monkeypatch, rule):
    stage = make_stage()
    stage.left_behind(0)
    stage.delete_target_records(1000)
    monkeypatch.setattr("replicator.carrier.stint.Takeover", rule)
    stage.send(500)
    hand = stage.hand(1).start()
    if rule is AsksAfterTheFence:
        assert "target deleted the tail" in hand.reason_of(stage.place)
        return
    hand.until_carried(stage.place)
    again = stage.seen().arrived
    assert again == (500 if rule is Takeover else 1500)


class OnlyWhereAllIsForgotten(Takeover):
    """Takes a memory that another taker's marker has reset for one of nothing landed."""

    async def _read_tail(self, partition, entry, found, state, marker):
        tail = await super()._read_tail(partition, entry, found, state, marker)
        return tail if state is None or isinstance(tail, Tail) else _nothing(found)


def _nothing(found):
    return Tail(0, found.end, None, (), 0)


@pytest.mark.parametrize("rule", [Takeover, OnlyWhereAllIsForgotten])
def test_a_deleted_tail_stops_the_second_taker_where_the_first_did_not_commit(
    make_stage, monkeypatch, rule
):
    stage = make_stage()
    stage.left_behind(0)
    stage.delete_target_records(1000)
    first = stage.hand(1, **SELDOM)
    gate = Gate(first.target, "TxnOffsetCommit", lambda r: names_topic(r, stage.topic))
    first.start()
    gate.wait()  # it has fenced, and so reset what the leader remembers
    first.kill()
    gate.open()
    monkeypatch.setattr("replicator.carrier.stint.Takeover", rule)
    second = stage.hand(2, **SELDOM).start()
    if rule is Takeover:
        assert "target deleted the tail" in second.reason_of(stage.place)
        assert stage.seen().arrived == 0
    else:
        second.until_carried(stage.place)
        assert stage.seen().arrived == 1000


class TakesItForNothing(Takeover):
    """Where nothing is found, nothing was landed."""

    async def _read_tails(self, entries, found, holder):
        tails = await super()._read_tails(entries, found, holder)
        return {
            place: tail
            if isinstance(tail, Tail)
            else Tail(0, found[place].end, entries[place].mark, (), 0)
            for place, tail in tails.items()
        }


@pytest.mark.parametrize("rule", [Takeover, TakesItForNothing])
def test_a_tail_that_the_cleaner_took_whole_stops(make_stage, cleans, monkeypatch, rule):
    """Others have written all of its keys since, and nobody remembers its writer."""
    stage = make_stage(target=cleans, target_config=COMPACTED)
    old = stage.left_behind(0, 1000, Shape(batch_records=100), keys=70)
    stage.foreign(70, keys=70)
    stage.until_forgotten(old)
    stage.compact_target(left=70)
    monkeypatch.setattr("replicator.carrier.stint.Takeover", rule)
    taker = stage.hand(1, **SELDOM).start()
    if rule is Takeover:
        assert "compaction left nothing" in taker.reason_of(stage.place)
    else:
        taker.until(lambda: stage.place in taker.lanes)
        assert stage.entry.source_offset == 0
