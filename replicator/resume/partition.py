"""One partition on its way to the application: what waits, what goes on, and what was read by then.

Records that the group has read elsewhere are left out. Whether it has is told by runs; a record
whose run is not told yet waits, and all behind it in its partition waits with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Generic, NamedTuple, TypeVar

from replicator.progress.aggregate import Aggregate, Vector
from replicator.progress.skipping import Standing, is_past, standing

Item = TypeVar("Item")

LOOK_RECORDS = 64
"""So often it is asked whether everything from here on is unread; that costs more than a lookup."""


class Step(NamedTuple, Generic[Item]):
    """One record that may go: handed out, or skipped (item is None).

    next_offset is None for what is no record: a consumer's errors keep their place in the order.
    """

    next_offset: int | None
    item: Item | None


class Partition(Generic[Item]):
    """What stands between a partition's log and the application. No I/O, no clock.

    Args:
        read: the vector begun with: of each region, everything below was read elsewhere.
        is_tracking: every record's origin has to be known, so that the vector after it is. Else
            runs are needed only until everything that follows is unread.
    """

    def __init__(self, read: Vector, *, is_tracking: bool = False) -> None:
        self._read = dict(read)
        self._is_tracking = is_tracking
        self._held: deque[tuple[int | None, Item]] = deque()
        self.fetched = 0
        """Everything before this offset was taken in; what comes a second time is dropped."""
        self._past_at = None if is_tracking or any(self._read.values()) else 0
        self.is_open = self._past_at is not None
        """Everything may pass unseen: nothing that follows was read, nothing is held."""
        self._look_at = 0
        self.know(Aggregate({}))

    @property
    def needs_runs(self) -> bool:
        return self._past_at is None

    @property
    def held(self) -> int:
        """How many records wait."""
        return len(self._held)

    @property
    def first_held(self) -> int | None:
        """The offset of the record that all others wait behind."""
        return next((offset for offset, _ in self._held if offset is not None), None)

    def know(self, aggregate: Aggregate) -> None:
        """Judge by this from now on.

        Where a region's source topic was made anew, or a loss was accepted, the vector may speak of
        other records than have its offsets now: nothing of it is taken for read. See RunsMemory.
        """
        anew = {region.partition("/")[0] for region in aggregate.known if "/" in region}
        lossy = {region for region, known in aggregate.known.items() if known.losses}
        self._aggregate = aggregate
        self._skipped = {name: end for name, end in self._read.items() if name not in anew | lossy}
        self._look_at = 0

    def start(self, committed: int | None, log_start: int) -> int:
        """From where to read with a vector that is the truth, whatever was committed.

        Never behind the first unread record: what was not told makes the answer lower.
        """
        full = {region: self._skipped.get(region, 0) for region in self._aggregate.known}
        place = self._aggregate.resume(full)
        found = [at for at in (committed, place.offset if place else None) if at is not None]
        return max(log_start, min(found, default=log_start))

    def begin(self, offset: int) -> None:
        """Reading goes on from here; what is held is dropped."""
        self._held.clear()
        self.fetched = offset

    def take(self, offset: int | None, item: Item) -> None:
        """One fetched record, or something without an offset."""
        if offset is not None:
            if offset < self.fetched:
                return
            self.fetched = offset + 1
        self._held.append((offset, item))
        self.is_open = False

    def release(self, *, even_untold: bool = False) -> Iterator[Step[Item]]:
        """What may go now, in the log's order.

        Args:
            even_untold: also records of which nobody knows whether they were read.
        """
        while self._held:
            offset, item = self._held[0]
            found = Standing.UNREAD if offset is None else self._standing(offset)
            if found is Standing.UNTOLD and not even_untold:
                return
            self._held.popleft()
            next_offset = None if offset is None else offset + 1
            yield Step(next_offset, None if found is Standing.READ else item)
        self.is_open = self._past_at is not None

    def vector(self, offset: int) -> dict[str, int]:
        """What was read once everything before an offset was handed out; to be kept with it.

        Without tracking it is the vector begun with, until runs at the offset say as much: then
        it is empty, so that it cannot outlive the source topics it speaks of.
        """
        vector = dict(self._skipped)
        if not self._is_tracking:
            return {} if self._is_past(offset) else vector
        for region, known in self._aggregate.known.items():
            place = known.runs.source_floor(offset)
            if "/" not in region:
                vector[region] = max(vector.get(region, 0), place.offset if place else 0)
        return vector

    def _standing(self, offset: int) -> Standing:
        if self._past_at is not None:
            return Standing.UNREAD
        found = standing(self._aggregate, offset, self._skipped)
        if not self._is_tracking and (found is Standing.UNTOLD or offset >= self._look_at):
            self._look_at = offset + LOOK_RECORDS
            if self._is_past(offset):
                self._past_at = offset
                return Standing.UNREAD
        return found

    def _is_past(self, offset: int) -> bool:
        if self._past_at is not None:
            return offset >= self._past_at
        return bool(self._aggregate.known) and is_past(self._aggregate, offset, self._skipped)
