"""State of one partition while it is assigned to this consumer: its records, runs and commits."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

from confluent_kafka import Message

from balancer.topic_partition import TopicPartition
from replicator.groups.progress.partition_in_region import Vector
from replicator.groups.progress.vector_metadata import encode
from replicator.groups.resume.partition_records import PartitionRecords, Step
from replicator.groups.resume.patience import Patience
from replicator.groups.resume.runs_memory import RunsMemory
from replicator.groups.resume.runs_reader import Answer, Question
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from replicator.mirror.offset_map.run_columns import RunsContradict

logger = logging.getLogger(__name__)

HELD_MAX = 10_000
HELD_BYTES_MAX = 16 * 2**20
"""Records held, and bytes of their values, above which no more of a partition is fetched.
librdkafka itself fetches up to 64 MiB ahead.
"""
TRIM_OFFSETS = 1_000_000
"""Offsets behind the position at which runs are forgotten even if nothing is ever committed. The
vector after an older message is then no longer known.
"""


class AssignedPartition:
    """State of one partition, from its assignment to its revocation.

    Args:
        committed: the group's commit; None if it has none.
        read: the vector of the commit or, with `is_stored`, the vector that the application stored.
        regions: the source regions with a route into this region.
        is_tracking: True if the vector after every message is needed.
        is_stored: True if `read` is the truth, whatever was committed. The start offset is then
            computed from it.
        patience_seconds: how long a record may wait for its run.
        held_max: number of records held above which no more is fetched.
    """

    def __init__(
        self,
        partition: TopicPartition,
        committed: OffsetAndMetadata | None,
        read: Vector,
        *,
        regions: Iterable[str],
        is_tracking: bool,
        is_stored: bool,
        patience_seconds: float,
        held_max: int = HELD_MAX,
    ) -> None:
        self.partition = partition
        self.question = Question(wants_start=is_stored)
        self.committed = committed
        self.is_positioned = not is_stored
        """True once the partition is read from its start offset. Messages fetched before that are
        dropped.
        """
        self.position: int | None = None
        """Offset before which everything was handed out or skipped here; None: nothing was."""
        self.is_paused = False
        """True while fetching is paused, until no record is held."""
        self._held_max = held_max
        self._held_bytes = 0
        self.patience = Patience(patience_seconds)
        self.trouble: str | None = None
        self.start: int | None = None
        """Start offset according to the stored vector; None until it is known."""
        self._regions = tuple(regions)
        self._has_logged_recreated = False
        self._has_logged_too_long = False
        self._is_tracking = is_tracking
        self._memory = RunsMemory(self._regions)
        self.records: PartitionRecords[Message] = PartitionRecords(read, is_tracking=is_tracking)
        self.records.set_runs(self._memory.aggregate())
        if committed is not None and self.is_positioned:
            self.records.begin(committed.offset)

    @property
    def wants_runs(self) -> bool:
        return not self.is_positioned or (self.records.needs_runs and self.records.held > 0)

    def learn(self, answer: Answer) -> None:
        """Takes in newly published runs, and forgets those that nobody will ask for again."""
        try:
            for pieces in answer.published:
                self._memory.learn(pieces)
            self.trouble = None
        except RunsContradict as contradiction:
            # The runs are read again from the beginning: an accepted loss may have settled the
            # contradiction meanwhile.
            self.trouble = f"runs contradict each other: {contradiction}"
            self._memory, self.question.seen = RunsMemory(self._regions), {}
        self._log_recreated_source()
        if self.is_positioned:
            if (begin := self._needless_below()) is not None:
                self._memory.trim(begin)
            self.records.set_runs(self._memory.aggregate())
        elif answer.log_start is not None and self.trouble is None:
            self.records.set_runs(self._memory.aggregate(answer.log_start))
            committed = self.committed.offset if self.committed else None
            self.start = self.records.start(committed, answer.log_start)

    def begin(self) -> None:
        """Continues reading at `start`."""
        assert self.start is not None
        self.records.begin(self.start)
        self.records.set_runs(self._memory.aggregate())
        self.question.wants_start = False
        self.is_positioned = True

    @property
    def is_unsettled(self) -> bool:
        """Returns True while the partition may still need runs."""
        return not self.is_positioned or self.records.needs_runs

    @property
    def is_full(self) -> bool:
        """Returns True when more than held_max records or HELD_BYTES_MAX bytes are held."""
        return self.records.held > self._held_max or self._held_bytes > HELD_BYTES_MAX

    def take(self, message: Message) -> None:
        """Takes in one fetched message, or an error."""
        offset = message.offset() if message.error() is None else None
        self.records.take(offset, message)
        self._held_bytes += len(message)

    def release(self, *, even_unknown: bool = False) -> Iterator[Step[Message]]:
        """Yields the records that may go to the application now."""
        yield from self.records.release(even_unknown=even_unknown)
        if not self.records.held:
            self._held_bytes = 0

    def commit_at(self, offset: int) -> OffsetAndMetadata:
        """Returns the commit to make once everything before an offset was handled."""
        vector = self.records.vector(offset)
        try:
            return OffsetAndMetadata(offset, encode(vector) if vector else "")
        except ValueError as too_long:
            if not self._has_logged_too_long:
                self._has_logged_too_long = True
                logger.warning(
                    "event=vector-not-committed %s-%d: %s; after a restart the group reads again "
                    "what it has read in other regions",
                    *self.partition,
                    too_long,
                )
            return OffsetAndMetadata(offset, "")

    @property
    def uncommitted(self) -> OffsetAndMetadata | None:
        """Commit for what was handed out and is not committed; None: there is nothing to commit."""
        if self.position is None:
            return None
        if self.committed is not None and self.committed.offset == self.position:
            return None
        return self.commit_at(self.position)

    def _log_recreated_source(self) -> None:
        recreated = {name for name in self._memory.aggregate().known if "/" in name}
        if recreated and not self._has_logged_recreated:
            self._has_logged_recreated = True
            logger.warning(
                "event=source-made-anew %s-%d: the topic of %s was recreated, and records of the "
                "older topic are still here; none of its records is skipped, so the group reads "
                "again what it has read",
                *self.partition,
                ", ".join(sorted({name.partition("/")[0] for name in recreated})),
            )

    def _needless_below(self) -> int | None:
        if self.position is None or not self._is_tracking:
            return self.position
        kept = self.position - TRIM_OFFSETS
        return max(kept, min(self.position, self.committed.offset)) if self.committed else kept
