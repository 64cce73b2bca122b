"""The world answers as the contract says; tests/live/test_world_contract.py asks a real broker."""

from __future__ import annotations

import random

import pytest

from replicator.config.topology import KafkaCluster
from replicator.kafka.client.cluster import Cluster
from tests.world.contracts.contract_parts import PARTS
from tests.world.virtual_loop import VirtualLoop, run
from tests.world.world import World


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("brokers", [1, 3])
def test_the_world_answers_as_the_contract_says(brokers: int, part: str) -> None:
    random.seed(brokers)

    async def main(loop: VirtualLoop) -> list[object]:
        cluster = World(loop, brokers).cluster("east", brokers)
        cluster.create("contract", 1)
        settings = KafkaCluster.model_validate({"bootstrap": cluster.bootstrap})
        client = Cluster("east", settings)
        await client.open(["contract"])
        try:
            return [*await PARTS[part].observed(client, "contract")]
        finally:
            await client.close()

    assert run(main) == PARTS[part].expected
