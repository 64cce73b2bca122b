"""Sink: the parts of a loader session that depend on the store of its feed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from aggregator.formats.record_slice import RecordSlice
from aggregator.intents.intent import Intent
from aggregator.loader.held_partition import HeldPartition
from aggregator.loader.reporting import Tables
from balancer.topic_partition import TopicPartition


class Forming(Protocol):
    """Way of the records that were read into the store."""

    async def run(self) -> None:
        """Forms and stores until cancelled. Raises what a commit raises."""

    async def drop(self, place: TopicPartition) -> None:
        """Ends the work on a partition. What was sent may still be stored."""

    def filled(self) -> None:
        """Notes that records came in."""


Intents = Mapping[TopicPartition, Intent]


async def as_they_are(intents: Intents) -> Intents:
    """Returns intents that say everything themselves."""
    return intents


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    """Parts of a loader session.

    Args:
        forming: of all partitions.
        hold: makes a partition of what was acquired: its intent, and the source's leader epoch.
        route: returns the records of a partition by table, or by encoded partition; by the
            incarnation of its log, since names of objects have that.
        clock: of buffers' ages.
        tables: of the reports.
        partition_bytes_max: memory of one partition's buffers, above which it is not fetched.
        read_bytes_max: the same for all partitions of a loader together.
        flush_seconds: interval of the forced flushes of partitions that have any.
        close: ends the connections to the store.
        recall: completes intents that were taken over by what is told elsewhere.
        unloaded: returns why parts of records are not loaded, by topic.
    """

    forming: Forming
    hold: Callable[[TopicPartition, Intent, int], HeldPartition[Any]]
    route: Callable[[TopicPartition, RecordSlice, int], Mapping[str, RecordSlice]]
    clock: Callable[[], float]
    tables: Tables
    partition_bytes_max: int
    read_bytes_max: int
    flush_seconds: float
    close: Callable[[], Awaitable[None]]
    recall: Callable[[Intents], Awaitable[Intents]] = as_they_are
    unloaded: Callable[[], Mapping[str, str]] = dict
