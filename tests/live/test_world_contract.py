"""A real broker answers as the contract says, to which the simulated one is held as well."""

from __future__ import annotations

import asyncio
import uuid

import pytest
from confluent_kafka.admin import NewTopic

from deploy.lab.kafka import KafkaCluster as LabCluster
from replicator.config.topology import KafkaCluster
from replicator.kafka.client.cluster import Cluster
from tests.world.contracts.contract_parts import PARTS


@pytest.mark.core
@pytest.mark.parametrize("part", PARTS)
def test_a_broker_answers_as_the_contract_says(aggregate: LabCluster, part: str) -> None:
    topic = f"contract-{uuid.uuid4().hex[:8]}"
    aggregate.create_topics(NewTopic(topic, 1))

    async def ask() -> list[object]:
        settings = KafkaCluster.model_validate(aggregate.topology_table())
        client = Cluster("aggregate", settings)
        await client.open([topic])
        try:
            return [*await PARTS[part].observed(client, topic)]
        finally:
            await client.close()

    assert asyncio.run(ask()) == PARTS[part].expected
