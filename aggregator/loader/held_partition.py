"""Held partition: one partition that a loader holds, as the reader, the checks and the sealing see
it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic
from uuid import UUID

from typing_extensions import TypeVar

from aggregator.intents.intent import Intent
from aggregator.loader.forced_flush import ForcedFlush
from aggregator.loader.partition_error import PartitionError
from aggregator.loader.progress import Progress
from aggregator.loader.sent_letters import SentLetter
from balancer.topic_partition import TopicPartition
from replicator.kafka.client.loss import Loss
from replicator.runtime.clock import monotonic

P = TypeVar("P", bound=Progress, default=Any)


@dataclass(eq=False)
class HeldPartition(Generic[P]):
    """A partition with its progress.

    Args:
        progress: from the intent on.
        intent: as this loader committed it last.
        leader_epoch: source leader epoch of the last check of the position; -1: none.
        loss_to_park: loss that ends fetching; the partition is parked because of it.
        error: of the work on it, after which it begins anew from its intent.
        is_to_reread: it begins anew from its intent, since records of a table were dropped that can
            be loaded now.
        left_behind: tables that stood still when it began anew, with the offsets from which their
            records are not in memory.
        is_waiting: nothing more is read, since all its tables stand still and others need the
            memory.
        is_careful: it has begun anew: each record is tried before it is written.
        failure: loss because of which its last intent was not committed; it is parked as it was
            committed before.
        is_frozen: nothing more is read, by an operator's order.
        frozen_table: frozen table whose record is the next one to read.
        is_settling: the epoch ends: nothing more is read, and all that was read is loaded.
    """

    partition: TopicPartition
    intent: Intent
    progress: P
    leader_epoch: int = -1
    loss_to_park: Loss | None = None
    error: PartitionError | None = None
    is_to_reread: bool = False
    left_behind: Mapping[str, int] = field(default_factory=dict)
    is_waiting: bool = False
    is_careful: bool = False
    failure: Loss | None = None
    is_frozen: bool = False
    frozen_table: str | None = None
    is_settling: bool = False
    fetch_bytes: int = 0
    schemas_wanted: frozenset[int] = frozenset()
    """Ids of schemas that have to be fetched before the next records can be taken in."""
    broken_at: int = -1
    """Offset of a batch that could not be read once; it is fetched once more."""
    source_end: int | None = None
    """Last stable offset that the source reported; None: not yet."""
    flush: ForcedFlush | None = None
    """Schedule of the forced flushes; None: there are none."""
    committed_at: float = field(default_factory=monotonic)
    loading_bytes: int = 0
    """Bytes of sealed blocks that are not loaded yet."""
    rows: int = 0
    sent_letters: set[SentLetter] | None = None
    """Dead letters that a lost commit has sent; None: nobody has looked."""
    loaded_lag_ms: int | None = None
    """Age of the newest record of the block stored last, when it was stored; None: none yet."""

    @property
    def topic_id(self) -> UUID | None:
        return self.intent.topic_id

    @property
    def position(self) -> int:
        return self.progress.position

    @property
    def sealed_end(self) -> int:
        """End of what may be stored: it is read again, and no other log may take its place."""
        return self.intent.sealed_end

    @property
    def batch_epoch(self) -> int:
        return self.progress.leader_epoch

    @property
    def buffered_bytes(self) -> int:
        return self.progress.buffered_bytes + self.loading_bytes

    @property
    def lag_seconds(self) -> float | None:
        """Age of the records stored last, when they were stored; 0 once all that can be read is
        stored."""
        progress = self.progress
        if self.source_end is not None and progress.offset >= self.source_end:
            return 0.0
        return None if self.loaded_lag_ms is None else self.loaded_lag_ms / 1000

    def committed(self, intent: Intent, now: float) -> None:
        """Notes the intent that was committed.

        Args:
            now: by the clock of `committed_at`.
        """
        self.intent, self.committed_at = intent, now
        self.progress.committed(intent)
        if self.flush is not None and intent.up_to is not None:
            self.flush.ended_at = now

    @property
    def is_to_park(self) -> bool:
        return bool(self.loss_to_park or self.failure)

    @property
    def is_stopped(self) -> bool:
        """True if nothing more is done for it: it is parked, or begins anew."""
        return self.is_to_park or self.is_to_reread or self.error is not None

    @property
    def is_fetching(self) -> bool:
        is_waiting = self.is_waiting or self.is_frozen or self.is_settling
        return not (is_waiting or self.is_stopped or self.schemas_wanted)
