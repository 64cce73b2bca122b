"""Sink: the parts of a loader session that depend on the store of its feed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from aggregator.formats.record_slice import RecordSlice
from aggregator.intents.intent import Intent
from aggregator.loader.held_partition import HeldPartition
from aggregator.store.schema_reader import TableFacts
from balancer.topic_partition import TopicPartition

Intents = Mapping[TopicPartition, Intent]


class Forming(Protocol):
    """Way of the records that were read into the store."""

    async def run(self) -> None:
        """Forms and stores until cancelled. Raises what a commit raises."""

    async def drop(self, place: TopicPartition) -> None:
        """Ends the work on a partition. What was sent may still be stored."""

    def filled(self) -> None:
        """Notes that records came in."""


class Tables(Protocol):
    """Tables of the topics, as reports show them."""

    @property
    def waiting(self) -> Mapping[tuple[str, str], str]:
        """Reasons by topic and table, for tables that no block may be inserted into."""

    def is_held(self, topic: str, table: str) -> bool:
        """Returns True while nothing is inserted into a table because it has too many parts."""

    def facts(self, topic: str, table: str) -> TableFacts | None:
        """Returns a table as it was read last; None if it is not known."""


class Sink(Protocol):
    """Parts of a session for all its partitions: a TableSink or an ObjectSink."""

    @property
    def forming(self) -> Forming: ...

    @property
    def tables(self) -> Tables: ...

    @property
    def partition_bytes_max(self) -> int:
        """Memory of one partition's buffers, above which it is not fetched."""

    @property
    def read_bytes_max(self) -> int:
        """The same for all partitions of a loader together."""

    @property
    def flush_seconds(self) -> float:
        """Interval of the forced flushes of partitions that have any."""

    def now(self) -> float:
        """Returns the time by the clock of buffers' ages, in seconds."""

    def hold(self, place: TopicPartition, intent: Intent, leader_epoch: int) -> HeldPartition[Any]:
        """Returns a partition that was acquired, at its intent.

        Args:
            leader_epoch: of the source, as it was checked; -1: it has to be checked.
        """

    def route(
        self, place: TopicPartition, records: RecordSlice, incarnation: int
    ) -> Mapping[str, RecordSlice]:
        """Returns the records of a partition by table, or by encoded partition.

        Args:
            incarnation: of the partition's log, since names of objects have that.

        Raises:
            BrokenBatch: the records are not what the format says.
            SchemasWanted: the records are fetched once more, when these are known.
        """

    async def recall(self, intents: Intents) -> Intents:
        """Completes intents that were taken over by what is told elsewhere."""

    def unloaded(self) -> Mapping[str, str]:
        """Returns why parts of records are not loaded, by topic."""

    async def close(self) -> None:
        """Ends the connections to the store."""
