"""State of one partition while it is assigned to this consumer: its records, runs and commits."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

from confluent_kafka import Message

from balancer.plan import TopicPartition
from replicator.groups.progress.aggregate import Vector
from replicator.groups.progress.vector_metadata import encode
from replicator.groups.resume.partition import Partition, Step
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


class Assigned:
    """State of one partition, from its assignment to its revocation.

    Args:
        regions: the source regions with a route into this region.
        committed: the group's commit; None if it has none.
        read: the vector of the commit or, with `is_stored`, the vector that the application stored.
        is_tracking: True if the vector after every message is needed.
        is_stored: True if `read` is the truth, whatever was committed. The start offset is then
            computed from it.
        patience_seconds: how long a record may wait for its run.
    """

    def __init__(
        self,
        place: TopicPartition,
        regions: Iterable[str],
        committed: OffsetAndMetadata | None,
        read: Vector,
        *,
        is_tracking: bool,
        is_stored: bool,
        patience_seconds: float,
    ) -> None:
        self.place = place
        self.question = Question(wants_start=is_stored)
        self.committed = committed
        self.is_placed = not is_stored
        """True once the partition is read from its start offset. Messages fetched before that are
        dropped.
        """
        self.position: int | None = None
        """Offset before which everything was handed out or skipped here; None: nothing was."""
        self.is_paused = False
        """True while fetching is paused, until no record is held."""
        self._held_bytes = 0
        self.patience = Patience(patience_seconds)
        self.trouble: str | None = None
        self.start: int | None = None
        """Start offset according to the stored vector; None until it is known."""
        self._regions = tuple(regions)
        self._is_anew = False
        self._is_too_long = False
        self._is_tracking = is_tracking
        self._memory = RunsMemory(self._regions)
        self.partition: Partition[Message] = Partition(read, is_tracking=is_tracking)
        self.partition.know(self._memory.aggregate())
        if committed is not None and self.is_placed:
            self.partition.begin(committed.offset)

    @property
    def wants_runs(self) -> bool:
        return not self.is_placed or (self.partition.needs_runs and self.partition.held > 0)

    def learn(self, answer: Answer) -> None:
        """Takes in newly published runs, and forgets those that nobody will ask for again."""
        try:
            for told in answer.told:
                self._memory.learn(told)
            self.trouble = None
        except RunsContradict as contradiction:
            # The runs are read again from the beginning: an accepted loss may have settled the
            # contradiction meanwhile.
            self.trouble = f"runs contradict each other: {contradiction}"
            self._memory, self.question.seen = RunsMemory(self._regions), {}
        self._look_for_anew()
        if self.is_placed:
            if (begin := self._needless_below()) is not None:
                self._memory.trim(begin)
            self.partition.know(self._memory.aggregate())
        elif answer.log_start is not None and self.trouble is None:
            self.partition.know(self._memory.aggregate(answer.log_start))
            committed = self.committed.offset if self.committed else None
            self.start = self.partition.start(committed, answer.log_start)

    def begin(self) -> None:
        """Continues reading at `start`."""
        assert self.start is not None
        self.partition.begin(self.start)
        self.partition.know(self._memory.aggregate())
        self.question.wants_start = False
        self.is_placed = True

    @property
    def is_unsettled(self) -> bool:
        """Returns True while the partition may still need runs."""
        return not self.is_placed or self.partition.needs_runs

    @property
    def is_full(self) -> bool:
        """Returns True when more than HELD_MAX records or HELD_BYTES_MAX bytes are held."""
        return self.partition.held > HELD_MAX or self._held_bytes > HELD_BYTES_MAX

    def take(self, message: Message) -> None:
        """Takes in one fetched message, or an error."""
        offset = message.offset() if message.error() is None else None
        self.partition.take(offset, message)
        self._held_bytes += len(message)

    def release(self, *, even_untold: bool = False) -> Iterator[Step[Message]]:
        """Yields the records that may go to the application now."""
        yield from self.partition.release(even_untold=even_untold)
        if not self.partition.held:
            self._held_bytes = 0

    def commit_at(self, offset: int) -> OffsetAndMetadata:
        """Returns the commit to make once everything before an offset was handled."""
        vector = self.partition.vector(offset)
        try:
            return OffsetAndMetadata(offset, encode(vector) if vector else "")
        except ValueError as too_long:
            if not self._is_too_long:
                self._is_too_long = True
                logger.warning(
                    "event=vector-not-committed %s-%d: %s; after a restart what was read elsewhere "
                    "comes again",
                    *self.place,
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

    def _look_for_anew(self) -> None:
        anew = {name for name in self._memory.aggregate().known if "/" in name}
        if anew and not self._is_anew:
            self._is_anew = True
            logger.warning(
                "event=source-made-anew %s-%d: the topic of %s was made anew, and records of the "
                "older one are still here; nothing of it is skipped, what was read comes again",
                *self.place,
                ", ".join(sorted({name.partition("/")[0] for name in anew})),
            )

    def _needless_below(self) -> int | None:
        if self.position is None or not self._is_tracking:
            return self.position
        kept = self.position - TRIM_OFFSETS
        return max(kept, min(self.position, self.committed.offset)) if self.committed else kept
