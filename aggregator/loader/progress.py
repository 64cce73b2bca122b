"""Progress: what a loader's parts ask of a partition's progress, whatever the store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt

from aggregator.formats.record_slice import RecordSlice
from aggregator.intents.intent import Intent
from aggregator.intents.reading import Mode, ReadAgain
from aggregator.intents.table_range import TableRange
from replicator.kafka.client.custody import Custody

Ints = npt.NDArray[np.int64]


class Progress(Protocol):
    """Progress of one partition from an intent on."""

    position: int
    """Next offset to read."""
    leader_epoch: int
    """Newest leader epoch of the batches read, also by predecessors (-1: none yet)."""
    dead_letters: int
    """Records set aside since the partition was adopted, with those of the next commit."""
    letters_at: int | None
    """The next intent's."""

    @property
    def mode(self) -> Mode: ...

    @property
    def offset(self) -> int:
        """The next intent's offset."""

    @property
    def buffered_bytes(self) -> int: ...

    @property
    def in_flight(self) -> Mapping[str, TableRange]:
        """Ranges that an intent names and that are not known to be stored, by table or encoded
        partition."""

    @property
    def buffering(self) -> Mapping[str, float]:
        """Tables or encoded partitions with records that no intent names, and since when."""

    @property
    def is_flushed(self) -> bool:
        """True when everything below the end of a forced flush is loaded."""

    def add(
        self,
        offsets: Ints,
        next_offset: int,
        by_table: Mapping[str, RecordSlice],
        now: float,
    ) -> ReadAgain:
        """Takes in what was read from `position` up to `next_offset`."""

    def committed(self, intent: Intent) -> None:
        """Notes that an intent is committed."""

    def can_release(self, intent: Intent) -> bool:
        """Returns True if a release loses no work, and the intent says all."""

    def intent(
        self, custody: Custody, producer_id: int, epoch: int, transactional_id: str
    ) -> Intent:
        """Returns the intent of now."""
