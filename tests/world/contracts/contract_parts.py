"""Parts of the contract: questions to a cluster with their answers, each about its own topic."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from replicator.kafka.client.cluster import Cluster
from tests.world.contracts import (
    contract,
    contract_reading,
    contract_sequences,
    contract_transactions,
)

Answers = Sequence[tuple[str, Any]]


class Part(NamedTuple):
    """Part of the contract.

    Args:
        observed: returns the answers of a cluster about a topic that is empty and has one
            partition.
    """

    observed: Callable[[Cluster, str], Awaitable[Answers]]
    expected: Answers


PARTS = {
    "carrier": Part(contract.observed, contract.EXPECTED),
    "sequences": Part(contract_sequences.observed, contract_sequences.EXPECTED),
    "transactions": Part(contract_transactions.observed, contract_transactions.EXPECTED),
    "reading": Part(contract_reading.observed, contract_reading.EXPECTED),
}
