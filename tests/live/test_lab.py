"""The lab's servers behave as the tests need."""

from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from redis import Redis

from deploy.lab.kafka import KafkaCluster
from deploy.lab.lab import AlreadyUp, Lab, running, take_down
from deploy.lab.redis import RedisServer


def give_and_take(cluster: KafkaCluster, topic: str) -> bytes | None:
    """Produces a record with acks=all and reads it back."""
    producer = Producer({**cluster.librdkafka_options(), "acks": "all"})
    producer.produce(topic, b"value", partition=0)
    assert producer.flush(30) == 0
    consumer = Consumer({**cluster.librdkafka_options(), "group.id": "lab"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    message = consumer.poll(30)
    consumer.close()
    assert message is not None and message.error() is None
    return message.value()


def test_both_shared_clusters_keep_records(regional, aggregate, make_topic):
    topic = make_topic(regional, aggregate, partitions=2)
    assert give_and_take(regional, topic) == b"value"
    assert give_and_take(aggregate, topic) == b"value"


@pytest.mark.parametrize(
    "options",
    [
        {"security": "tls"},
        {"security": "tls", "client_certificates": True},
        {"security": "sasl_plaintext", "mechanism": "PLAIN"},
        {"security": "sasl_tls", "mechanism": "SCRAM-SHA-256"},
        {"security": "sasl_tls", "mechanism": "SCRAM-SHA-512"},
    ],
    ids=lambda options: "-".join(map(str, options.values())),
)
def test_a_secured_cluster_lets_its_clients_in(make_cluster, make_topic, options):
    cluster = make_cluster("secured", **options)
    assert give_and_take(cluster, make_topic(cluster)) == b"value"


def test_a_cluster_of_three_takes_writes_while_one_broker_is_dead(make_cluster, make_topic):
    cluster = make_cluster("three", brokers=3)
    topic = make_topic(cluster)
    assert give_and_take(cluster, topic) == b"value"
    cluster.kill(1)
    assert give_and_take(cluster, topic) == b"value"
    cluster.restart(1)
    cluster.wait_ready()


def test_a_killed_broker_comes_back_with_its_records(make_cluster, make_topic):
    cluster = make_cluster("one", properties={"log.retention.ms": 60_000})
    topic = make_topic(cluster)
    give_and_take(cluster, topic)
    cluster.kill()
    cluster.restart()
    cluster.wait_ready()
    consumer = Consumer({**cluster.librdkafka_options(), "group.id": "lab"})
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=30) == (0, 1)
    consumer.close()


def test_a_redis_keeps_its_data_over_a_stop(tmp_path: Path):
    server = RedisServer(tmp_path)
    for expected in (1, 2):
        server.start()
        server.wait_ready()
        with Redis.from_url(server.url) as client:
            assert client.incr("starts") == expected
        server.stop()


def test_two_regions_come_up_and_go_down_and_leave_nothing_running(tmp_path: Path):
    lab = Lab(tmp_path / "lab", detached=True)
    try:
        lab.start()
        servers = running(lab.directory)
        assert len(servers) == 6
        with pytest.raises(AlreadyUp):
            Lab(tmp_path / "lab").start()
        # `make lab-down` does the same in another process, which did not start the servers.
        assert take_down(lab.directory) == 6
        assert not any(server.is_running() for server in servers)
    finally:
        lab.stop()
