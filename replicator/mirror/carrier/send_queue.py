"""Send queue of one partition: its batches that are queued or in flight, in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from math import inf

from replicator.mirror.carrier.sequenced_batch import SequencedBatch


class SendQueue:
    """Unacknowledged batches: those in flight come before the queued ones."""

    def __init__(self) -> None:
        self.size_bytes = 0
        """Size of all batches, queued or in flight."""
        self._queued: deque[SequencedBatch] = deque()
        self._in_flight: deque[SequencedBatch] = deque()

    @property
    def is_empty(self) -> bool:
        return not self._queued and not self._in_flight

    @property
    def in_flight(self) -> int:
        """Number of batches in flight."""
        return len(self._in_flight)

    @property
    def head(self) -> SequencedBatch | None:
        """Next batch to send; None if nothing is queued."""
        return self._queued[0] if self._queued else None

    @property
    def last_sent(self) -> SequencedBatch | None:
        """Last batch that may have landed: in flight, or queued again after a rewind."""
        again = (batch for batch in reversed(self._queued) if batch.was_sent)
        return next(again, self._in_flight[-1] if self._in_flight else None)

    @property
    def oldest_in_doubt_ms(self) -> float:
        """Smallest max_timestamp of the in-flight batches that may have landed; inf without any."""
        in_doubt = (batch for batch in self._in_flight if batch.is_in_doubt)
        return min((batch.max_timestamp_ms for batch in in_doubt), default=inf)

    @property
    def oldest_written_ms(self) -> int | None:
        """max_timestamp of the oldest unacknowledged batch; None if there is none."""
        oldest = self._in_flight or self._queued
        return oldest[0].max_timestamp_ms if oldest else None

    def queued(self) -> Sequence[SequencedBatch]:
        """Returns the queued batches, in order."""
        return tuple(self._queued)

    def is_first_in_flight(self, batch: SequencedBatch) -> bool:
        """Returns True when every batch before this one is acknowledged."""
        return bool(self._in_flight) and self._in_flight[0] is batch

    def append(self, batch: SequencedBatch) -> None:
        self._queued.append(batch)
        self.size_bytes += batch.size_bytes

    def take(self) -> SequencedBatch:
        """Returns the next batch, now in flight."""
        batch = self._queued.popleft()
        batch.was_sent = True
        self._in_flight.append(batch)
        return batch

    def rewind(self) -> None:
        """Puts the batches in flight back to the front, in the same order.

        A batch that was acknowledged behind an unacknowledged one is sent and acknowledged again.
        """
        for batch in self._in_flight:
            batch.base_offset = None
        self._queued.extendleft(reversed(self._in_flight))
        self._in_flight.clear()

    def replace_first(self, count: int, batches: Sequence[SequencedBatch]) -> None:
        """Replaces the first `count` queued batches."""
        for _ in range(count):
            self.size_bytes -= self._queued.popleft().size_bytes
        self._queued.extendleft(reversed(batches))
        self.size_bytes += sum(batch.size_bytes for batch in batches)

    def pop_acknowledged(self) -> SequencedBatch | None:
        """Removes the first batch in flight and returns it; None if it is not acknowledged."""
        if not self._in_flight or self._in_flight[0].base_offset is None:
            return None
        batch = self._in_flight.popleft()
        self.size_bytes -= batch.size_bytes
        return batch

    def drop_unsent(self) -> int | None:
        """Drops the batches that were never sent; those that may have landed stay.

        Returns the sequence of the first dropped batch, or None if nothing was dropped.
        """
        sequence = None
        while self._queued and not self._queued[-1].was_sent:
            batch = self._queued.pop()
            sequence = batch.sequence
            self.size_bytes -= batch.size_bytes
        return sequence
