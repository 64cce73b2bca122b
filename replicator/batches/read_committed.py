"""Filter of a read_committed fetch: leaves out transaction markers and aborted batches.

Kafka's consumer does the same (org.apache.kafka.clients.consumer.internals.CompletedFetch). The
broker lists the aborted transactions that touch the fetch. The reader leaves out their batches
until it meets the abort marker.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from replicator.batches.batch import ControlKind, Header, control_kind


class ReadCommittedFilter:
    """Accepts the batches of one fetch that hold committed records; is asked in batch order."""

    __slots__ = ("_aborted", "_ahead")

    def __init__(self, aborted_transactions: Iterable[tuple[int, int]] | None) -> None:
        """Takes the aborted transactions of the fetch response as (producer id, first offset)."""
        by_offset = sorted(aborted_transactions or (), key=lambda aborted: aborted[1])
        self._ahead = deque(by_offset)
        self._aborted: set[int] = set()

    @property
    def is_trivial(self) -> bool:
        """True if no aborted transaction touches the rest of the fetch; it may hold markers."""
        return not self._ahead and not self._aborted

    def accepts(self, header: Header, view: memoryview | bytes) -> bool:
        """Returns True if the batch holds records that a read_committed consumer would see."""
        while self._ahead and self._ahead[0][1] < header.next_offset:
            self._aborted.add(self._ahead.popleft()[0])
        if header.is_control:
            if header.producer_id in self._aborted and control_kind(view) is ControlKind.ABORT:
                self._aborted.discard(header.producer_id)
            return False
        return not (header.is_transactional and header.producer_id in self._aborted)
