"""Real brokers answer as the contract says, to which the simulated ones are held as well."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import NewTopic

from deploy.lab.kafka import KafkaCluster as LabCluster
from replicator.config.topology import KafkaCluster
from replicator.kafka.client.cluster import Cluster
from tests.live.lab_operator import LabOperator
from tests.live.topics import new_name
from tests.world.contracts.dialogue import Dialogue
from tests.world.contracts.parts import PARTS

CORE = ("carrier", "sequences", "transactions", "reading", "groups", "deletion", "quotas")
"""Parts that the shared cluster of one broker is asked in."""
CLEANS_AT_ONCE = {"log.cleaner.backoff.ms": 100}
ON_THREE = [name for name, part in PARTS.items() if 3 in part.brokers and name != "expiry"]
"""Parts that a cluster of three brokers is asked in. It forgets nothing."""


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabCluster]:
    """Three brokers, all of which run at the end of each test, and whose cleaners run often."""
    directory = tmp_path_factory.mktemp("three")
    with LabCluster("three", directory, brokers=3, properties=CLEANS_AT_ONCE) as cluster:
        yield cluster


@pytest.mark.core
@pytest.mark.parametrize("name", CORE)
def test_a_broker_answers_as_the_contract_says(aggregate: LabCluster, name: str) -> None:
    ask(aggregate, name)


def test_a_broker_that_compacts_answers_as_the_contract_says(east: LabCluster) -> None:
    ask(east, "compaction")


def test_a_broker_that_forgets_answers_as_the_contract_says(forgetful: LabCluster) -> None:
    ask(forgetful, "expiry")


@pytest.mark.parametrize("name", ON_THREE)
def test_three_brokers_answer_as_the_contract_says(three: LabCluster, name: str) -> None:
    ask(three, name)


def ask(cluster: LabCluster, name: str) -> None:
    """Asks a cluster in one part of the contract."""
    part, topic = PARTS[name], new_name("contract")
    replicas = min(part.replicas, len(cluster.brokers))
    config = dict(part.config)
    cluster.create_topics(NewTopic(topic, 1, replicas, config=config))
    client_id = f"sluice.{topic}"

    async def play() -> None:
        settings = KafkaCluster.model_validate(cluster.topology_table())
        client = Cluster(cluster.name, settings, client_id=client_id)
        await client.open([topic])
        try:
            talk = Dialogue(client, topic, LabOperator(cluster, client, client_id))
            await part.play(talk)
            talk.assert_none()
        finally:
            await client.close()

    asyncio.run(play())
