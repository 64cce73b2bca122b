"""Transactions of transactional ids, as their coordinators wrote them.

Source: TransactionStateManager, TransactionMetadata.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from tests.world.kafka.broker import Broker
from tests.world.kafka.coordinator_log import Fold, write
from tests.world.kafka.log_batch import Batch
from tests.world.kafka.partition import Partition

Place = tuple[str, int]


class State(StrEnum):
    """State of a transactional id, by its name in the protocol."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMMITTED = "CompleteCommit"
    ABORTED = "CompleteAbort"

    @property
    def is_ending(self) -> bool:
        return self in (State.PREPARE_COMMIT, State.PREPARE_ABORT)


@dataclass(frozen=True, slots=True)
class Transaction:
    """A transactional id with its producer, as its coordinator wrote it.

    Args:
        partitions: that take part, also of groups' commits.
        began_at, saved_at: virtual seconds.
    """

    transactional_id: str
    producer_id: int
    epoch: int
    timeout_ms: int
    state: State = State.EMPTY
    partitions: frozenset[Place] = frozenset()
    began_at: float = 0.0
    saved_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Expired:
    """Tombstone of a transactional id that was not used for too long."""

    transactional_id: str


def _begin() -> dict[str, Transaction]:
    return {}


def _step(found: dict[str, Transaction], batch: Batch) -> None:
    if isinstance(batch.value, Transaction):
        found[batch.value.transactional_id] = batch.value
    elif isinstance(batch.value, Expired):
        found.pop(batch.value.transactional_id, None)


def transactions(broker: Broker, partition: Partition) -> dict[str, Transaction]:
    """Returns the transactions of a coordinator's partition, as far as they are replicated."""
    folds = broker.memory.setdefault("transactions", {})
    fold = folds.setdefault(partition.number, Fold(_begin, _step))
    log = partition.logs[broker.node]
    # A coordinator loads the whole log when it begins to lead, whatever the high watermark is.
    limit = max(log.high_watermark, partition.epoch_began[broker.node])
    known: dict[str, Transaction] = fold.state(log, limit)
    return known


async def save(broker: Broker, partition: Partition, found: Transaction) -> None:
    now = broker.cluster.network.loop.time()
    await write(broker, partition, value=replace(found, saved_at=now))
