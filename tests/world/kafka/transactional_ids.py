"""Transactional ids of a cluster: listed, expired, and with epochs that are used up.

Source: kafka.coordinator.transaction.TransactionStateManager.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from replicator.kafka.protocol.error_codes import Code
from tests.world.kafka.broker import Broker
from tests.world.kafka.coordinator_log import loaded, write
from tests.world.kafka.kafka_cluster import TRANSACTIONS, KafkaCluster
from tests.world.kafka.log_batch import Refused
from tests.world.kafka.log_requests import known_to
from tests.world.kafka.requests import Asked
from tests.world.kafka.transaction_log import Expired, State, Transaction, save, transactions
from tests.world.kafka.transaction_requests import held


async def list_transactions(broker: Broker, asked: Asked) -> Any:
    """Lists ids that this broker coordinates (listTransactionStates)."""
    wanted = set(asked.body.producer_id_filters)
    led = [
        partition
        for partition in broker.cluster.topics[TRANSACTIONS].partitions
        if known_to(broker, partition).leader == broker.node
    ]
    try:
        homes = [loaded(broker, partition) for partition in led]
    except Refused as refused:
        return (0, refused.code, [], [], {})
    found = [it for home in homes for it in transactions(broker, home).values()]
    rows = [
        (it.transactional_id, it.producer_id, it.state.value, {})
        for it in found
        if it.producer_id in wanted
    ]
    return (0, Code.NONE, [], rows, {})


async def forget_ids(
    cluster: KafkaCluster, idle_seconds: float, kept: Collection[str] = ()
) -> list[str]:
    """Forgets ids that were idle for so long (removeExpiredTransactionalIds); returns them.

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


HANDLERS = {66: list_transactions}
