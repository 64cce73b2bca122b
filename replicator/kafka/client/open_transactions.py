"""Open transactions: finds the producer that holds up the readers of a partition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from aiokafka.errors import KafkaError

from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.protocol.transactions import ListTransactionsRequest

SILENT = (OSError, KafkaError, TimeoutError, KeyError, NotImplementedError, Unreachable)


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction that has records in a partition and no marker yet.

    Args:
        transactional_id, state: as a coordinator reported them; None when none did. Coordinators
            report them only with the right to Describe transactional ids, and a hanging transaction
            may have no coordinator that knows it.
    """

    producer_id: int
    epoch: int
    first_offset: int
    transactional_id: str | None = None
    state: str | None = None

    def __str__(self) -> str:
        named = f"transactional id {self.transactional_id}, state {self.state}"
        known = named if self.transactional_id else "no coordinator names its transactional id"
        return f"producer id {self.producer_id} epoch {self.epoch} ({known})"


async def open_transaction(cluster: Cluster, topic: str, partition: int) -> OpenTransaction | None:
    """Returns the oldest open transaction of a partition by its leader; None if there is none.

    Waits for a leader, until cancelled.

    Raises:
        Answered: the leader refuses, for instance as Forbidden.
    """
    states = await cluster.producer_states(topic, partition)
    writing = [number for number, state in states.items() if state.transaction_start >= 0]
    if not writing:
        return None
    producer_id = min(writing, key=lambda number: states[number].transaction_start)
    found = states[producer_id]
    transactional_id, state = await _named(cluster, producer_id)
    return OpenTransaction(
        producer_id, found.epoch, found.transaction_start, transactional_id, state
    )


async def _named(cluster: Cluster, producer_id: int) -> tuple[str | None, str | None]:
    """Returns transactional id and state. Asks every broker, since the coordinator is not known."""
    for node in cluster.nodes:
        try:
            answer: Any = await cluster.send(node, ListTransactionsRequest([producer_id]))
        except SILENT:
            continue
        for name, _, state, *_ in () if answer.error_code else answer.transaction_states:
            return str(name), str(state)
    return None, None
