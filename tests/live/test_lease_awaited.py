"""A balancer whose transactional id has no ready coordinator yet waits for one."""

from __future__ import annotations

import asyncio
import logging

import pytest
from aiokafka.protocol.coordination import FindCoordinatorRequest
from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from deploy.lab.kafka import KafkaCluster as LabCluster
from deploy.lab.wait import until
from replicator.config.names import BALANCE_TOPIC
from replicator.config.topology import KafkaCluster
from replicator.kafka.client.cluster import TRANSACTION, Cluster
from replicator.orders.balance_log import BalanceLog
from replicator.orders.order_records import Lease
from replicator.placement.rounds.balancer_leadership import BalancerLeadership

COORDINATOR, HOLDER = 1, 2
PATIENCE_SECONDS = 60.0


@pytest.fixture
def two_brokers(make_cluster) -> LabCluster:
    """Two brokers, of which one holds the topic's only replica; coordinators may be on either."""
    cluster = make_cluster("two", brokers=2, properties={"broker.session.timeout.ms": 60_000})
    config = {"cleanup.policy": "compact"}
    cluster.create_topics(NewTopic(BALANCE_TOPIC, 1, replica_assignment=[[HOLDER]], config=config))
    return cluster


async def coordinated_region(settings: KafkaCluster) -> str:
    """Returns a region whose balancer's id is coordinated by COORDINATOR, not by HOLDER."""
    cluster = Cluster("two", settings)
    await cluster.open()
    try:
        for number in range(1000):
            name = f"east-{number}"
            request = FindCoordinatorRequest(f"sluice.{name}.balancer", TRANSACTION)
            found = await cluster.send(await cluster.any_node(), request)
            if not found.error_code and found.coordinator_id == COORDINATOR:
                return name
            await asyncio.sleep(0.05 if found.error_code else 0)
    finally:
        await cluster.close()
    raise AssertionError("every id has the same coordinator")


def leave_transaction(cluster: LabCluster, region: str) -> Producer:
    """Leaves an open transaction, as a balancer does that is killed while it writes a placement."""
    options = {"transactional.id": f"sluice.{region}.balancer", "log_level": 0}
    producer = Producer({**cluster.librdkafka_options(), **options})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(BALANCE_TOPIC, key=b"left", value=b"behind")
    assert producer.flush(30) == 0
    return producer


async def test_a_balancer_waits_while_the_transaction_before_it_is_completed(
    two_brokers: LabCluster, caplog: pytest.LogCaptureFixture
) -> None:
    # Bootstraps from the broker that keeps running; a paused one would delay the search for the
    # coordinator.
    settings = KafkaCluster(bootstrap=(two_brokers.bootstrap.split(",")[COORDINATOR - 1],))
    region = await coordinated_region(settings)
    left = await asyncio.to_thread(leave_transaction, two_brokers, region)
    caplog.set_level(logging.WARNING, "replicator")
    leadership = BalancerLeadership("two", settings, region, "me")
    # The marker cannot be written, so InitProducerId answers CONCURRENT_TRANSACTIONS until then.
    two_brokers.pause(HOLDER)
    opening = asyncio.create_task(leadership.opened_producer())
    try:
        is_logged = lambda: opening.done() or "event=lease-awaited" in caplog.text  # noqa: E731
        assert await asyncio.to_thread(until, is_logged, PATIENCE_SECONDS)
        assert not opening.done(), opening.exception()
        assert "CONCURRENT_TRANSACTIONS" in caplog.text
    finally:
        two_brokers.resume(HOLDER)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await opening
    await leadership.write([Lease(route=region, at_ms=1, who="me", since_ms=1)])
    lease = BalanceLog("two", settings).read().lease(region)
    assert lease and lease.who == "me"
    assert caplog.text.count("event=lease-awaited") == 1
    del left
