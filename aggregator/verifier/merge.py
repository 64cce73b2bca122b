"""Merge of several ordered streams into one by time, by clocks that differ by a bounded skew. Pure.

Within a stream the order stays as it is, also where its times go back: its clock was exchanged for
another one. Of two items of different streams the earlier one comes first, unless their times
differ by the skew or less: then their order is not known.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from heapq import heappop, heappush
from typing import Generic, NamedTuple, TypeVar

Item = TypeVar("Item")


class _Waiting(NamedTuple, Generic[Item]):
    at_ms: int
    number: int
    item: Item


class TimedMerge(Generic[Item]):
    """Items of all streams that wait for those that may still come before them.

    Args:
        streams: all of them; nothing is released before each has told how far it is.
        skew_ms: largest difference between the clocks.
        items_max: items that may wait. A stream that stands still, behind an open transaction, then
            no longer holds up the others.
    """

    def __init__(self, streams: Iterable[Hashable], skew_ms: int, items_max: int = 100_000) -> None:
        self._skew_ms = skew_ms
        self._items_max = items_max
        self._reached: dict[Hashable, int | None] = dict.fromkeys(streams)
        self._waiting: list[_Waiting[Item]] = []
        self._number = 0

    def add(self, stream: Hashable, at_ms: int, item: Item) -> None:
        """Adds the next item of a stream."""
        at_ms = max(at_ms, self._reached[stream] or 0)
        self._reached[stream] = at_ms
        # Numbers keep the order of a stream among items of one time.
        heappush(self._waiting, _Waiting(at_ms, self._number, item))
        self._number += 1

    def reach(self, stream: Hashable, at_ms: int) -> None:
        """Notes that every item of a stream up to this time was added."""
        self._reached[stream] = max(at_ms, self._reached[stream] or 0)

    def take(self) -> Iterator[Item]:
        """Yields, in order, the items that nothing can come before any more."""
        times = [at_ms for at_ms in self._reached.values() if at_ms is not None]
        is_known = times and len(times) == len(self._reached)
        released_to = min(times) - self._skew_ms if is_known else -1
        while self._waiting and (
            self._waiting[0].at_ms <= released_to or len(self._waiting) > self._items_max
        ):
            yield heappop(self._waiting).item

    def rest(self) -> Iterator[Item]:
        """Yields, in order, all items that still wait; for streams that have ended."""
        while self._waiting:
            yield heappop(self._waiting).item
