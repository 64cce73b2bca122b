"""Transactional ids that expire, or whose epochs are used up, without a client asking for it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tests.world.kafka.broker import Broker
from tests.world.kafka.coordinator_log import write
from tests.world.kafka.kafka_cluster import TRANSACTIONS, KafkaCluster
from tests.world.kafka.log_batch import Refused
from tests.world.kafka.transaction_requests import (
    Expired,
    State,
    Transaction,
    held,
    save,
    transactions,
)


async def forget_ids(
    cluster: KafkaCluster, idle_seconds: float, kept: Collection[str] = ()
) -> list[str]:
    """Forgets ids that were idle for so long (transactional.id.expiration.ms); returns them.

    Args:
        kept: ids that are not forgotten.
    """
    forgotten = []
    for partition in cluster.topics[TRANSACTIONS].partitions:
        broker = cluster.brokers.get(partition.decided.leader)
        if broker is None or not cluster.is_connected(broker.node):
            continue
        for found in list(transactions(broker, partition).values()):
            is_open = found.state is State.ONGOING or found.state.is_ending
            is_idle = cluster.network.loop.time() - found.saved_at > idle_seconds
            is_kept = is_open or found.transactional_id in kept
            if is_idle and not is_kept and await _forget(broker, found):
                forgotten.append(found.transactional_id)
    return forgotten


async def _forget(broker: Broker, found: Transaction) -> bool:
    broker.cluster.forgotten_ids.add(found.transactional_id)
    try:
        async with held(broker, found.transactional_id) as partition:
            await write(broker, partition, value=Expired(found.transactional_id))
    except Refused:
        return False
    return True


async def raise_epochs(cluster: KafkaCluster, least: int) -> None:
    """Raises the epochs of all transactional ids, as if each had been opened so many times."""
    for partition in cluster.topics[TRANSACTIONS].partitions:
        broker = cluster.brokers.get(partition.decided.leader)
        if broker is None or not cluster.is_connected(broker.node):
            continue
        for found in list(transactions(broker, partition).values()):
            if found.epoch < least and found.state is not State.ONGOING:
                broker.begin(_raise(broker, found, least))


async def _raise(broker: Broker, found: Transaction, least: int) -> None:
    try:
        async with held(broker, found.transactional_id) as partition:
            is_same = transactions(broker, partition).get(found.transactional_id) == found
            if is_same and not found.state.is_ending:
                await save(broker, partition, replace(found, epoch=least))
    except Refused:
        pass
