"""The world answers as the contract says; tests/live/test_world_contract.py asks real brokers."""

from __future__ import annotations

import asyncio
import random

import pytest

from replicator.config.topology import KafkaCluster
from replicator.kafka.client.cluster import Cluster
from tests.world import world
from tests.world.contracts.dialogue import Dialogue
from tests.world.contracts.parts import PARTS, Part
from tests.world.contracts.world_operator import WorldOperator
from tests.world.kafka import kafka_cluster
from tests.world.kafka.progress_retention import DESCRIBE_CONFIGS
from tests.world.kafka.requests import SERVED
from tests.world.kafka.transactional_ids import forget_ids
from tests.world.virtual_loop import VirtualLoop, run

TOPIC = "contract"
PRODUCER_EXPIRY_SECONDS, ID_EXPIRY_SECONDS = 1.5, 6.0
API_VERSIONS = 18
PLAYED = [(name, brokers) for name, part in PARTS.items() for brokers in part.brokers]


def test_each_api_that_a_broker_lists_has_a_handler() -> None:
    """DescribeConfigs is answered in histories of rests alone."""
    assert {*world.HANDLERS, API_VERSIONS, DESCRIBE_CONFIGS} == SERVED


@pytest.mark.parametrize(("name", "brokers"), PLAYED)
def test_the_world_answers_as_the_contract_says(name: str, brokers: int) -> None:
    random.seed(brokers)

    async def main(loop: VirtualLoop) -> None:
        part = PARTS[name]
        cluster = _cluster_for(part, world.World(loop, brokers).cluster("east", brokers))
        if name == "expiry":
            cluster.producer_expiry_seconds = PRODUCER_EXPIRY_SECONDS
            forgetting = loop.create_task(_keep_forgetting(cluster))
        client = Cluster("east", KafkaCluster.model_validate({"bootstrap": cluster.bootstrap}))
        await client.open([TOPIC])
        try:
            talk = Dialogue(client, TOPIC, WorldOperator(cluster, client))
            await part.play(talk)
            talk.assert_none()
        finally:
            await client.close()
            if name == "expiry":
                forgetting.cancel()

    run(main)


def _cluster_for(part: Part, cluster: kafka_cluster.KafkaCluster) -> kafka_cluster.KafkaCluster:
    """Returns the cluster with the part's topic."""
    replicas = min(part.replicas, len(cluster.brokers))
    in_sync = int(part.config.get("min.insync.replicas", max(1, replicas - 1)))
    is_compacted = part.config.get("cleanup.policy") == "compact"
    cluster.create(TOPIC, 1, replicas=replicas, min_in_sync=in_sync, is_compacted=is_compacted)
    return cluster


async def _keep_forgetting(cluster: kafka_cluster.KafkaCluster) -> None:
    while True:
        await asyncio.sleep(0.2)
        cluster.forget_producers()
        await forget_ids(cluster, ID_EXPIRY_SECONDS)
