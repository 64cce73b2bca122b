"""Ledger rules against brokers that expire producers, transactional ids and offsets."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial

import pytest
from aiokafka.errors import KafkaConnectionError

from deploy.lab.traffic import Shape
from replicator.kafka.client.cluster import Fenced, ProducerStateLost
from replicator.kafka.protocol.error_codes import Code
from replicator.kafka.protocol.produce import ProduceRequest
from replicator.mirror.carrier.carrier_assembly import MAKERS, Makers
from replicator.mirror.carrier.commit_schedule import CommitSchedule
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.retransmission import Retransmission
from replicator.mirror.carrier.sender import Sender
from replicator.mirror.ledger import inspection
from replicator.mirror.ledger.entry import Custody
from replicator.mirror.ledger.fenced_tails import FencedTails
from replicator.mirror.ledger.takeover import Takeover
from tests.live.hand import Hand, Sent
from tests.live.stage import SELDOM

IN_FORCE = pytest.mark.parametrize(
    "in_force",
    [pytest.param(True, marks=pytest.mark.core), False],
    ids=["in force", "taken out"],
)
OLD_MS = 1_357_000_000_000
"""A timestamp in January 2013, in milliseconds."""


# -- expired producers


def pass_on(send, request):
    return send(request)


class NeverAlone(PartitionPipeline):
    """Mutation: fills the window from the first batch on."""

    is_alone = property(lambda _: False, lambda *_: None)


def never_alone(pipeline):
    pipeline.__class__ = NeverAlone


def silent_for(seconds):
    """Returns makers of senders that confirm their producer after so long a silence."""
    return Makers(sender=partial(Sender, silence_seconds_max=seconds))


@IN_FORCE
@pytest.mark.parametrize("silent", [False, True], ids=["at the start", "after a long silence"])
def test_the_first_batch_travels_alone(make_stage, forgets_producers, silent, in_force):
    """Loses the first request. Without producer state a broker appends the second one."""
    stage = make_stage(target=forgets_producers) if silent else make_stage()
    hand = stage.hand(
        0,
        makers=silent_for(0.2) if silent else MAKERS,
        adapt=None if in_force else never_alone,
        **SELDOM,
    )
    is_armed, is_lost = [], []

    def sending(send, request):
        if isinstance(request, ProduceRequest) and is_armed and not is_lost:
            is_lost.append(True)
            return lost()
        return send(request)

    async def lost():
        await asyncio.sleep(0.1)
        raise KafkaConnectionError("lost on the way")

    Sent(hand, sending)
    if not silent:
        is_armed.append(True)
        stage.send(200, Shape(batch_records=100))
        hand.start()
    else:
        hand.start().until_landed(stage.place, stage.send(100))
        stage.until_forgotten(hand)
        hand.freeze()
        is_armed.append(True)
        stage.send(200, Shape(batch_records=100))
        hand.thaw()
    if in_force:
        hand.until_carried(stage.place)
        stage.assert_exact()
    else:
        # The broker refuses the late batch. The next carrier finds the gap and stops there.
        assert isinstance(hand.failure(), ProducerStateLost)
        begin = 100 if silent else 0
        hole = f"later records of the writer and not these: source offsets [{begin}, {begin + 100})"
        assert hole in stage.hand(1).start().reason_of(stage.place)


def frozen_and_fenced(stage, zombie: Hand) -> None:
    """Freezes the zombie, lets another carrier take over, and waits until the zombie's producer
    state has expired."""
    zombie.freeze()
    stage.send(500)
    stage.to_the_end(1)
    stage.until_forgotten(zombie)


@IN_FORCE
def test_a_producer_that_was_silent_must_confirm_that_it_is_not_fenced(
    make_stage, forgets_producers, in_force
):
    stage = make_stage(target=forgets_producers)
    zombie = stage.hand(0, makers=silent_for(0.5 if in_force else 1e9), **SELDOM).start()
    zombie.until_landed(stage.place, stage.send(1000))
    frozen_and_fenced(stage, zombie)
    zombie.thaw()
    if in_force:
        assert isinstance(zombie.failure(), Fenced)
        stage.assert_exact()
    else:
        zombie.until_carried(stage.place)
        assert stage.seen().duplicated == 500


@IN_FORCE
def test_a_producer_that_stood_still_with_an_answer_to_come_must_confirm_that_it_is_not_fenced(
    make_stage, forgets_producers, in_force
):
    """The answer waits in the socket. Read after the silence, it proves nothing any more."""
    stage = make_stage(target=forgets_producers)
    zombie = stage.hand(0, makers=silent_for(0.5 if in_force else 1e9), **SELDOM)

    def sending(send, request):
        answer = send(request)
        if isinstance(request, ProduceRequest):
            zombie.freeze_here()
        return answer

    Sent(zombie, sending)
    zombie.start().until(lambda: stage.place in zombie.pipelines)
    stage.send(300, Shape(batch_records=100))
    zombie.until_frozen()
    stage.to_the_end(1)
    stage.until_forgotten(zombie)
    zombie.thaw()
    if in_force:
        assert isinstance(zombie.failure(), Fenced)
        stage.assert_exact()
    else:
        zombie.until_carried(stage.place)
        assert stage.seen().duplicated == 200


class Unconfirmed(Sender):
    """Takes its producer for unfenced without a commit."""

    async def confirm_unfenced(self, pipelines):
        return True


@IN_FORCE
def test_a_new_connection_is_preceded_by_a_commit(make_stage, forgets_producers, in_force):
    stage = make_stage(target=forgets_producers)
    makers = MAKERS if in_force else Makers(sender=Unconfirmed)
    zombie = stage.hand(0, makers=makers, **SELDOM)
    sent = Sent(zombie, pass_on)
    zombie.start().until_landed(stage.place, stage.send(1000))
    connection = sent.connections[-1]
    frozen_and_fenced(stage, zombie)
    zombie.cut(connection)
    zombie.thaw()
    if in_force:
        assert isinstance(zombie.failure(), Fenced)
        stage.assert_exact()
    else:
        zombie.until_carried(stage.place)
        assert stage.seen().duplicated == 500


@IN_FORCE
def test_old_records_whose_answer_was_lost_are_looked_for_in_the_log(
    make_stage, forgets_producers, in_force
):
    """A broker expires a producer by the timestamps of its records. When the answer to old records
    is lost, the broker may append them twice."""
    stage = make_stage(
        target=forgets_producers,
        target_config={"retention.ms": "-1"},
        source_config={"retention.ms": "-1"},
    )
    for_ever = Makers(retransmission=partial(Retransmission, remembered_seconds=1e12))
    hand = stage.hand(0, makers=MAKERS if in_force else for_ever, **SELDOM)
    is_lost = []

    def sending(send, request):
        answer = send(request)
        if isinstance(request, ProduceRequest) and not is_lost:
            is_lost.append(True)
            return lost(answer)
        return answer

    async def lost(answer):
        await answer
        await asyncio.to_thread(stage.until_forgotten, hand)
        raise KafkaConnectionError("lost on the way back")

    Sent(hand, sending)
    stage.send(200, first_timestamp_ms=OLD_MS)
    hand.start()
    if in_force:
        assert isinstance(hand.failure(), ProducerStateLost)
        stage.to_the_end(0)
        stage.assert_exact()
    else:
        hand.until_carried(stage.place)
        assert stage.seen().duplicated == 200


@pytest.mark.parametrize(
    "code",
    [Code.UNKNOWN_TOPIC_OR_PARTITION, Code.NOT_LEADER_OR_FOLLOWER, Code.KAFKA_STORAGE_ERROR],
)
def test_old_records_appended_and_answered_with_an_error_are_looked_for_in_the_log(
    make_stage, forgets_producers, code
):
    """When the leader changes while a Produce waits for replicas, these errors come after the
    append (DelayedProduce). A broker without producer state appends the records twice."""
    kept = {"retention.ms": "-1"}
    stage = make_stage(target=forgets_producers, target_config=kept, source_config=kept)
    hand = stage.hand(0, **SELDOM)
    is_changed = []

    def sending(send, request):
        answer = send(request)
        if isinstance(request, ProduceRequest) and not is_changed:
            is_changed.append(True)
            return changed(answer)
        return answer

    async def changed(answer):
        response = await answer
        await asyncio.to_thread(stage.until_forgotten, hand)
        for _, rows, _ in response.responses:
            rows[:] = [(row[0], int(code), -1, *row[3:]) for row in rows]
        return response

    Sent(hand, sending)
    stage.send(200, first_timestamp_ms=OLD_MS)
    hand.start()
    with suppress(AssertionError):
        hand.until_carried(stage.place)
    assert stage.seen().duplicated == 0
    assert isinstance(hand.failure(), ProducerStateLost)
    stage.to_the_end(0)
    stage.seen().assert_exact()


# -- expired transactional ids


class AnyProducer(FencedTails):
    """Mutation: accepts any producer id for the fence."""

    async def examine(self, partition, entry, holder):
        return await inspection.inspect_target(self.target, partition, entry)


@IN_FORCE
def test_a_producer_that_the_broker_forgot_is_not_taken_for_fenced(make_stage, forgetful, in_force):
    stage = make_stage(target=forgetful)
    zombie = stage.hand(0, **SELDOM).start()
    zombie.until_landed(stage.place, stage.send(1000))
    zombie.freeze()
    stage.until_id_forgotten(zombie)
    makers = MAKERS if in_force else Makers(takeover=partial(Takeover, tails=AnyProducer))
    taker = stage.hand(1, makers=makers).start()
    if in_force:
        assert "forgot the writer" in taker.reason_of(stage.place)
        assert stage.entry.parked is not None
    else:
        taker.until_carried(stage.place)
    stage.send(500)
    zombie.thaw()
    zombie.until_landed(stage.place, 1500)
    if in_force:
        stage.assert_exact()
    else:
        taker.until_carried(stage.place)
        assert stage.seen().duplicated == 500


@IN_FORCE
def test_an_id_is_rotated_before_its_epochs_end(make_stage, in_force):
    stage = make_stage()
    ids = set()
    for _ in range(13):
        hand = stage.hand(0, producer_epoch_max=10 if in_force else 32_000).start()
        hand.until_landed(stage.place, stage.send(10))
        assert hand.producer[1] < 10 or not in_force
        ids.add(stage.entry.transactional_id)
        hand.kill()
    assert len(ids) == (2 if in_force else 1)
    stage.assert_exact()


# -- expired entries


def test_an_idle_partitions_entry_outlives_the_brokers_retention(make_stage, forgetful):
    """Compares two idle partitions, one without the rule; offsets are kept for a minute."""
    renewing = Makers(commit_schedule=partial(CommitSchedule, renew_seconds=1.0))
    kept, lost = make_stage(target=forgetful), make_stage(target=forgetful)
    idle = kept.hand(0, makers=renewing, ledger_seconds=0.5).start()
    idle.until_landed(kept.place, kept.send(100))
    kept.until(lambda: kept.entry.source_offset == 100)
    # This entry is committed after the other one, so that without renewal the other would expire
    # first.
    unrenewed = lost.hand(0, **SELDOM).start()
    unrenewed.until_landed(lost.place, lost.send(100))
    unrenewed.freeze()
    lost.until_entry_forgotten(beside=kept)
    assert kept.entry.custody is Custody.HELD
    assert kept.entry.source_offset == 100
    taker = lost.hand(1).start()
    assert "ledger entry is gone" in taker.reason_of(lost.place)
    lost.assert_exact()
