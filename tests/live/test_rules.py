"""Rules of the ledger: with a rule both ends stay the same; without it the loss or duplicate shows.

Each test disables its rule by replacing the function that keeps it. Races are deterministic: one
carrier is held before a named request while another one acts.
"""

from __future__ import annotations

import asyncio
import random

import pytest
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import (
    Boolean,
    CompactString,
    Int16,
    Int32,
    Int64,
    Schema,
)
from confluent_kafka import Producer

from deploy.lab.traffic import Shape
from replicator.batches import records
from replicator.batches.outgoing_batch import Reason
from replicator.kafka.client.cluster import Answered, Fenced
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.kafka.protocol.fields import TAGS
from replicator.mirror.carrier.carrier_session import CarrierSession
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.ledger.entry import Custody
from replicator.mirror.ledger.ledger import Ledger
from replicator.spark.driver_command import TermSuperseded
from tests.live.hand import Gate, names_topic
from tests.live.stage import SELDOM

IN_FORCE = pytest.mark.parametrize("in_force", [True, False], ids=["in force", "taken out"])
# -- custody


def takeover_of(hand):
    return hand.session._acquisition._takeover


class ReadOnce(Ledger):
    """A ledger that returns forever what it read first."""

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
        stage.assert_exact()
    else:
        assert stage.seen().duplicated >= 500


class OwnCommits(Ledger):
    """A ledger that commits with the given writer instead of the holder of the entry's id."""

    writer: FencedCommitter

    async def replace(self, holder, before, entries):
        await super().replace(self.writer, before, entries)


@IN_FORCE
def test_custody_an_entry_is_replaced_in_the_transaction_of_the_id_it_names(make_stage, in_force):
    stage = make_stage()
    stage.left_behind(0)
    late = stage.hand(1, **SELDOM)
    if not in_force:
        ledger = takeover_of(late)._ledger = OwnCommits(late.target, stage.route)
        ledger.writer = late.session._writer
    gate = Gate(late.target, "TxnOffsetCommit", lambda r: names_topic(r, stage.topic))
    late.start()
    gate.wait()  # it has fenced and read the tail
    other = stage.to_the_end(2)
    stage.send(500)
    other.until_carried(stage.place)
    other.kill()  # without the rule it would overwrite foreign entries as well
    gate.open()
    late.until_carried(stage.place)
    if in_force:
        stage.assert_exact()
    else:
        assert stage.seen().duplicated >= 500


# -- sequences


@pytest.mark.parametrize(
    "taken_out", ["", "sequence", "sequence and offset of the answer", "all of the answer"]
)
def test_a_partition_taken_again_goes_on_behind_its_last_sequence(
    make_stage, monkeypatch, taken_out
):
    stage = make_stage()
    hand = stage.hand(0).start()
    hand.until_landed(stage.place, stage.send(500))
    session = hand.session
    hand.call(session._committer.release(f"{session._writer.transactional_id}.free"))
    if taken_out:
        monkeypatch.setattr(FencedCommitter, "next_sequence", lambda *_: 0)
    if taken_out == "all of the answer":
        monkeypatch.setattr("replicator.mirror.carrier.sender.stamped_times", lambda *_: None)
    if taken_out in ("sequence and offset of the answer", "all of the answer"):
        acknowledge = PartitionPipeline.acknowledge

        def believing(pipeline, unit, base_offset):
            return acknowledge(pipeline, unit, max(base_offset, pipeline.entry.target_offset))

        monkeypatch.setattr(PartitionPipeline, "acknowledge", believing)
    stage.send(500)
    hand.take_again(stage.place)
    # The answer to a duplicate has the offset and the largest timestamp of the batch in the log.
    found_by = {"sequence": "target lost", "sequence and offset of the answer": "other timestamps"}
    if taken_out in found_by:
        hand.until(lambda: stage.place in session._committer.parked)
        assert found_by[taken_out] in str(session._committer.parked[stage.place])
        return
    hand.until_carried(stage.place)
    assert stage.seen().lost == (500 if taken_out else 0)


# -- gaps


@IN_FORCE
def test_a_gap_is_covered_before_what_lies_behind_it_is_sent(make_stage, monkeypatch, in_force):
    stage = make_stage()
    if not in_force:
        monkeypatch.setattr(PartitionPipeline, "_is_covered", property(lambda _: True))
    # Each transaction leaves a marker in the source, and each aborted one a larger gap.
    stage.left_behind(0, 1000, Shape(transaction_records=50, abort_every=4))
    stage.to_the_end(1)
    if in_force:
        stage.assert_exact()
    else:
        assert stage.seen().duplicated > 0


@IN_FORCE
def test_however_many_gaps_an_entry_fits_into_its_metadata(make_stage, monkeypatch, in_force):
    stage = make_stage()
    if not in_force:
        monkeypatch.setattr(
            "replicator.mirror.carrier.partition_pipeline.METADATA_BYTES_MAX", 1 << 20
        )
    stage.send(1200, Shape(transaction_records=1, linger_ms=0))
    hand = stage.hand(0, **SELDOM).start()
    if in_force:
        hand.until_carried(stage.place)
        hand.kill()
        stage.to_the_end(1)
        stage.assert_exact()
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
    if in_force:
        stage.assert_exact()
    else:
        assert stage.seen().changed and not stage.seen().lost


# -- transactions


class EndTxnV5Response(Response):
    API_KEY = 26
    API_VERSION = 5
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        ("error_code", Int16),
        ("producer_id", Int64),
        ("producer_epoch", Int16),
        TAGS,
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
        TAGS,
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
    hand.until(lambda: stage.place in hand.pipelines)
    if not in_force:
        monkeypatch.setattr(
            "replicator.kafka.client.fenced_committer.EndTxnRequest", EndTxnV5Request
        )
    if in_force:
        for _ in range(3):
            hand.until_landed(stage.place, end := stage.send(100))
            hand.until(lambda end=end: stage.entry.source_offset == end)
        assert (stage.entry.producer_id, stage.entry.epoch) == hand.writer
    else:
        stage.send(100)
        assert isinstance(hand.failure(), Fenced)


# -- losses


@IN_FORCE
def test_a_lane_that_ends_names_no_loss_behind_records_that_it_drops(
    make_stage, monkeypatch, in_force
):
    """An operator who accepts the loss gives up the named records, and none before them."""
    monkeypatch.setattr("replicator.mirror.carrier.carrier_session.MAX_MESSAGE_BYTES", 20_000)
    if not in_force:
        settle = PartitionPipeline.settle

        def keeping(pipeline):
            stopping = pipeline.stopping
            settle(pipeline)
            pipeline.stopping = stopping

        monkeypatch.setattr(PartitionPipeline, "settle", keeping)
    stage = make_stage()
    end = stage.send(400, Shape(batch_records=20))
    producer = Producer(stage.source.librdkafka_options())
    producer.produce(stage.topic, random.randbytes(30_000), partition=0)
    assert producer.flush(60) == 0
    hand = stage.hand(0)
    take = PartitionPipeline.take

    def ending(pipeline):
        """Ends the epoch as soon as the first batch before the large record is sent."""
        if pipeline.stopping:
            hand.session._over.set()
        return take(pipeline)

    committer = hand.session._committer
    release = committer.release

    async def late(free):
        """Delays the release until the ledger loop has parked, as a slower pipeline does."""
        while any(pipeline.stopping for pipeline in hand.pipelines.values()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        return await release(free)

    monkeypatch.setattr(PartitionPipeline, "take", ending)
    monkeypatch.setattr(committer, "release", late)
    hand.start()
    assert hand.failure() is None
    if in_force:
        assert stage.entry.custody is Custody.RELEASED
        assert 0 < stage.entry.source_offset < end
        other = stage.hand(1).start()
        assert f"[{end}, {end + 1})" in other.reason_of(stage.place)
        other.finish()
        assert stage.entry.source_offset == end
    assert stage.carrying.accept(stage.place).source_offset == end + 1
    stage.send(100)
    stage.to_the_end(2)
    lost = stage.seen().lost
    assert lost == 1 if in_force else lost > 1


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

        monkeypatch.setattr(CarrierSession, "_heed_word", heed_word)
    hand = stage.hand(0, term=older).start()
    if in_force:
        assert isinstance(hand.failure(), TermSuperseded)
        assert stage.entry.custody is Custody.VIRGIN
    else:
        hand.until_carried(stage.place)
        assert stage.entry.custody is Custody.HELD
