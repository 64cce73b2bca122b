"""Rules of the ledger: with a rule both ends stay the same; without it the loss or duplicate shows.

Each test disables its rule by replacing the function that keeps it. Races are deterministic: one
carrier is held before a named request while another one acts.
"""

from __future__ import annotations

from functools import partial

import pytest
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.transaction import EndTxnRequest
from aiokafka.protocol.types import (
    Boolean,
    CompactString,
    Int16,
    Int32,
    Int64,
    Schema,
)

from deploy.lab.traffic import Shape
from replicator.batches import records
from replicator.batches.outgoing_batch import Reason
from replicator.kafka.client.cluster import Answered, Fenced
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.kafka.protocol.fields import TAGS
from replicator.mirror.carrier.carrier_assembly import MAKERS, Makers
from replicator.mirror.carrier.command_follower import CommandFollower
from replicator.mirror.carrier.sender import Sender
from replicator.mirror.carrier.source_gaps import SourceGaps
from replicator.mirror.ledger.entry import Custody
from replicator.mirror.ledger.ledger import Ledger
from replicator.mirror.ledger.takeover import Takeover
from replicator.spark.driver_command import TermSuperseded
from tests.live.hand import Gate, names_topic
from tests.live.stage import SELDOM

IN_FORCE = pytest.mark.parametrize(
    "in_force",
    [pytest.param(True, marks=pytest.mark.core), False],
    ids=["in force", "taken out"],
)
# -- custody


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

    def reading_once(**collaborators):
        # Without the runs topic, which may show in time that the entry is old.
        ledger = ReadOnce(collaborators["target"], stage.route)
        return Takeover(**{**collaborators, "ledger": ledger, "runs": None})

    makers = MAKERS if in_force else Makers(takeover=reading_once)
    late = stage.hand(1, makers=makers, **SELDOM)
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
    """A ledger that commits with the given committer instead of the holder of the entry's id."""

    fenced_committer: FencedCommitter

    async def replace(self, holder, before, entries, *, effects=None):
        await super().replace(self.fenced_committer, before, entries, effects=effects)


@IN_FORCE
def test_custody_an_entry_is_replaced_in_the_transaction_of_the_id_it_names(make_stage, in_force):
    stage = make_stage()
    stage.left_behind(0)

    def committing_itself(**collaborators):
        ledger = OwnCommits(collaborators["target"], stage.route)
        ledger.fenced_committer = collaborators["fenced_committer"]
        return Takeover(**{**collaborators, "ledger": ledger})

    makers = MAKERS if in_force else Makers(takeover=committing_itself)
    late = stage.hand(1, makers=makers, **SELDOM)
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


class BeginsAgain(FencedCommitter):
    """Mutation: begins every acquired partition at sequence 0."""

    def next_sequence(self, partition):
        return 0


def ignore_times(*_):
    """Mutation: ignores the timestamps that the target answers."""


IN_ONE_BATCH = Shape(linger_ms=10_000)
"""Sends all records at once at the flush: a repeat is a duplicate to the broker only if it begins
and ends where a batch of the log does."""


def believe(pipeline):
    """Lets a pipeline believe that no batch lands below acknowledged records."""
    acknowledge = pipeline.acknowledge

    def believing(batch, base_offset):
        acknowledge(batch, max(base_offset, pipeline.entry.target_offset))

    pipeline.acknowledge = believing


@pytest.mark.parametrize(
    "taken_out",
    [
        pytest.param("", marks=pytest.mark.core),
        "sequence",
        "sequence and offset of the answer",
        "all of the answer",
    ],
)
def test_a_partition_taken_again_goes_on_behind_its_last_sequence(make_stage, taken_out):
    stage = make_stage()
    makers = Makers(
        fenced_committer=BeginsAgain if taken_out else FencedCommitter,
        sender=partial(Sender, stamped_times=ignore_times)
        if taken_out == "all of the answer"
        else Sender,
    )
    believes = taken_out in ("sequence and offset of the answer", "all of the answer")
    hand = stage.hand(0, makers=makers, adapt=believe if believes else None).start()
    hand.until_landed(stage.place, stage.send(500, IN_ONE_BATCH))
    hand.call(hand.session.committer.release(hand.session.reassignment.free_id))
    stage.send(500, IN_ONE_BATCH)
    hand.take_again(stage.place)
    # The answer to a duplicate has the offset and the largest timestamp of the batch in the log.
    found_by = {"sequence": "target lost", "sequence and offset of the answer": "other timestamps"}
    if taken_out in found_by:
        hand.until(lambda: stage.place in hand.session.committer.parked)
        assert found_by[taken_out] in str(hand.session.committer.parked[stage.place])
        return
    hand.until_carried(stage.place)
    assert stage.seen().lost == (500 if taken_out else 0)


# -- gaps


class NeverAwaited(SourceGaps):
    """Mutation: takes every gap for covered."""

    def are_covered(self, end):
        return True


def await_no_cover(pipeline):
    pipeline.gaps = NeverAwaited(pipeline.entry.sequence)


@IN_FORCE
def test_a_gap_is_covered_before_what_lies_behind_it_is_sent(make_stage, in_force):
    stage = make_stage()
    adapt = None if in_force else await_no_cover
    # Each transaction leaves a marker in the source, and each aborted one a larger gap.
    stage.left_behind(0, 1000, Shape(transaction_records=50, abort_every=4), adapt=adapt)
    stage.to_the_end(1, adapt=adapt)
    if in_force:
        stage.assert_exact()
    else:
        assert stage.seen().duplicated > 0


def list_all_gaps(pipeline):
    pipeline.gaps = SourceGaps(pipeline.entry.sequence, bytes_max=1 << 20)


@IN_FORCE
def test_however_many_gaps_an_entry_fits_into_its_metadata(make_stage, in_force):
    stage = make_stage()
    stage.send(1200, Shape(transaction_records=1, linger_ms=0))
    hand = stage.hand(0, adapt=None if in_force else list_all_gaps, **SELDOM).start()
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


def end_by_version_5(hand):
    """Mutation: commits transactions with version 5 of EndTxn from here on."""
    committer, send = hand.session.fenced_committer, hand.target.send

    async def sent(node, request, purpose="control"):
        if isinstance(request, EndTxnRequest):
            request = EndTxnV5Request(committer.transactional_id, *hand.producer, True)
        return await send(node, request, purpose)

    hand.target.send = sent


@IN_FORCE
def test_a_transaction_leaves_the_producers_epoch_alone(make_stage, in_force):
    stage = make_stage()
    hand = stage.hand(0, ledger_seconds=0.1).start()
    hand.until(lambda: stage.place in hand.pipelines)
    if in_force:
        for _ in range(3):
            hand.until_landed(stage.place, end := stage.send(100))
            hand.until(lambda end=end: stage.entry.source_offset == end)
        assert (stage.entry.producer_id, stage.entry.epoch) == hand.producer
    else:
        end_by_version_5(hand)
        stage.send(100)
        assert isinstance(hand.failure(), Fenced)


# -- terms


class FollowsNothing(CommandFollower):
    """Mutation: takes every command for applied."""

    async def follow(self):
        return True


@IN_FORCE
def test_a_carrier_of_an_older_driver_takes_nothing(make_stage, in_force):
    stage = make_stage()
    stage.send(100)
    older = stage.carrying.driver.term
    stage.carrying.wait(stage.carrying.driver.open())
    makers = MAKERS if in_force else Makers(command_follower=FollowsNothing)
    hand = stage.hand(0, term=older, makers=makers).start()
    if in_force:
        assert isinstance(hand.failure(), TermSuperseded)
        assert stage.entry.custody is Custody.VIRGIN
    else:
        hand.until_carried(stage.place)
        assert stage.entry.custody is Custody.HELD
