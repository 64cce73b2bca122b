"""Log of a coordinator: what an internal partition's leader wrote, and the state that follows.

A broker that is cut off keeps its state, and can change nothing: its writes are not replicated.
Source: TransactionStateManager for transactions, CoordinatorRuntime for groups.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from replicator.kafka.protocol.error_codes import Code
from tests.world.kafka.broker import Broker
from tests.world.kafka.kafka_cluster import GROUPS, LOAD_SECONDS, TRANSACTIONS, KafkaCluster
from tests.world.kafka.log_batch import Batch, Refused
from tests.world.kafka.log_requests import known_to, replicated
from tests.world.kafka.partition import NOBODY, Partition
from tests.world.kafka.replica_log import ReplicaLog

S = TypeVar("S")
WRITE_SECONDS = 5.0


@dataclass(slots=True)
class Fold(Generic[S]):
    """State that follows from the batches of a log, read on as the log grows.

    Args:
        begin: makes the state of an empty log.
        step: applies one batch to a state.
    """

    begin: Callable[[], S]
    step: Callable[[S, Batch], None]
    _state: S | None = field(default=None, init=False)
    _last: Batch | None = field(default=None, init=False)
    _count: int = field(default=0, init=False)

    def state(self, log: ReplicaLog, limit: int) -> S:
        """Returns the state after all batches below an offset."""
        batches, count = log.batches, self._count
        is_same = count <= len(batches) and (not count or batches[count - 1] is self._last)
        if self._state is None or not is_same:
            self._state, count = self.begin(), 0
        while count < len(batches) and batches[count].end <= limit:
            self.step(self._state, batches[count])
            count += 1
        self._count = count
        self._last = batches[count - 1] if count else None
        return self._state


def coordinator(broker: Broker, topic: str, key: str) -> Partition:
    """Returns the partition that keeps a key; raises Refused if the broker does not lead it."""
    return loaded(broker, broker.cluster.internal(topic, key))


def loaded(broker: Broker, partition: Partition) -> Partition:
    """Returns a coordinator's partition; raises Refused before the broker leads and has loaded
    it."""
    try:
        partition.leadership_of(broker.node)
    except Refused:
        raise Refused(Code.NOT_COORDINATOR) from None
    if _load(broker, partition) not in broker.memory:
        raise Refused(Code.COORDINATOR_LOAD_IN_PROGRESS)
    return partition


def _load(broker: Broker, partition: Partition) -> tuple[str, str, int, int]:
    """Returns the key under which a broker notes that it has loaded a partition in this epoch."""
    return ("loaded", partition.topic, partition.number, epoch_of(broker, partition))


def epoch_of(broker: Broker, partition: Partition) -> int:
    return partition.told[broker.node].epoch


def load_soon(broker: Broker, partition: Partition) -> None:
    """Loads a coordinator's partition some time after the broker began to lead it.

    Source: TransactionStateManager.loadTransactionsForTxnTopicPartition,
    CoordinatorRuntime.scheduleLoadOperation.
    """
    if partition.topic not in (GROUPS, TRANSACTIONS):
        return
    load, life = _load(broker, partition), broker.life

    def note() -> None:
        if broker.is_up and broker.life == life:
            broker.memory[load] = True
            for act in broker.cluster.on_loaded:
                act(broker, partition)

    broker.cluster.later(broker.cluster.dice.uniform(*broker.cluster.load_seconds), note)


def move_coordinators(cluster: KafkaCluster, seconds: float) -> None:
    """Elects other coordinators, which load their partitions for some seconds."""
    cluster.load_seconds = (seconds / 2, seconds)
    for topic in (GROUPS, TRANSACTIONS):
        for partition in cluster.topics[topic].partitions:
            cluster.elect_another(partition)
    cluster.later(seconds, setattr, cluster, "load_seconds", LOAD_SECONDS)


async def write(broker: Broker, partition: Partition, **batch: Any) -> None:
    """Writes a batch and waits until it is replicated; raises Refused if it may not be there.

    Source: TransactionStateManager.appendTransactionToLog, which answers that too few replicas are
    in sync with COORDINATOR_NOT_AVAILABLE.
    """
    try:
        _, end, _ = partition.append(broker.node, Batch(0, 1, -1, **batch))
    except Refused as refused:
        is_busy = refused.code == Code.NOT_ENOUGH_REPLICAS
        is_late = refused.code == Code.NOT_LEADER_OR_FOLLOWER
        code = Code.COORDINATOR_NOT_AVAILABLE if is_busy else refused.code
        raise Refused(Code.NOT_COORDINATOR if is_late else code) from None
    broker.cluster.replicate(partition)
    code = await replicated(broker, partition, end, WRITE_SECONDS)
    if code == Code.NOT_LEADER_OR_FOLLOWER:
        raise Refused(Code.NOT_COORDINATOR)
    if code:
        raise Refused(Code.COORDINATOR_NOT_AVAILABLE)


async def find_coordinator(broker: Broker, asked: Any) -> Any:
    is_group = getattr(asked.body, "coordinator_type", 0) == 0
    key = asked.body.coordinator_key if asked.version else asked.body.consumer_group
    partition = broker.cluster.internal(GROUPS if is_group else TRANSACTIONS, key)
    leader = known_to(broker, partition).leader
    code = Code.COORDINATOR_NOT_AVAILABLE if leader == NOBODY else Code.NONE
    port = 0 if leader == NOBODY else broker.cluster.brokers[leader].port
    host = broker.cluster.host
    if asked.version == 0:
        return (code, leader, host, port)
    return (0, code, None, leader, host, port)


HANDLERS = {10: find_coordinator}
