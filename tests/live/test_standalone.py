"""A standalone Spark cluster: its executors follow the plans, and a host with twice the task slots
carries twice the records."""

import time

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as KafkaTopicPartition

from balancer.topic_partition import TopicPartition
from deploy.lab.skewed_load import SkewedLoad
from deploy.lab.spark_cluster import SparkCluster
from deploy.lab.wait import until
from replicator.config.topology import load
from replicator.orders.balance_log import BalanceLog, Publisher
from replicator.orders.order_records import Placed, by_carrier
from tests.live.arrived import has_arrived
from tests.live.replicate_daemon import Region, region  # noqa: F401

pytestmark = pytest.mark.timeout(900)
# ruff: noqa: F811

PARTITIONS = 6
WORKERS = (2, 1)
LAG_SECONDS = 180.0
"""Limit for a start's lag to be made up, on busy cores that carriers and load share."""
IDLE = "spark.dynamicAllocation.executorIdleTimeout=3s"


class Placing:
    """Placements that the test writes itself."""

    def __init__(self, where: Region) -> None:
        cluster = load(where.directory / "appliance.toml").region(where.name).aggregate
        BalanceLog("test", cluster).make_topic()
        self._publisher = Publisher("test", cluster, where.name)
        self._publisher.open()
        self._route, self._generation = f"west.{where.name}", 0

    def place(self, topic: str, carriers: int) -> None:
        """Places the topic's partitions evenly on the carriers."""
        self._generation += 1
        where = {TopicPartition(topic, number): number % carriers for number in range(PARTITIONS)}
        placed = Placed(
            route=self._route,
            stream="default",
            at_ms=int(time.time() * 1000),
            who="test",
            generation=self._generation,
            carriers=tuple(range(carriers)),
            topics=by_carrier(where.items()),
        )
        self._publisher.publish([placed])


@pytest.fixture
def spark(tmp_path):
    with SparkCluster(tmp_path / "spark", WORKERS) as cluster:
        yield cluster


def test_executors_come_and_go_with_the_plans_and_twice_the_slots_carry_twice_the_records(
    region, spark, regional, aggregate, make_topic
):
    topic = make_topic(regional, partitions=PARTITIONS, name=region.topics)
    conf = (*spark.authentication, *spark.dynamic_allocation, IDLE)
    daemon = region.start(master=spark.url, conf=conf)
    placing = Placing(region)
    rates = dict.fromkeys(range(PARTITIONS), 20_000.0)
    with SkewedLoad(regional, topic, rates):
        placing.place(topic, 1)
        daemon.hear("event=plan .* carriers=1 ")
        assert until(lambda: sum(spark.executors().values()) == 1, 90, 0.5)
        placing.place(topic, 3)
        assert until(lambda: list(spark.executors().values()) == list(WORKERS), 90, 0.5)
        assert until(lambda: list(map(len, spark.carriers())) == list(WORKERS), 90, 0.5)
        # Records in flight at the start and the end of the count are few compared to the total.
        assert until(lambda: lag(regional, aggregate, topic) < PARTITIONS * 20, LAG_SECONDS, 0.5)
        before = ends(aggregate, topic)
        assert until(lambda: sum(ends(aggregate, topic)) - sum(before) > 5000, 60, 0.5)
        assert until(lambda: lag(regional, aggregate, topic) < PARTITIONS * 20, LAG_SECONDS, 0.5)
        after = ends(aggregate, topic)
        hosts = [
            sum(after[p] - before[p] for p in range(PARTITIONS) if p % 3 in carriers)
            for carriers in spark.carriers()
        ]
        assert hosts[0] / hosts[1] == pytest.approx(2, rel=0.1)
        placing.place(topic, 1)
        assert until(lambda: sum(spark.executors().values()) == 1, 90, 0.5)
    assert until(lambda: has_arrived(regional, aggregate, topic), 60, 0.5)
    daemon.signal()
    assert daemon.ended() == 0


def ends(cluster, topic):
    consumer = Consumer({**cluster.librdkafka_options(), "group.id": "ends"})
    try:
        return [
            consumer.get_watermark_offsets(KafkaTopicPartition(topic, p))[1]
            for p in range(PARTITIONS)
        ]
    finally:
        consumer.close()


def lag(regional, aggregate, topic):
    return sum(ends(regional, topic)) - sum(ends(aggregate, topic))
