"""Answers of a transaction coordinator: epochs of transactional ids, transactions, markers.

Source: TransactionCoordinator, TransactionMetadata; clients of the protocol's first version
(KIP-98, KIP-890 for the checks of partitions). An id takes 32 766 openings until its epochs are
used up (TransactionMetadata.isProducerEpochExhausted): that is not provoked.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from replicator.kafka.protocol.error_codes import Code
from tests.world.kafka.broker import Broker
from tests.world.kafka.coordinator_log import coordinator
from tests.world.kafka.kafka_cluster import GROUPS, TRANSACTIONS, KafkaCluster
from tests.world.kafka.log_batch import Refused
from tests.world.kafka.log_requests import known_to
from tests.world.kafka.partition import NOBODY, Partition
from tests.world.kafka.requests import Asked
from tests.world.kafka.transaction_log import Place, State, Transaction, save, transactions
from tests.world.kafka.transaction_markers import finish, finishing_ids

EPOCH_MAX = 0x7FFF - 1
TIMEOUT_MS_MAX = 900_000
"""Kafka's default of transaction.max.timeout.ms."""
INVALID_TRANSACTION_TIMEOUT = 50
FENCE_SECONDS = 0.002
"""Time between the two steps of a fence."""


def takes_part(
    broker: Broker, transactional_id: str, producer: tuple[int, int], partition: Partition
) -> bool:
    """Returns True if a partition is in the open transaction of an id (KIP-890).

    Raises Refused for another producer, and while the coordinator does not answer. Source:
    AddPartitionsToTxnManager, TransactionCoordinator.handleVerifyPartitionsInTransaction.
    """
    cluster = broker.cluster
    home = cluster.internal(TRANSACTIONS, transactional_id)
    leader = known_to(broker, home).leader
    if leader == NOBODY or not (cluster.is_connected(leader) and cluster.is_connected(broker.node)):
        raise Refused(Code.COORDINATOR_NOT_AVAILABLE)
    found = transactions(cluster.brokers[leader], home).get(transactional_id)
    if found is None or found.producer_id != producer[0]:
        raise Refused(Code.INVALID_PRODUCER_ID_MAPPING)
    if found.epoch != producer[1]:
        raise Refused(Code.INVALID_PRODUCER_EPOCH)
    if found.state.is_ending:
        raise Refused(Code.CONCURRENT_TRANSACTIONS)
    return found.state is State.ONGOING and (partition.topic, partition.number) in found.partitions


@asynccontextmanager
async def held(broker: Broker, transactional_id: str) -> AsyncIterator[Partition]:
    """Holds an id for one change; raises Refused while another change of it is under way."""
    partition = coordinator(broker, TRANSACTIONS, transactional_id)
    busy: set[str] = broker.memory.setdefault("busy", set())
    if transactional_id in busy:
        raise Refused(Code.CONCURRENT_TRANSACTIONS)
    busy.add(transactional_id)
    try:
        yield partition
    finally:
        busy.discard(transactional_id)


async def init_producer_id(broker: Broker, asked: Asked) -> Any:
    body = asked.body
    if body.transactional_id is None:
        return (0, Code.NONE, _new_id(broker.cluster), 0)
    try:
        async with held(broker, body.transactional_id) as partition:
            found = await _initialised(broker, partition, body)
    except Refused as refused:
        return (0, refused.code, -1, -1)
    return (0, Code.NONE, found.producer_id, found.epoch)


async def _initialised(broker: Broker, partition: Partition, body: Any) -> Transaction:
    if body.transaction_timeout_ms > TIMEOUT_MS_MAX:
        raise Refused(INVALID_TRANSACTION_TIMEOUT)
    known = transactions(broker, partition).get(body.transactional_id)
    if known is not None and known.state.is_ending:
        if known.transactional_id not in finishing_ids(broker):
            # Its end was written, and answered as failed because replicas were late.
            broker.begin(finish(broker, partition, known))
        raise Refused(Code.CONCURRENT_TRANSACTIONS)
    if known is not None and known.state is State.ONGOING:
        fenced = await _fence(broker, partition, known)
        broker.begin(finish(broker, partition, fenced))
        raise Refused(Code.CONCURRENT_TRANSACTIONS)
    if known is None or known.epoch >= EPOCH_MAX:
        made = Transaction(
            body.transactional_id, _new_id(broker.cluster), 0, body.transaction_timeout_ms
        )
    else:
        made = replace(known, epoch=known.epoch + 1, state=State.EMPTY, partitions=frozenset())
        made = replace(made, timeout_ms=body.transaction_timeout_ms)
    await save(broker, partition, made)
    return made


async def _fence(broker: Broker, partition: Partition, known: Transaction) -> Transaction:
    """Ends an open transaction under a newer epoch; returns it as it was written.

    Source: TransactionMetadata.prepareFenceProducerEpoch, then endTransaction.
    """
    fencing: dict[str, float] = broker.memory.setdefault("fencing", {})
    fencing[known.transactional_id] = broker.cluster.network.loop.time()
    fenced = replace(known, epoch=known.epoch + 1, state=State.PREPARE_ABORT)
    try:
        await save(broker, partition, fenced)
    finally:
        fencing.pop(known.transactional_id, None)
    return fenced


def _begins_to_fence(broker: Broker, transactional_id: str) -> bool:
    """Returns True between the two steps of a fence, before it is being written."""
    begun_at = broker.memory.get("fencing", {}).get(transactional_id)
    now = broker.cluster.network.loop.time()
    return begun_at is not None and now - begun_at < FENCE_SECONDS


def _new_id(cluster: KafkaCluster) -> int:
    cluster.next_producer_id += 1
    return cluster.next_producer_id


async def add_partitions(broker: Broker, asked: Asked) -> Any:
    body = asked.body
    places = [(topic, number) for topic, numbers in body.topics for number in numbers]
    code: int = Code.NONE
    if any(broker.cluster.partition(*place) is None for place in places):
        code = Code.UNKNOWN_TOPIC_OR_PARTITION
    else:
        code = await _join(broker, body, frozenset(places))
    return (0, [(topic, [(n, code) for n in numbers]) for topic, numbers in body.topics])


async def add_offsets(broker: Broker, asked: Asked) -> Any:
    group = broker.cluster.internal(GROUPS, asked.body.group_id)
    return (0, await _join(broker, asked.body, frozenset({(GROUPS, group.number)})))


async def _join(broker: Broker, body: Any, places: frozenset[Place]) -> int:
    try:
        async with held(broker, body.transactional_id) as partition:
            known = _checked(broker, partition, body)
            if known.state.is_ending:
                raise Refused(Code.CONCURRENT_TRANSACTIONS)
            if known.state is State.ONGOING:
                if places <= known.partitions:
                    return Code.NONE
                joined = replace(known, partitions=known.partitions | places)
            else:
                now = broker.cluster.network.loop.time()
                joined = replace(known, state=State.ONGOING, partitions=places, began_at=now)
            await save(broker, partition, joined)
    except Refused as refused:
        return refused.code
    return Code.NONE


def _checked(broker: Broker, partition: Partition, body: Any) -> Transaction:
    known = transactions(broker, partition).get(body.transactional_id)
    if known is None or known.producer_id != body.producer_id:
        raise Refused(Code.INVALID_PRODUCER_ID_MAPPING)
    if known.epoch != body.producer_epoch:
        # PRODUCER_FENCED came with version 2 of these requests.
        raise Refused(Code.INVALID_PRODUCER_EPOCH)
    return known


async def end(broker: Broker, asked: Asked) -> Any:
    body = asked.body
    try:
        if body.transaction_result and _begins_to_fence(broker, body.transactional_id):
            _checked(broker, coordinator(broker, TRANSACTIONS, body.transactional_id), body)
            raise Refused(Code.UNKNOWN_SERVER_ERROR)  # TransactionMetadata.prepareTransitionTo
        async with held(broker, body.transactional_id) as partition:
            known = _checked(broker, partition, body)
            ended = _ended(known, is_commit=body.transaction_result)
            if ended is None:
                return (0, Code.NONE)
            await save(broker, partition, ended)
            broker.begin(finish(broker, partition, ended))
    except Refused as refused:
        return (0, refused.code)
    return (0, Code.NONE)


def _ended(known: Transaction, *, is_commit: bool) -> Transaction | None:
    """Returns the transaction with its end prepared; None if it has ended like this already."""
    if known.state is State.ONGOING:
        return replace(known, state=State.PREPARE_COMMIT if is_commit else State.PREPARE_ABORT)
    if known.state is (State.COMMITTED if is_commit else State.ABORTED):
        return None
    if known.state is (State.PREPARE_COMMIT if is_commit else State.PREPARE_ABORT):
        raise Refused(Code.CONCURRENT_TRANSACTIONS)
    raise Refused(Code.INVALID_TXN_STATE)


async def abort_late(cluster: KafkaCluster, every_seconds: float = 10.0) -> None:
    """Aborts transactions that are open too long (abortTimedOutTransactions)."""
    while True:
        await asyncio.sleep(every_seconds)
        now = cluster.network.loop.time()
        for partition in cluster.topics[TRANSACTIONS].partitions:
            broker = cluster.brokers.get(partition.decided.leader)
            if broker is None or not cluster.is_connected(broker.node):
                continue
            for found in list(transactions(broker, partition).values()):
                age = now - found.began_at
                if found.state is State.ONGOING and age > found.timeout_ms / 1000:
                    broker.begin(_abort(broker, partition, found))


async def _abort(broker: Broker, partition: Partition, found: Transaction) -> None:
    try:
        async with held(broker, found.transactional_id):
            if transactions(broker, partition).get(found.transactional_id) != found:
                return
            fenced = await _fence(broker, partition, found)
    except Refused:
        return
    await finish(broker, partition, fenced)


HANDLERS = {22: init_producer_id, 24: add_partitions, 25: add_offsets, 26: end}
