"""`sluice audit` on real clusters: it finds every difference between both ends, and no other."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as KafkaTopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from redis import Redis

from deploy.lab.kafka import KafkaCluster
from deploy.lab.process import free_port
from deploy.lab.redis import RedisServer
from deploy.lab.traffic import Shape, TrafficRecord, records, send
from deploy.lab.wait import until
from replicator.audit.kept_audits import KeptAudits
from replicator.audit.record_counts import COMPACTED, EXPIRED, GONE, RUNS_UNKNOWN, UNORDERED
from replicator.audit.verdict import Verdict
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import KafkaCluster as Settings
from replicator.notices.notice_store import NoticeStore
from tests.live.audited import BY, auditor, configuration
from tests.live.carrying import Carrying
from tests.live.conftest import Carry, StageMaker
from tests.live.failover_command import Sluice
from tests.live.stage import COMPACTED as COMPACTED_TOPIC
from tests.live.topics import create, new_name
from tui.commands.exit_codes import ExitCode

SHAPES = {
    "plain": Shape(),
    "compressed": Shape(codec="zstd", batch_records=50),
    "opened and packed anew": Shape(codec="lz4", batch_records=1, linger_ms=0),
    "transactional": Shape(codec="lz4", batch_records=20, transaction_records=40, abort_every=3),
}


# -- equal


@pytest.mark.parametrize("shape", SHAPES.values(), ids=list(SHAPES))
def test_what_carriers_mirrored_is_equal_at_every_depth(
    regional: KafkaCluster,
    aggregate: KafkaCluster,
    make_topic: Any,
    carry: Carry,
    sluice: Sluice,
    tmp_path: Path,
    shape: Shape,
) -> None:
    topic = make_topic(regional, aggregate, partitions=3)
    carrying = carry(regional, aggregate)
    carrying.adopt(topic, 3)
    carrying.begin()
    sent = send(regional, topic, records(2000, partitions=3, origin="a"), shape)
    carrying.until_carried()
    sent += send(regional, topic, records(1000, partitions=3, origin="b"), shape)
    carrying.until_carried()
    carrying.stop()
    audit = auditor(sluice, carrying, tmp_path)
    for by in BY:
        code, rows = audit(topic, *by)
        assert code == ExitCode.DONE, rows
        assert [(row["partition"], row["verdict"]) for row in rows] == [
            (n, "equal") for n in range(3)
        ]
        assert sum(row["source_records"] for row in rows) == sent
        assert sum(row["target_records"] for row in rows) == sent
        if by[1] == "bytes":
            assert all(row["source_bytes"] == row["target_bytes"] > 0 for row in rows)
        assert {row["route"] for row in rows} == {r.name for r in carrying.routes.values()}


def test_two_sources_that_interleave_in_one_partition_are_each_equal(
    regional: KafkaCluster,
    east: KafkaCluster,
    aggregate: KafkaCluster,
    redis: RedisServer,
    sluice: Sluice,
    tmp_path: Path,
) -> None:
    topic = new_name("interleaved")
    for cluster in (regional, east, aggregate):
        create(cluster, topic)
    with Carrying({"west": regional, "east": east}, aggregate, redis) as carrying:
        carrying.adopt(topic)
        carrying.begin()
        for turn in range(6):
            send(regional, topic, records(100, origin=f"w{turn}"), Shape(codec="gzip"))
            send(east, topic, records(70, origin=f"e{turn}"), Shape(transaction_records=20))
            carrying.until_carried()
        carrying.stop()
        audit = auditor(sluice, carrying, tmp_path)
        for by in BY:
            code, rows = audit(topic, *by)
            assert code == ExitCode.DONE, rows
            assert [row["source_records"] for row in rows] == [420, 600]
            assert {(row["verdict"], row["foreign"]) for row in rows} == {("equal", 0)}
        # An audit of a single route does not count the other route's records as foreign.
        code, (row,) = audit(topic, "--by", "bytes", "--route", carrying.routes["west"].name)
        assert (code, row["foreign"], row["source_records"]) == (ExitCode.DONE, 0, 600)


def test_a_foreign_producers_records_are_named_and_disturb_nothing(
    make_stage: StageMaker, sluice: Sluice, tmp_path: Path
) -> None:
    stage = make_stage()
    stage.send(300)
    stage.carrying.carry_all()
    stage.foreign(10)
    stage.send(300)
    stage.carrying.carry_all()
    audit = auditor(sluice, stage.carrying, tmp_path)
    for by in BY:
        code, (row,) = audit(stage.topic, *by)
        assert (code, row["verdict"], row["target_records"]) == (ExitCode.DONE, "equal", 600)
        assert row["foreign"] == 10


@pytest.mark.core
def test_only_records_of_the_window_count(
    make_stage: StageMaker, sluice: Sluice, tmp_path: Path
) -> None:
    stage = make_stage()
    hours_ago_ms = int(time.time() - 2 * 3600) * 1000
    stage.send(500, first_timestamp_ms=hours_ago_ms)
    stage.send(40)
    stage.carrying.carry_all()
    audit = auditor(sluice, stage.carrying, tmp_path)
    for by in BY:
        code, (row,) = audit(stage.topic, *by)
        assert (code, row["verdict"], row["source_records"]) == (ExitCode.DONE, "equal", 40)
        _, (row,) = audit(stage.topic, *by, since="3h")
        assert (row["verdict"], row["source_records"]) == ("equal", 540)
        _, (row,) = audit(stage.topic, *by, "--until", "1h", since="3h")
        assert (row["verdict"], row["source_records"]) == ("equal", 500)


def test_a_source_that_stamps_records_itself_is_equal_down_to_the_times_it_gave(
    make_stage: StageMaker, sluice: Sluice, tmp_path: Path
) -> None:
    stage = make_stage(source_config={"message.timestamp.type": "LogAppendTime"})
    stage.send(200, Shape(codec="gzip", batch_records=50), first_timestamp_ms=1_000_000_000_000)
    stage.carrying.carry_all()
    code, (row,) = auditor(sluice, stage.carrying, tmp_path)(stage.topic, "--by", "bytes")
    assert (code, row["verdict"], row["source_records"]) == (ExitCode.DONE, "equal", 200)


def test_what_follows_a_record_from_the_future_belongs_to_no_window_and_that_is_said(
    make_stage: StageMaker, sluice: Sluice, tmp_path: Path
) -> None:
    stage = make_stage()
    stage.send(10)
    future = TrafficRecord(0, b"from", b"the future", timestamp_ms=int(time.time() + 1800) * 1000)
    send(stage.source, stage.topic, [future])
    stage.send(10)
    stage.carrying.carry_all()
    code, (row,) = auditor(sluice, stage.carrying, tmp_path)(stage.topic)
    assert (code, row["verdict"]) == (ExitCode.PARTLY_DONE, "incomplete")
    assert row["not_compared"] == {UNORDERED: 11}
    assert "source offset 10 has the time" in row["notes"][0]


# -- behind


def test_what_is_not_mirrored_yet_is_behind_and_not_missing(
    make_stage: StageMaker, sluice: Sluice, tmp_path: Path
) -> None:
    stage = make_stage()
    stage.send(100)
    stage.carrying.carry_all()
    stage.send(7)
    audit = auditor(sluice, stage.carrying, tmp_path)
    for by in BY:
        code, (row,) = audit(stage.topic, *by)
        assert (code, row["verdict"]) == (ExitCode.DONE, "behind")
        assert (row["behind"], row["missing"], row["target_records"]) == (7, 0, 100)


def test_records_behind_an_open_transaction_are_held_back_and_nothing_is_missing(
    make_stage: StageMaker, sluice: Sluice, tmp_path: Path
) -> None:
    stage = make_stage()
    stage.send(20)
    producer = Producer(
        {**stage.source.librdkafka_options(), "transactional.id": stage.topic, "linger.ms": 0}
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(stage.topic, b"open", partition=0)
    assert producer.flush(30) == 0
    stage.send(5)
    stage.carrying.carry_all()
    audit = auditor(sluice, stage.carrying, tmp_path)
    code, (row,) = audit(stage.topic)
    assert (code, row["verdict"], row["held_back"]) == (ExitCode.DONE, "behind", 6)
    producer.commit_transaction(30)
    stage.carrying.carry_all()
    code, (row,) = audit(stage.topic)
    assert (row["verdict"], row["source_records"]) == ("equal", 26)


# -- incomplete


def test_what_the_target_deleted_is_not_compared_and_not_called_missing(
    make_stage: StageMaker, sluice: Sluice, tmp_path: Path
) -> None:
    stage = make_stage()
    stage.send(100)
    stage.carrying.carry_all()
    stage.delete_target_records(30)
    audit = auditor(sluice, stage.carrying, tmp_path)
    for by in BY:
        code, (row,) = audit(stage.topic, *by)
        assert (code, row["verdict"]) == (ExitCode.PARTLY_DONE, "incomplete")
        assert (row["not_compared"], row["missing"]) == ({EXPIRED: 30}, 0)
        assert (row["source_records"], row["target_records"]) == (100, 70)


def test_what_the_source_deleted_is_not_compared_and_not_called_surplus(
    make_stage: StageMaker, sluice: Sluice, tmp_path: Path
) -> None:
    stage = make_stage()
    stage.send(100)
    stage.carrying.carry_all()
    admin, where = stage.source.admin(), KafkaTopicPartition(stage.topic, 0, 30)
    admin.delete_records([where])[where].result(30)
    audit = auditor(sluice, stage.carrying, tmp_path)
    for by in BY:
        code, (row,) = audit(stage.topic, *by)
        assert (code, row["verdict"]) == (ExitCode.PARTLY_DONE, "incomplete")
        assert (row["not_compared"], row["surplus"]) == ({GONE: 30}, 0)


def test_a_hole_in_the_target_is_the_cleaners_work_where_it_compacts_and_else_a_loss(
    make_stage: StageMaker, sluice: Sluice, tmp_path: Path
) -> None:
    stage = make_stage(target_config=COMPACTED_TOPIC)
    stage.send(100, keys=40)
    stage.carrying.carry_all()
    stage.compact_target(left=40)
    audit = auditor(sluice, stage.carrying, tmp_path)
    for by in BY[1:]:
        code, (row,) = audit(stage.topic, *by)
        assert (code, row["verdict"]) == (ExitCode.PARTLY_DONE, "incomplete")
        assert row["not_compared"] == {COMPACTED: 60}
    _configure(stage.target, stage.topic, "cleanup.policy", "delete")
    for by in BY[1:]:
        code, (row,) = audit(stage.topic, *by)
        assert (code, row["verdict"], row["missing"]) == (ExitCode.DIFFERENT, "missing", 60)
        assert row["examples"] == ["missing: source offsets 0..59"]


def test_records_whose_runs_redis_has_lost_are_not_compared(
    make_stage: StageMaker, sluice: Sluice, tmp_path: Path, redis: RedisServer
) -> None:
    stage = make_stage()
    stage.send(50)
    stage.carrying.carry_all()
    _flush(redis)
    audit = auditor(sluice, stage.carrying, tmp_path)
    code, (row,) = audit(stage.topic)
    assert (code, row["verdict"]) == (ExitCode.PARTLY_DONE, "incomplete")
    assert row["not_compared"] == {RUNS_UNKNOWN: 50}


# -- refused


def test_a_topic_that_is_not_mirrored_is_refused_and_those_that_are_get_named(
    make_stage: StageMaker, sluice: Sluice, tmp_path: Path
) -> None:
    stage = make_stage()
    config = configuration(stage.carrying, tmp_path)
    code, out, err = sluice("audit", "--config", config, "--topic", "no-such")
    assert (code, out) == (ExitCode.USAGE, "")
    assert f"no topic 'no-such' is mirrored on {stage.route.name}; known: " in err


def test_a_cluster_that_is_away_is_named_with_its_exit_code(
    make_stage: StageMaker, sluice: Sluice, tmp_path: Path
) -> None:
    stage = make_stage()
    nobody = Settings.model_validate({"bootstrap": [f"127.0.0.1:{free_port()}"]})
    for name in (
        ClusterName.regional(stage.route.source),
        ClusterName.aggregate(stage.route.target),
    ):
        config = configuration(stage.carrying, tmp_path, {name: nobody})
        code, out, err = sluice(
            "audit", "--config", config, "--topic", stage.topic, "--timeout", "3", "-o", "json"
        )
        assert code == ExitCode.UNREACHABLE
        told = json.loads(out)
        assert told["rows"] == []
        assert len(told["problems"]) == 1
        assert name in told["problems"][0] and name in err


def _configure(cluster: KafkaCluster, topic: str, name: str, value: str) -> None:
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    asked = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = cluster.admin()
    admin.incremental_alter_configs([asked])[asked].result(30)

    def is_set() -> bool:
        described = ConfigResource(ResourceType.TOPIC, topic)
        told = admin.describe_configs([described])[described].result(30)
        return bool(told[name].value == value)

    assert until(is_set, 30)


def _flush(redis: RedisServer) -> None:
    with Redis.from_url(redis.url) as client:
        client.flushall()


# -- what is kept


def test_verdicts_are_kept_and_become_events_unless_the_operator_says_no(
    regional: KafkaCluster,
    aggregate: KafkaCluster,
    make_topic: Any,
    carry: Carry,
    sluice: Sluice,
    tmp_path: Path,
) -> None:
    topic = make_topic(regional, aggregate, partitions=2)
    carrying = carry(regional, aggregate)
    carrying.adopt(topic, 2)
    carrying.begin()
    send(regional, topic, records(100, partitions=2, origin="a"))
    carrying.until_carried()
    carrying.stop()
    audit = auditor(sluice, carrying, tmp_path)
    (route,) = carrying.routes.values()
    url = carrying.appliance.region(route.target).redis_url()
    with KeptAudits(url) as kept, NoticeStore(url, route.target) as notices:
        audit(topic, "--no-keep")
        assert (kept.of(route), notices.events(10)) == ([], [])
        audit(topic)
        (verdict,) = kept.of(route)
        assert (verdict.worst, dict(verdict.counts)) == (Verdict.EQUAL, {"equal": 2})
        ((_, event),) = notices.events(10)
        assert (event.kind, event.result) == ("audit", "equal")
        assert event.text == f"{route}: partitions: 2 equal"
