"""Partition error: an error that nobody foresaw, of the work on one partition.

Its loader would meet the same records and fail again, and take all its partitions along. So only
that partition begins anew from its intent; if it fails again before the intent moves, it is parked.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from aiokafka.errors import KafkaError

from aggregator.store.shard_store import NotStored
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered
from replicator.kafka.client.loss import Loss, LossKind

log = logging.getLogger(__name__)

OF_ALL = (Answered, Unreachable, KafkaError, NotStored, OSError, MemoryError)
"""Errors of servers, and of this process: they are no partition's own."""


@dataclass(frozen=True, slots=True)
class PartitionError:
    """Error of the work on one partition.

    Args:
        offset: first record of what was worked on.
    """

    offset: int
    text: str

    @property
    def loss(self) -> Loss:
        """Loss for which the partition is parked."""
        return Loss(LossKind.LOADER_FAILED, self.offset, None, self.text)


def partition_error(error: Exception, offset: int, log_fields: str) -> PartitionError:
    """Returns the error of a partition, which is logged. Raises it again if it is of all of them.

    Args:
        log_fields: of the loader, and of the partition.
    """
    if isinstance(error, OF_ALL):
        raise error
    log.error(
        "event=partition-failed %s offset=%d: begins anew", log_fields, offset, exc_info=error
    )
    return PartitionError(offset, f"{type(error).__name__}: {error}")
