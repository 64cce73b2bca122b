"""The clusters, the topic and the load of a compound campaign."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from confluent_kafka.admin import NewTopic

from deploy.lab.kafka import KafkaCluster
from deploy.lab.redis import RedisServer
from deploy.lab.skewed_load import SkewedLoad
from tests.live.campaign import Campaign, half_a_day_old
from tests.live.carrying import Carrying
from tests.live.topics import create, new_name

PARTITIONS = 4
RECORD_BYTES = 200
RECORDS_PER_SECOND = 2000
REPLICAS = 3
JAVA_OPTIONS = ("-XX:TieredStopAtLevel=1",)
"""Brokers that live for seconds: the second compiler costs them more than it saves."""
CARRIER = {"request_timeout_ms": 3000, "drain_seconds": 2.0, "ledger_seconds": 1.0}


@contextmanager
def campaign_ground(directory: Path, min_isr: int) -> Iterator[tuple[Campaign, SkewedLoad]]:
    """A source of one broker and a target of three; the topic has three replicas there."""
    keep = {"log.retention.ms": -1, "unclean.leader.election.enable": False}
    source = KafkaCluster("campaign-source", directory, properties=keep, java_options=JAVA_OPTIONS)
    target = KafkaCluster(
        "campaign-target",
        directory,
        brokers=REPLICAS,
        properties={**keep, "auto.leader.rebalance.enable": False},
        java_options=JAVA_OPTIONS,
    )
    redis = RedisServer(directory)
    with ExitStack() as stack:
        redis.start()
        stack.callback(redis.kill)
        redis.wait_ready()
        stack.enter_context(source)
        stack.enter_context(target)
        topic = new_name("campaign")
        create(source, topic, PARTITIONS)
        target.create_topics(
            NewTopic(topic, PARTITIONS, REPLICAS, config={"min.insync.replicas": str(min_isr)})
        )
        rates = dict.fromkeys(range(PARTITIONS), RECORDS_PER_SECOND * RECORD_BYTES / PARTITIONS)
        load = SkewedLoad(source, topic, rates, RECORD_BYTES, half_a_day_old)
        carrying = stack.enter_context(
            Carrying({"west": source}, target, redis, replication_factor=REPLICAS, **CARRIER)
        )
        carrying.adopt(topic, PARTITIONS)
        yield Campaign(carrying, source, target, topic), load
