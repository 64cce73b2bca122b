"""Carrying over TLS and SASL, with a wrong password, and with a right that is missing at first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from aggregator.driver.cluster_leadership import ClusterLeadership
from deploy.lab.credentials import USERNAME
from deploy.lab.kafka import KafkaCluster
from deploy.lab.traffic import Shape
from deploy.lab.wait import until
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import load
from tests.live import acls, topics
from tests.live.conftest import StageMaker
from tests.live.loop_thread import LoopThread


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """TLS, SCRAM and an authorizer; the lab's user has all rights until they are denied."""
    cluster = KafkaCluster(
        "guarded",
        tmp_path_factory.mktemp("guarded"),
        properties=acls.AUTHORIZER,
        security="sasl_tls",
        mechanism="SCRAM-SHA-512",
    )
    cluster.start()
    try:
        _allow_everything(cluster)
        cluster.wait_ready()
        yield cluster
    finally:
        cluster.kill_all()


def _rule(kind: ResourceType, name: str, permission: AclPermissionType, operation: AclOperation):
    pattern = ResourcePatternType.LITERAL
    return AclBinding(kind, name, pattern, f"User:{USERNAME}", "*", operation, permission)


def _allow_everything(cluster: KafkaCluster) -> None:
    kinds = {
        ResourceType.TOPIC: "*",
        ResourceType.GROUP: "*",
        ResourceType.TRANSACTIONAL_ID: "*",
        ResourceType.BROKER: "kafka-cluster",
    }
    acls.add(
        cluster,
        [_rule(*kind, AclPermissionType.ALLOW, AclOperation.ALL) for kind in kinds.items()],
    )


@pytest.mark.parametrize("end", ["source", "target"])
def test_records_are_carried_over_tls_and_scram(
    make_stage: StageMaker,
    regional: KafkaCluster,
    aggregate: KafkaCluster,
    guarded: KafkaCluster,
    end: str,
) -> None:
    source, target = (guarded, aggregate) if end == "source" else (regional, guarded)
    stage = make_stage(source=source, target=target)
    stage.send(5000, Shape(codec="zstd", batch_records=100))
    stage.to_the_end(0)
    stage.assert_exact()
    assert stage.seen().sent == 5000


def test_a_wrong_password_is_named_with_its_cluster(
    make_stage: StageMaker, guarded: KafkaCluster, caplog: pytest.LogCaptureFixture
) -> None:
    stage = make_stage(target=guarded)
    stage.send(100)
    password = guarded.credentials.directory / "password"
    right = password.read_text()
    password.write_text("wrong\n")
    try:
        stage.carrying.begin()
        stage.until(lambda: "refuses the credentials" in caplog.text)
        assert stage.carrying.routes["west"].target in caplog.text
        assert "password_file" in caplog.text
    finally:
        password.write_text(right)
    stage.until(lambda: stage.entry.source_offset == 100)
    stage.carrying.stop()
    stage.assert_exact()


MISSING = {
    "read the source topic": (ResourceType.TOPIC, AclOperation.READ, "source"),
    "write the target topic": (ResourceType.TOPIC, AclOperation.WRITE, "target"),
    "commit in the ledger's group": (ResourceType.GROUP, AclOperation.READ, "target"),
    "use the transactional id": (ResourceType.TRANSACTIONAL_ID, AclOperation.WRITE, "target"),
}
ERRORS = {
    ResourceType.TOPIC: "TOPIC_AUTHORIZATION_FAILED",
    ResourceType.GROUP: "GROUP_AUTHORIZATION_FAILED",
    ResourceType.TRANSACTIONAL_ID: "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
}


@pytest.mark.parametrize("right", MISSING)
def test_a_missing_right_is_named_and_once_granted_the_route_goes_on(
    make_stage: StageMaker,
    regional: KafkaCluster,
    aggregate: KafkaCluster,
    guarded: KafkaCluster,
    caplog: pytest.LogCaptureFixture,
    right: str,
) -> None:
    kind, operation, end = MISSING[right]
    source, target = (guarded, aggregate) if end == "source" else (regional, guarded)
    stage = make_stage(source=source, target=target)
    stage.send(100)
    key = stage.carrying.routes["west"].key
    names = {
        ResourceType.TOPIC: [stage.topic],
        ResourceType.GROUP: [f"sluice.{key}.{k}" for k in range(4)],
        ResourceType.TRANSACTIONAL_ID: [f"sluice.{key}.0"],
    }[kind]
    deny = [_rule(kind, name, AclPermissionType.DENY, operation) for name in names]
    acls.add(guarded, deny)
    stage.carrying.begin()
    stage.until(lambda: ERRORS[kind] in caplog.text)
    assert stage.entry.source_offset == 0
    acls.remove(guarded, deny)
    stage.until(lambda: stage.entry.source_offset == 100)
    stage.carrying.stop()
    stage.assert_exact()


def test_a_source_topic_that_may_not_be_described_is_no_deleted_one(
    make_stage: StageMaker,
    aggregate: KafkaCluster,
    guarded: KafkaCluster,
    caplog: pytest.LogCaptureFixture,
) -> None:
    stage = make_stage(source=guarded, target=aggregate)
    stage.send(100)
    stage.carrying.carry_all()
    assert stage.entry.source_topic
    stage.send(100)
    deny = _rule(ResourceType.TOPIC, stage.topic, AclPermissionType.DENY, AclOperation.DESCRIBE)
    acls.add(guarded, [deny])
    stage.carrying.begin()
    stage.until(lambda: "event=waiting" in caplog.text)
    assert "grant Describe" in caplog.text and stage.topic in caplog.text
    assert (stage.entry.source_offset, stage.entry.parked) == (100, None)
    acls.remove(guarded, [deny])
    stage.until(lambda: stage.entry.source_offset == 200)
    stage.carrying.stop()
    assert "event=parked" not in caplog.text
    stage.assert_exact()


def test_a_topic_that_may_not_be_read_is_named_and_the_others_of_its_feed_are_loaded(
    guarded: KafkaCluster, tmp_path: Path
) -> None:
    name = topics.new_name("guarded")
    for end in ("a", "b"):
        topics.create(guarded, f"{name}-{end}")
    table = guarded.topology_table()
    security = ", ".join(f"{name} = {json.dumps(it)}" for name, it in table["security"].items())
    rule = _rule(ResourceType.TOPIC, f"{name}-b", AclPermissionType.DENY, AclOperation.READ)
    # No feed needs the configs of its topics, or of others.
    hidden = AclOperation.DESCRIBE_CONFIGS
    configs = _rule(ResourceType.TOPIC, f"{name}-a", AclPermissionType.DENY, hidden)
    path = tmp_path / "appliance.toml"
    path.write_text(
        f"""
[regions.east]
redis = "redis://127.0.0.1:1"
regional.bootstrap = ["127.0.0.1:1"]
aggregate.bootstrap = {json.dumps(table["bootstrap"])}
aggregate.security = {{ {security} }}
[feeds.lake]
kind = "s3"
region = "east"
clusters = ["east aggregate"]
topics = ["{name}-a", "{name}-b"]
bucket = "air"
"""
    )
    appliance, loop = load(path), LoopThread()
    cluster = ClusterName("east aggregate")
    leadership = ClusterLeadership(appliance, "east", cluster, [appliance.feed("lake")])

    def loaded() -> list[str]:
        found = loop.wait(leadership.partitions())
        return [place.topic for place in found["lake"]]

    try:
        loop.wait(leadership.prepare())
        loop.wait(leadership.acquire())
        acls.add(guarded, [rule, configs])
        assert until(lambda: loaded() == [f"{name}-a"], 30)
        assert [*leadership.left_out] == [("lake", f"{name}-b")]
        acls.remove(guarded, [rule])
        assert until(lambda: loaded() == [f"{name}-a", f"{name}-b"], 30)
        assert not leadership.left_out
    finally:
        acls.remove(guarded, [configs])
        loop.settle()
        loop.wait(leadership.close())
        loop.disconnect()
        loop.close()
