"""Every rule of the ledger: in force it keeps both ends the same; taken out, its loss is seen.

Rules are taken out inside the test, by a mutation of the function that keeps them. Races are not
left to chance: one carrier is held before a named request while another one acts.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import (
    Boolean,
    CompactString,
    Int16,
    Int32,
    Int64,
    Schema,
    TaggedFields,
)

from deploy.lab.kafka import KafkaCluster
from deploy.lab.traffic import Shape
from replicator.batches import records
from replicator.batches.batch import scan
from replicator.batches.parcel import Reason
from replicator.carrier.lane import Lane
from replicator.carrier.stint import Stint
from replicator.kafka.cluster import Answered, Fenced
from replicator.ledger import takeover
from replicator.ledger.entry import Custody
from replicator.ledger.ledger import Ledger
from replicator.ledger.tail import Tail
from replicator.ledger.takeover import Takeover
from replicator.ledger.word import OtherTerm
from replicator.ledger.writer import Writer
from tests.live.conftest import FORGETS_PRODUCERS
from tests.live.hand import Gate
from tests.live.stage import COMPACTED, SELDOM

IN_FORCE = pytest.mark.parametrize("in_force", [True, False], ids=["in force", "taken out"])
# -- custody


def takeover_of(hand):
    return hand.stint._taking._takeover


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
        takeover_of(late)._ledger = ReadOnce(late.target, stage.route)
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


def _names(request, topic):
    """Whether an entry of this topic is to be committed."""
    return any(name == topic for name, _ in request._topics)


class OwnCommits(Ledger):
    """Commits in the transactions of whom it likes."""

    writer: Writer

    async def replace(self, holder, before, entries):
        await super().replace(self.writer, before, entries)


@IN_FORCE
def test_custody_an_entry_is_replaced_in_the_transaction_of_the_id_it_names(make_stage, in_force):
    stage = make_stage()
    stage.left_behind(0)
    late = stage.hand(1, **SELDOM)
    if not in_force:
        ledger = takeover_of(late)._ledger = OwnCommits(late.target, stage.route)
        ledger.writer = late.stint._writer
    gate = Gate(late.target, "TxnOffsetCommit", lambda r: _names(r, stage.topic))
    late.start()
    gate.wait()  # it has fenced and read the tail
    other = stage.to_the_end(2)
    stage.send(500)
    other.until_carried(stage.place)
    other.kill()  # it would write over what is not its own either
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
    gate = Gate(first.target, "TxnOffsetCommit", lambda r: _names(r, stage.topic))
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


# -- sequences


@pytest.mark.parametrize("taken_out", ["", "sequence", "sequence and offset of the answer"])
def test_a_partition_taken_again_goes_on_behind_its_last_sequence(
    make_stage, monkeypatch, taken_out
):
    stage = make_stage()
    hand = stage.hand(0).start()
    hand.until_landed(stage.place, stage.send(500))
    stint = hand.stint
    hand.call(stint._scribe.release(f"{stint._writer.transactional_id}.free"))
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
        hand.until(lambda: stage.place in stint._scribe.parked)
        assert "target lost" in str(stint._scribe.parked[stage.place])
        return
    hand.until_carried(stage.place)
    assert stage.seen().lost == (500 if taken_out else 0)


# -- gaps


@IN_FORCE
def test_a_gap_is_covered_before_what_lies_behind_it_is_sent(make_stage, monkeypatch, in_force):
    stage = make_stage()
    if not in_force:
        monkeypatch.setattr(Lane, "_is_covered", property(lambda _: True))
    # Each transaction leaves a marker in the source, and each aborted one a whole gap.
    stage.left_behind(0, 1000, Shape(transaction_records=50, abort_every=4))
    stage.to_the_end(1)
    if in_force:
        assert stage.seen().is_right
    else:
        assert stage.seen().duplicated > 0


@IN_FORCE
def test_however_many_gaps_an_entry_fits_into_its_metadata(make_stage, monkeypatch, in_force):
    stage = make_stage()
    if not in_force:
        monkeypatch.setattr("replicator.carrier.lane.METADATA_BYTES_MAX", 1 << 20)
    stage.send(1200, Shape(transaction_records=1, linger_ms=0))
    hand = stage.hand(0, **SELDOM).start()
    if in_force:
        hand.until_carried(stage.place)
        hand.kill()
        stage.to_the_end(1)
        assert stage.seen().is_right
    else:
        failure = hand.failure()
        assert isinstance(failure, Answered) and failure.codes == (12,)


# -- times


@IN_FORCE
def test_a_batch_with_the_times_of_its_log_keeps_them(make_stage, monkeypatch, in_force):
    stage = make_stage(source_config={"message.timestamp.type": "LogAppendTime"})
    if not in_force:

        def why_open(header, **options):
            reason = records.why_open(header, **options)
            return None if reason is Reason.LOG_APPEND_TIME else reason

        monkeypatch.setattr("replicator.batches.packer.why_open", why_open)
    stage.send(1000, Shape(batch_records=100))
    stage.to_the_end(0)
    assert stage.seen().is_right == in_force
    assert stage.seen().lost == 0
    assert bool(stage.seen().changed) != in_force


# -- transactions


class EndTxnV5Response(Response):
    API_KEY = 26
    API_VERSION = 5
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        ("error_code", Int16),
        ("producer_id", Int64),
        ("producer_epoch", Int16),
        ("tags", TaggedFields),
    )


class EndTxnV5Struct(RequestStruct):
    API_KEY = 26
    API_VERSION = 5
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = EndTxnV5Response
    SCHEMA = Schema(
        ("transactional_id", CompactString()),
        ("producer_id", Int64),
        ("producer_epoch", Int16),
        ("committed", Boolean),
        ("tags", TaggedFields),
    )


class EndTxnV5Request(Request[EndTxnV5Struct]):
    API_KEY = 26

    def __init__(self, *fields: object):
        self._fields = fields

    def build(self, request_struct_class):
        return request_struct_class(*self._fields, {})


@IN_FORCE
def test_a_transaction_leaves_the_writers_epoch_alone(make_stage, monkeypatch, in_force):
    stage = make_stage()
    hand = stage.hand(0, ledger_seconds=0.1).start()
    hand.until(lambda: stage.place in hand.lanes)
    if not in_force:
        monkeypatch.setattr("replicator.ledger.writer.EndTxnRequest", EndTxnV5Request)
    if in_force:
        for _ in range(3):
            hand.until_landed(stage.place, end := stage.send(100))
            hand.until(lambda end=end: stage.entry.source_offset == end)
        assert (stage.entry.producer_id, stage.entry.epoch) == hand.writer
    else:
        stage.send(100)
        assert isinstance(hand.failure(), Fenced)


# -- terms


@IN_FORCE
def test_a_carrier_of_an_older_driver_takes_nothing(make_stage, monkeypatch, in_force):
    stage = make_stage()
    stage.send(100)
    older = stage.carrying._driver.term
    stage.carrying._await(stage.carrying._driver.open())
    if not in_force:

        async def heed_word(_):
            return True

        monkeypatch.setattr(Stint, "_heed_word", heed_word)
    hand = stage.hand(0, term=older).start()
    if in_force:
        assert isinstance(hand.failure(), OtherTerm)
        assert stage.entry.custody is Custody.VIRGIN
    else:
        hand.until_carried(stage.place)
        assert stage.entry.custody is Custody.HELD
