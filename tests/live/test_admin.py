"""The admin client against real brokers: described topics, applied changes, and errors."""

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from deploy.lab.kafka import KafkaCluster as LabCluster
from deploy.lab.process import free_port
from deploy.lab.wait import until
from replicator.config.security import Security
from replicator.config.settings import TopicSettings
from replicator.config.topology import KafkaCluster, Route
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.admin_error import AdminUnreachable, NotLetIn, Refused
from replicator.kafka.admin.topic_changes import Alter, Create, Grow
from replicator.mirror.topics.topic_plan import plan
from replicator.mirror.topics.topic_sync import Ends, TopicSync
from replicator.mirror.topics.written_log import WrittenLogTopic
from replicator.notices.conditions import Conditions
from tests.live.conftest import ClusterMaker, TopicMaker
from tests.live.topics import alter, delete_configs

ROUTE = Route("west", "east")


def admin_of(lab: LabCluster, **security: object) -> Admin:
    """Returns an admin of the lab's cluster; keywords replace settings of its security table."""
    table = lab.topology_table()
    if security:
        table["security"] = {**lab.credentials.security_table(), **security}
    return Admin(lab.name, KafkaCluster.model_validate(table), timeout_seconds=10)


def test_a_topic_is_described_with_its_id_partitions_and_configs(
    regional: LabCluster, make_topic: TopicMaker
) -> None:
    name = make_topic(regional, partitions=3, config={"retention.ms": "1234567"})
    (topic,) = admin_of(regional).topics([name])
    assert (topic.name, topic.partitions) == (name, 3)
    assert isinstance(topic.topic_id, UUID)
    assert topic.topic_id.int != 0
    assert topic.configs.values["retention.ms"] == "1234567"
    assert "retention.ms" in topic.configs.changed
    assert topic.configs.values["cleanup.policy"] == "delete"
    assert "cleanup.policy" not in topic.configs.changed


def test_a_topic_made_again_has_another_id(regional: LabCluster, make_topic: TopicMaker) -> None:
    name = make_topic(regional)
    admin, client = admin_of(regional), regional.admin()
    (before,) = admin.topics([name])
    client.delete_topics([name])[name].result(10)
    assert until(lambda: not admin.topics([name]), 10)
    admin.apply([Create(name, 1, (), -1)])
    # A broker learns of the topic a moment after the controller has created it.
    assert until(lambda: bool(admin.topics([name])), 10)
    (after,) = admin.topics([name])
    assert after.topic_id != before.topic_id


def test_a_topic_that_is_not_there_is_left_out_and_not_created(regional: LabCluster) -> None:
    admin = admin_of(regional)
    assert admin.topics(["nowhere-to-be-found"]) == []
    assert "nowhere-to-be-found" not in {topic.name for topic in admin.topics()}


def test_internal_topics_are_marked(regional: LabCluster, make_topic: TopicMaker) -> None:
    consumer = Consumer({**regional.librdkafka_options(), "group.id": "marks"})
    where = TopicPartition(make_topic(regional), 0, 0)
    consumer.commit(offsets=[where], asynchronous=False)
    consumer.close()
    internal = {topic.name for topic in admin_of(regional).topics() if topic.is_internal}
    assert internal >= {"__consumer_offsets"}


def test_a_plan_is_carried_out_and_then_nothing_is_left_to_do(
    regional: LabCluster, aggregate: LabCluster, make_topic: TopicMaker
) -> None:
    fresh = make_topic(regional, partitions=4, config={"max.message.bytes": "2000000"})
    grown = make_topic(regional, aggregate, partitions=1, config={"compression.type": "lz4"})
    source, target = admin_of(regional), admin_of(aggregate)
    source.apply([Grow(grown, 3), Alter(grown, (("retention.ms", "-1"),))])
    settings = TopicSettings(allow=(fresh, grown))
    topics = [fresh, grown]

    def planned():
        return plan({ROUTE: source.topics(topics)}, target.topics(topics), settings)

    first = planned()
    assert {type(action) for action in first.actions} == {Create, Grow, Alter}
    assert [outcome.error for outcome in target.apply(first.actions)] == [None] * 3
    # Brokers learn of the changes a moment after the controller has made them.
    assert until(lambda: planned().actions == (), 10)
    second = planned()
    assert {(c.topic, c.partitions) for c in second.carried} == {(fresh, 4), (grown, 3)}
    configs = {topic.name: topic.configs.values for topic in target.topics(topics)}
    assert configs[fresh]["max.message.bytes"] == "2000000"
    assert configs[fresh]["compression.type"] == configs[grown]["compression.type"] == "producer"
    assert configs[grown]["retention.ms"] == "-1"


def test_one_refused_action_keeps_no_other_from_being_done(
    regional: LabCluster, make_topic: TopicMaker
) -> None:
    name = make_topic(regional, partitions=2)
    other = f"{name}-made"
    outcomes = admin_of(regional).apply(
        [
            Create(other, 1, (), -1),
            Create("not a name", 1, (), -1),
            Create(f"{name}-wide", 1, (), 7),
            Grow(name, 1),
            Alter(name, (("retention.ms", "soon"),)),
        ]
    )
    failed = {outcome.action.topic: outcome.error for outcome in outcomes if outcome.error}
    assert set(failed) == {"not a name", f"{name}-wide", name}
    assert all(isinstance(error, Refused) for error in failed.values())
    assert "creating topic 'not a name'" in str(failed["not a name"])
    assert len(outcomes) == 5


def test_creating_what_somebody_else_just_created_is_no_failure(
    regional: LabCluster, make_topic: TopicMaker
) -> None:
    name = make_topic(regional)
    (outcome,) = admin_of(regional).apply([Create(name, 1, (), -1)])
    assert outcome.error is None


def test_configs_follow_what_a_source_sets_and_deletes_again(
    regional: LabCluster, aggregate: LabCluster, make_topic: TopicMaker
) -> None:
    name = make_topic(regional, config={"retention.ms": "1000", "cleanup.policy": ""})
    target = admin_of(aggregate)

    def driver() -> TopicSync:
        ends = Ends(target, {"west": admin_of(regional)}, (ROUTE,), WrittenLogTopic(target))
        topics = TopicSettings(allow=(name,))
        appliance: Any = SimpleNamespace(topics=topics)
        return TopicSync(appliance, "east", Conditions("driver"), ends)

    def values() -> dict[str, str]:
        (topic,) = target.topics([name])
        return dict(topic.configs.values)

    sync = driver()
    sync.round()
    assert values()["cleanup.policy"] == ""
    assert values()["retention.ms"] == "1000"
    assert int(values()["message.timestamp.after.max.ms"]) == 2**63 - 1
    # Overrides are deleted, and a value is lowered, which waits for records: there are none.
    delete_configs(regional, name, "retention.ms", "cleanup.policy")
    alter(regional, name, {"max.message.bytes": "9000"})
    sync = driver()
    sync.round()
    assert values()["retention.ms"] == "-1"  # of the lab's brokers
    assert sync.advance({ROUTE: dict.fromkeys(sync.awaited()[ROUTE], 0)})
    sync.round()
    assert values()["cleanup.policy"] == "delete"
    assert values()["max.message.bytes"] == "9000"
    # One that is set by hand stays, also under the next driver.
    alter(aggregate, name, {"max.message.bytes": "8000"})
    alter(regional, name, {"max.message.bytes": "7000", "segment.ms": "99000"})
    driver().round()
    assert until(lambda: values()["segment.ms"] == "99000", 10)
    assert values()["max.message.bytes"] == "8000"


def test_log_ends_are_read_and_what_is_unknown_is_left_out(
    regional: LabCluster, make_topic: TopicMaker
) -> None:
    name = make_topic(regional, partitions=2)
    producer = Producer(regional.librdkafka_options())
    for number in range(5):
        producer.produce(name, str(number), partition=1)
    producer.flush()
    admin = admin_of(regional)
    partitions = {(name, 0), (name, 1), (name, 7), ("nowhere", 0)}
    assert admin.offsets(partitions, "latest") == {(name, 0): 0, (name, 1): 5}
    assert admin.ends(partitions) == {(name, 0): (0, 0), (name, 1): (5, 0)}, "in leader epoch 0"
    assert admin.offsets(partitions, "earliest") == {(name, 0): 0, (name, 1): 0}


def test_two_clusters_have_two_ids(regional: LabCluster, aggregate: LabCluster) -> None:
    assert admin_of(regional).cluster_id() == admin_of(regional).cluster_id()
    assert admin_of(regional).cluster_id() != admin_of(aggregate).cluster_id()


def test_a_cluster_that_is_not_there_is_named_within_the_timeout() -> None:
    address = f"127.0.0.1:{free_port()}"
    admin = Admin("west regional", KafkaCluster(bootstrap=(address,)), timeout_seconds=2)
    began = time.monotonic()
    with pytest.raises(
        AdminUnreachable, match=f"west regional: connecting: no answer from {address}"
    ):
        admin.topics()
    assert time.monotonic() - began < 5


def test_a_cluster_that_hangs_is_named_within_the_timeout(make_cluster: ClusterMaker) -> None:
    lab = make_cluster("hanging")
    admin = Admin("hanging", KafkaCluster.model_validate(lab.topology_table()), timeout_seconds=3)
    assert admin.topics() == []
    lab.pause()
    began = time.monotonic()
    with pytest.raises(AdminUnreachable, match="hanging: "):
        admin.topics()
    assert time.monotonic() - began < 8
    lab.resume()
    assert admin.topics() == []


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_a_wrong_password_is_called_that_at_once(
    make_cluster: ClusterMaker, tmp_path: Path, mechanism: str
) -> None:
    lab = make_cluster("guarded", security="sasl_plaintext", mechanism=mechanism)
    assert admin_of(lab).topics() == []
    (tmp_path / "wrong").write_text("open sesame")
    began = time.monotonic()
    with pytest.raises(NotLetIn, match="guarded: .*user 'sluice' with the password in .*wrong"):
        admin_of(lab, password_file=tmp_path / "wrong").topics()
    assert time.monotonic() - began < 5


def test_tls_clients_are_let_in_and_strangers_told_why(
    make_cluster: ClusterMaker, tmp_path: Path
) -> None:
    lab = make_cluster("sealed", security="sasl_tls", mechanism="SCRAM-SHA-256")
    assert admin_of(lab).topics() == []
    other = LabCluster("other", tmp_path, security="tls").credentials
    other.write()
    with pytest.raises(NotLetIn, match="sealed: .*TLS failed .*check ca_file"):
        admin_of(lab, ca_file=other.directory / "ca.pem").topics()
    plain = KafkaCluster(bootstrap=tuple(lab.bootstrap.split(",")), security=Security())
    with pytest.raises(AdminUnreachable, match="are address and protocol right"):
        Admin("sealed", plain, timeout_seconds=3).topics()
