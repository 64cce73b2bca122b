"""Source gaps of one partition: source offsets without a record, before records not yet landed.

Sequences count records and know nothing of gaps. Therefore an entry lists the gaps, and a batch
behind a gap is not sent before an entry that lists the gap is committed.
"""

from __future__ import annotations

from collections import deque

from replicator.mirror.ledger.entry import (
    METADATA_BYTES_MAX,
    OTHER_FIELDS_BYTES_MAX,
    SEQUENCE_MASK,
    Gap,
)

HALF_CIRCLE = 1 << 30


class SourceGaps:
    """Gaps that were read, each with the sequence of the first record behind it.

    Args:
        sequence: next sequence of the partition.
        bytes_max: size of the gaps that one entry may list.
    """

    def __init__(
        self, sequence: int, bytes_max: int = METADATA_BYTES_MAX - OTHER_FIELDS_BYTES_MAX
    ) -> None:
        self.covered_to = sequence
        """Sequence up to which a committed entry lists every gap."""
        self._bytes_max = bytes_max
        # (first sequence behind the gap, source offsets skipped)
        self._gaps: deque[tuple[int, int]] = deque()

    def add(self, sequence: int, skipped: int) -> None:
        """Adds a gap of `skipped` source offsets before the record with this sequence.

        A gap of 0 is not listed; what is behind it waits for a committed entry all the same.
        """
        self._gaps.append((sequence, skipped))

    def shorten(self, sequence: int, skipped: int) -> None:
        """Takes `skipped` source offsets from the gap before the record with this sequence."""
        if self._gaps and self._gaps[0][0] == sequence:
            self._gaps[0] = (sequence, max(0, self._gaps[0][1] - skipped))

    def drop_from(self, sequence: int) -> None:
        """Drops the gaps before records from this sequence on, which will be read again."""
        while self._gaps and not _is_before(self._gaps[-1][0], sequence):
            self._gaps.pop()

    def drop_before(self, sequence: int) -> None:
        """Drops the gaps before records with lower sequences, which have landed."""
        while self._gaps and _is_before(self._gaps[0][0], sequence):
            self._gaps.popleft()

    def listed(self, begin: int, end: int) -> tuple[tuple[Gap, ...], int]:
        """Returns as many gaps as fit into an entry, and the sequence before which every gap is
        listed.

        Args:
            begin: sequence of the entry.
            end: next sequence of the partition.
        """
        gaps: list[Gap] = []
        size, last = 0, begin
        for sequence, skipped in self._gaps:
            if not skipped:
                continue
            gap = Gap((sequence - last) & SEQUENCE_MASK, skipped)
            size += len(f"{gap.records},{gap.skipped},")
            if size > self._bytes_max:
                return tuple(gaps), sequence
            gaps.append(gap)
            last = sequence
        return tuple(gaps), end

    def are_covered(self, end: int) -> bool:
        """Returns True when a committed entry lists every gap before this sequence."""
        for sequence, _ in reversed(self._gaps):
            if _is_before(sequence, self.covered_to):
                return True
            if _is_before(sequence, end):
                return False
        return True


def _is_before(sequence: int, other: int) -> bool:
    """Returns True when `sequence` precedes `other` on the circle of 2^31 sequences."""
    return 0 < ((other - sequence) & SEQUENCE_MASK) < HALF_CIRCLE
