"""Tails that hold far more records of other producers than an acquisition has time to read."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Producer

from replicator.kafka.client.cluster import Cluster
from replicator.mirror.carrier.carrier_assembly import Makers
from replicator.mirror.ledger.id_attempts import IdAttempts
from replicator.mirror.ledger.takeover import Takeover
from tests.live.hand import Gate
from tests.live.stage import SELDOM, Stage

OTHERS = 30_000
OTHERS_BYTES = 1000


def others(stage: Stage) -> None:
    """Appends thirty megabytes of another producer's records."""
    producer = Producer(
        {**stage.target.librdkafka_options(), "linger.ms": 5, "batch.num.messages": 20}
    )
    for number in range(OTHERS):
        producer.produce(stage.topic, b"%0*d" % (OTHERS_BYTES, number), partition=0)
        if number % 10_000 == 0:
            producer.flush(30)
    assert producer.flush(30) == 0


def reads_slowly(**collaborators: Any) -> Takeover:
    """Makes the tail take fifteen hundred requests, of which each attempt has time for a few."""
    target: Cluster = collaborators["target"]
    read = target.read

    async def read_little(topic: str, partition: int, offset: int, bytes_max: int) -> bytes:
        return await read(topic, partition, offset, min(bytes_max, 20_000))

    target.read = read_little  # type: ignore[method-assign]
    return Takeover(**collaborators, attempts=IdAttempts(0.4, doublings_max=0))


SLOW = Makers(takeover=reads_slowly)


def test_a_taker_passes_over_others_records_where_the_leader_remembers_the_writer(make_stage):
    stage = make_stage()
    stage.left_behind(0)
    others(stage)
    taker = stage.hand(1, **SELDOM)
    stage.send(500)
    taker.start().until_landed(stage.place, 1500)
    # A fetch returns up to 8 MiB, which are scanned before the rest is skipped.
    assert taker.takeover.bytes_read < OTHERS * OTHERS_BYTES / 2
    assert stage.seen().lost == stage.seen().duplicated == 0


def test_what_lands_while_the_leader_is_asked_is_found_behind_others_records(make_stage):
    stage = make_stage()
    zombie = stage.hand(0, **SELDOM).start()
    zombie.until_landed(stage.place, stage.send(1000))
    others(stage)
    zombie.freeze()
    taker = stage.hand(1, **SELDOM)
    gate = Gate(taker.target, "AddPartitionsToTxn")
    taker.start()
    gate.wait()
    zombie.thaw()
    zombie.until_landed(stage.place, stage.send(500))
    gate.open()
    taker.until_landed(stage.place, 1500)
    assert stage.seen().lost == stage.seen().duplicated == 0


@pytest.mark.core
def test_a_carrier_reads_a_long_tail_once_in_several_attempts(make_stage, forgets_producers):
    stage = make_stage(target=forgets_producers)
    old = stage.left_behind(0)
    others(stage)
    stage.until_forgotten(old)
    stage.hand(1, makers=SLOW, **SELDOM).start().until_landed(stage.place, 1000)
    assert stage.seen().lost == stage.seen().duplicated == 0


@pytest.mark.core
def test_a_loss_is_accepted_although_its_tail_is_long(make_stage, forgets_producers):
    stage = make_stage(target=forgets_producers, source_config={"max.message.bytes": "3000000"})
    old = stage.hand(0, **SELDOM).start()
    old.until_landed(stage.place, stage.send(1000))
    too_large = Producer({**stage.source.librdkafka_options(), "message.max.bytes": 3_000_000})
    too_large.produce(stage.topic, bytes(2_000_000), partition=0)
    assert too_large.flush(30) == 0
    stage.until(lambda: stage.entry.parked is not None)
    old.kill()
    others(stage)
    stage.until_forgotten(old)
    assert stage.carrying.accept(stage.place, makers=SLOW).source_offset == 1001
