"""Markers of transactions: their coordinator writes them once an end is prepared.

Source: TransactionMarkerChannelManager.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from replicator.kafka.protocol.error_codes import Code
from tests.world.kafka.broker import Broker
from tests.world.kafka.coordinator_log import epoch_of
from tests.world.kafka.kafka_cluster import GROUPS, TRANSACTIONS
from tests.world.kafka.log_batch import Refused, marker_of
from tests.world.kafka.log_requests import known_to, replicated
from tests.world.kafka.partition import NOBODY, Partition
from tests.world.kafka.replica_log import TRANSACTION_COORDINATOR_FENCED
from tests.world.kafka.transaction_log import Place, State, Transaction, save, transactions


async def finish(broker: Broker, partition: Partition, prepared: Transaction) -> None:
    """Writes the markers of a transaction whose end is prepared, and then that it is complete."""
    finishing = finishing_ids(broker)
    finishing.add(prepared.transactional_id)
    try:
        await _finish(broker, partition, prepared)
    finally:
        finishing.discard(prepared.transactional_id)


def finishing_ids(broker: Broker) -> set[str]:
    """Returns the ids whose transactions a broker is finishing."""
    found: set[str] = broker.memory.setdefault("finishing", set())
    return found


async def _finish(broker: Broker, partition: Partition, prepared: Transaction) -> None:
    epoch = epoch_of(broker, partition)
    done = await asyncio.gather(
        *(_mark(broker, partition, prepared, epoch, place) for place in sorted(prepared.partitions))
    )
    if not all(done):
        return
    is_commit = prepared.state is State.PREPARE_COMMIT
    state = State.COMMITTED if is_commit else State.ABORTED
    while epoch_of(broker, partition) == epoch:
        try:
            await save(broker, partition, replace(prepared, state=state, partitions=frozenset()))
            return
        except Refused:
            await asyncio.sleep(0.05)


async def _mark(
    broker: Broker, home: Partition, prepared: Transaction, epoch: int, place: Place
) -> bool:
    """Writes one marker, however long it takes; returns False if another coordinator has to.

    Source: TransactionMarkerChannelManager.
    """
    cluster = broker.cluster
    pause = cluster.delay_of_markers
    while True:
        await asyncio.sleep(pause())
        if epoch_of(broker, home) != epoch or home.told[broker.node].leader != broker.node:
            return False
        partition = cluster.partition(*place)
        if partition is None:
            return True  # deleted
        leader = known_to(broker, partition).leader
        if cluster.left_out_share and partition.topic == GROUPS:
            if leader == NOBODY:
                return True  # KAFKA-20734
            if cluster.dice.random() < cluster.left_out_share:
                cluster.unlead(partition, cluster.dice.uniform(0.1, 2.0))
                continue
        if leader == NOBODY:
            continue
        if leader != broker.node and not (
            cluster.is_connected(leader) and cluster.is_connected(broker.node)
        ):
            continue
        code = await _append(cluster.brokers[leader], partition, prepared, epoch)
        if code == Code.NONE:
            return True
        if code in (Code.INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED):
            return False


async def _append(
    leader: Broker, partition: Partition, prepared: Transaction, coordinator_epoch: int
) -> int:
    marker = marker_of(
        prepared.producer_id,
        prepared.epoch,
        is_commit=prepared.state is State.PREPARE_COMMIT,
        coordinator_epoch=coordinator_epoch,
        at_ms=int(time.time() * 1000),
    )
    try:
        _, end_offset, _ = partition.append(leader.node, marker)
    except Refused as refused:
        return refused.code
    leader.cluster.replicate(partition)
    return await replicated(leader, partition, end_offset, 5.0)


def go_on(broker: Broker, partition: Partition) -> None:
    """Finishes what a former coordinator prepared (loadTransactionsForTxnTopicPartition)."""
    if partition.topic != TRANSACTIONS:
        return
    for found in list(transactions(broker, partition).values()):
        if found.state.is_ending:
            broker.begin(finish(broker, partition, found))
