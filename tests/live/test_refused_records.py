"""Records that the target refuses are named and, once accepted, left out; all others arrive."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from types import SimpleNamespace

import pytest
from confluent_kafka import Producer

from deploy.lab.dump import dump
from deploy.lab.kafka import KafkaCluster as LabCluster
from deploy.lab.traffic import Shape, TrafficRecord, send
from replicator.config.settings import TopicSettings
from replicator.config.topology import KafkaCluster
from replicator.kafka.admin.admin import Admin
from replicator.mirror.carrier.carrier_assembly import Makers
from replicator.mirror.carrier.commit_schedule import CommitSchedule
from replicator.mirror.topics.topic_sync import Ends, TopicSync
from replicator.notices.conditions import Conditions
from tests.live.both_ends import stable_ends
from tests.live.stage import Stage
from tests.live.topics import alter

OLD_MS = 1_357_000_000_000
KEPT = {"retention.ms": "-1"}
ACCEPTED_MAX = 8


def admin(cluster: LabCluster) -> Admin:
    return Admin(cluster.name, KafkaCluster.model_validate(cluster.topology_table()))


def parks_at_once(*args, **parts):
    """Parks a record that is too large without waiting for a higher limit."""
    return CommitSchedule(*args, **{**parts, "limit_seconds": 0.0})


def keyed(numbers: Iterable[int], keyless: Iterable[int] = ()) -> list[TrafficRecord]:
    without = set(keyless)
    return [TrafficRecord(0, None if n in without else b"%d" % n, b"value %d" % n) for n in numbers]


def prints(stage: Stage) -> tuple[list[int], list[int]]:
    """Returns the fingerprints of the source's and of the target's records, in order."""
    both = (dump(end, stage.topic, "read_uncommitted")[0] for end in (stage.source, stage.target))
    source, target = (each.prints.tolist() for each in both)
    return source, target


def assert_all_but(stage: Stage, refused: Iterable[int]) -> None:
    source, target = prints(stage)
    left_out = set(refused)
    assert target == [p for offset, p in enumerate(source) if offset not in left_out]


def accepted_in_turn(stage: Stage) -> list[str]:
    """Accepts the losses that park the partition until all is carried; returns them in order."""
    carrying, losses = stage.carrying, []

    def is_parked_or_carried() -> bool:
        entry, ends = stage.entry, stable_ends(stage.source, {stage.topic: 1})
        return entry.parked is not None or entry.source_offset >= ends[stage.place]

    while len(losses) < ACCEPTED_MAX:
        carrying.until(is_parked_or_carried)
        if stage.entry.parked is None:
            break
        losses += carrying.accept(stage.place).losses
    return losses


@pytest.mark.parametrize(
    "batch_records",
    [pytest.param(1000, marks=pytest.mark.core), 30],
    ids=["one batch", "many batches"],
)
def test_keyless_records_of_a_topic_made_compacted_are_left_out_and_no_others(
    make_stage, batch_records
):
    stage = make_stage()
    refused = [3, *range(300, 400), 999]
    shape = Shape(codec="lz4", batch_records=batch_records)
    send(stage.source, stage.topic, keyed(range(1000), refused), shape)
    alter(stage.target, stage.topic, {"cleanup.policy": "compact"})
    stage.carrying.begin()
    losses = accepted_in_turn(stage)
    assert [loss.partition(": INVALID_RECORD")[0] for loss in losses] == [
        f"target refuses the records: source offsets [{begin}, {end})"
        for begin, end in ((3, 4), (300, 400), (999, 1000))
    ]
    stage.carrying.stop()
    assert_all_but(stage, refused)


def test_a_policy_that_is_set_back_lets_the_refused_records_through(make_stage):
    stage = make_stage()
    send(stage.source, stage.topic, keyed(range(100), [50]), Shape())
    alter(stage.target, stage.topic, {"cleanup.policy": "compact"})
    stage.carrying.begin()
    reason = stage.carrying.until_parked(stage.place)
    assert "source offsets [50, 51)" in reason
    alter(stage.target, stage.topic, {"cleanup.policy": "delete"})
    with pytest.raises(ValueError, match="--restart-at 49 is not"):
        stage.carrying.accept(stage.place, restart_at=49)
    assert stage.carrying.accept(stage.place, restart_at=50).losses == ()
    stage.carrying.until_carried()
    stage.carrying.stop()
    assert_all_but(stage, ())


def test_large_records_under_a_lowered_limit_are_left_out_and_no_others(make_stage):
    stage = make_stage()
    noise = random.Random(1)
    large = {400, 401, 402, 700}
    stage.carrying.begin()
    stage.carrying.until_carried()
    alter(stage.target, stage.topic, {"max.message.bytes": "20000"})
    traffic = [
        TrafficRecord(0, b"%d" % n, noise.randbytes(30_000 if n in large else 200))
        for n in range(1000)
    ]
    send(stage.source, stage.topic, traffic, Shape(codec="zstd", batch_records=1000))
    losses = accepted_in_turn(stage)
    assert [loss.partition(": MESSAGE_TOO_LARGE")[0] for loss in losses] == [
        "target refuses the records: source offsets [400, 403)",
        "target refuses the records: source offsets [700, 701)",
    ]
    stage.carrying.stop()
    assert_all_but(stage, large)


def test_records_older_than_the_target_allows_are_left_out_and_no_others(make_stage):
    stage = make_stage(
        source_config=KEPT,
        target_config={**KEPT, "message.timestamp.before.max.ms": str(86_400_000)},
    )
    now_ms = int(time.time() * 1000)
    old = {10, 11, 12}
    traffic = [
        TrafficRecord(0, b"k", b"%d" % n, timestamp_ms=OLD_MS + n if n in old else now_ms + n)
        for n in range(100)
    ]
    send(stage.source, stage.topic, traffic, Shape(codec="zstd"))
    stage.carrying.begin()
    (loss,) = accepted_in_turn(stage)
    assert loss.startswith("target refuses the records: source offsets [10, 13): INVALID_TIMESTAMP")
    stage.carrying.stop()
    assert_all_but(stage, old)


def test_a_record_that_its_source_took_before_it_lowered_its_limit_is_carried(make_stage):
    """It parks its partition, the driver raises the target's limit, and it goes on by itself."""
    stage = make_stage(source_config={"max.message.bytes": "3000000"})
    large = Producer({**stage.source.librdkafka_options(), "message.max.bytes": 3_000_000})
    for value in (b"before", random.Random(1).randbytes(2_000_000), b"behind"):
        large.produce(stage.topic, value, partition=0)
        assert large.flush(30) == 0
    alter(stage.source, stage.topic, {"max.message.bytes": "900000"})
    (route,), (ledger,) = stage.carrying.routes.values(), stage.carrying.ledgers.values()
    topics = TopicSync(
        SimpleNamespace(topics=TopicSettings(allow=(stage.topic,))),
        stage.carrying.home,
        Conditions("driver"),
        Ends(admin(stage.target), {route.source: admin(stage.source)}, (route,)),
    )
    topics.round()
    makers = Makers(commit_schedule=parks_at_once)
    first = stage.hand(0, makers=makers, max_message_bytes=topics.limits).start()
    assert "source offsets [1, 2)" in first.reason_of(stage.place)
    topics.round(stage.carrying.wait(ledger.needs([stage.place])))
    assert topics.limits[stage.topic] > 2_000_000
    first.finish()
    stage.to_the_end(1, max_message_bytes=topics.limits)
    assert_all_but(stage, ())
