"""Records of one partition on their way to the application: held, released or skipped.

Records that the group has read elsewhere are skipped. Runs show which records these are. A record
whose run is not published yet waits, and all records behind it in the partition wait with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Generic, NamedTuple, TypeVar

from replicator.groups.progress.partition_in_region import PartitionInRegion, Vector
from replicator.groups.progress.skipping import RecordState, is_past, record_state

Item = TypeVar("Item")

CHECK_RECORDS = 64
"""Offsets between two checks whether everything that follows is unread. Such a check costs more
than the lookup of one run.
"""


class Step(NamedTuple, Generic[Item]):
    """Record that may go on: handed out, or skipped (item is None).

    next_offset is None for an error of the consumer, which is no record and keeps its place in the
    order.
    """

    next_offset: int | None
    item: Item | None


class PartitionRecords(Generic[Item]):
    """Filter between a partition's log and the application. No I/O, no clock.

    Args:
        read: the initial vector: the group has read every record of a region below its offset.
        is_tracking: True if every record's origin must be known, so that the vector after it is.
            Otherwise runs are needed only until everything that follows is unread.
    """

    def __init__(self, read: Vector, *, is_tracking: bool = False) -> None:
        self._read = dict(read)
        self._is_tracking = is_tracking
        self._held: deque[tuple[int | None, Item]] = deque()
        self.fetched = 0
        """Offset before which everything was taken in. A repeated record is dropped."""
        self._past_at = None if is_tracking or any(self._read.values()) else 0
        self.is_open = self._past_at is not None
        """True if records may pass without a lookup: all that follow are unread, and
        none is held.
        """
        self._check_at = 0
        self.set_runs(PartitionInRegion({}))

    @property
    def needs_runs(self) -> bool:
        return self._past_at is None

    @property
    def held(self) -> int:
        """Number of records that wait."""
        return len(self._held)

    @property
    def first_held(self) -> int | None:
        """Offset of the first record that waits; all others wait behind it."""
        return next((offset for offset, _ in self._held if offset is not None), None)

    def set_runs(self, aggregate: PartitionInRegion) -> None:
        """Sets the runs by which records are judged from now on.

        After a source topic was recreated, or a loss accepted, the vector may mean other records
        than those that have its offsets now. No record of that region then counts as read. See
        RunsMemory.
        """
        recreated = {region.partition("/")[0] for region in aggregate.known if "/" in region}
        lossy = {region for region, known in aggregate.known.items() if known.losses}
        self._aggregate = aggregate
        unsure = recreated | lossy
        self._skip_below = {name: end for name, end in self._read.items() if name not in unsure}
        self._check_at = 0

    def start(self, committed: int | None, log_start: int) -> int:
        """Returns the start offset for an application that stores its own vector: the lower of the
        commit and the vector's offset.

        The offset is never past the first unread record. Runs that are not known make it lower.
        """
        full = {region: self._skip_below.get(region, 0) for region in self._aggregate.known}
        place = self._aggregate.resume(full)
        found = [at for at in (committed, place.offset if place else None) if at is not None]
        return max(log_start, min(found, default=log_start))

    def begin(self, offset: int) -> None:
        """Continues reading at an offset; held records are dropped."""
        self._held.clear()
        self.fetched = offset

    def take(self, offset: int | None, item: Item) -> None:
        """Takes in one fetched record, or an error without an offset."""
        if offset is not None:
            if offset < self.fetched:
                return
            self.fetched = offset + 1
        self._held.append((offset, item))
        self.is_open = False

    def release(self, *, even_unknown: bool = False) -> Iterator[Step[Item]]:
        """Yields the records that may go on now, in the order of the log.

        Args:
            even_unknown: also releases records of which it is not known whether they were read.
        """
        while self._held:
            offset, item = self._held[0]
            found = RecordState.UNREAD if offset is None else self._state(offset)
            if found is RecordState.UNKNOWN and not even_unknown:
                return
            self._held.popleft()
            next_offset = None if offset is None else offset + 1
            yield Step(next_offset, None if found is RecordState.READ else item)
        self.is_open = self._past_at is not None

    def vector(self, offset: int) -> dict[str, int]:
        """Returns the vector for a commit at an offset, with everything before it handed out.

        Without tracking, this is the initial vector until runs show that everything from the offset
        on is unread. Then it is empty, so that it does not outlive the source topics that it refers
        to.
        """
        vector = dict(self._skip_below)
        if not self._is_tracking:
            return {} if self._is_past(offset) else vector
        for region, known in self._aggregate.known.items():
            place = known.runs.source_floor(offset)
            if "/" not in region:
                vector[region] = max(vector.get(region, 0), place.offset if place else 0)
        return vector

    def _state(self, offset: int) -> RecordState:
        if self._past_at is not None:
            return RecordState.UNREAD
        found = record_state(self._aggregate, offset, self._skip_below)
        if not self._is_tracking and (found is RecordState.UNKNOWN or offset >= self._check_at):
            self._check_at = offset + CHECK_RECORDS
            if self._is_past(offset):
                self._past_at = offset
                return RecordState.UNREAD
        return found

    def _is_past(self, offset: int) -> bool:
        if self._past_at is not None:
            return offset >= self._past_at
        return bool(self._aggregate.known) and is_past(self._aggregate, offset, self._skip_below)
