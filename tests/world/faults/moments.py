"""Moments of faults: the append that a fault is about, awaited or acted upon at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from tests.world.kafka.log_batch import Batch
from tests.world.kafka.partition import Observer, Partition

PATIENCE_SECONDS = 5.0
"""Longest wait for the moment of a fault."""


class NextAppend(Observer):
    """Calls `act` once, with the broker that appends the next batch that is wanted."""

    def __init__(
        self,
        partitions: Iterable[Partition],
        is_wanted: Callable[[Batch], bool],
        act: Callable[[int], object],
    ) -> None:
        self._partitions, self._is_wanted, self._act = list(partitions), is_wanted, act
        for partition in self._partitions:
            partition.observers.append(self)

    def appended(self, partition: Partition, broker: int, batch: Batch) -> None:
        if self._is_wanted(batch):
            self.end()
            self._act(broker)

    def end(self) -> None:
        for partition in self._partitions:
            partition.observers.remove(self)
        self._partitions = []


async def appended(partitions: Iterable[Partition], is_wanted: Callable[[Batch], bool]) -> bool:
    """Awaits the next batch that is wanted; returns False if none came in time."""
    is_appended = asyncio.Event()
    awaited = NextAppend(partitions, is_wanted, lambda _: is_appended.set())
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await is_appended.wait()
    except TimeoutError:
        awaited.end()
    return is_appended.is_set()


def has_records(batch: Batch) -> bool:
    """Returns True for a batch that is no marker."""
    return not batch.is_marker
