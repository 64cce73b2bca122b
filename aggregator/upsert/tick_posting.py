"""Posting of an upsert table's ticks: the input of its key coordinator, left by the coordinator's
driver.

A small file in the folder of the run, replaced as a whole. Spark's source of ticks asks it many
times a second for the newest tick.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from aggregator.upsert.tick import Tick
from replicator.runtime.private_files import write_private

CLOCK_STEP_NS = 100_000_000
"""Longest step of a file system's clock."""


class UnknownTick(Exception):
    """A tick is not posted: another process posts ticks of the table, or a checkpoint is not its
    own."""


@dataclass(frozen=True, slots=True)
class TickPosting:
    """Ticks that a key coordinator may fold.

    Args:
        generation: of the table's history.
        begin: tick at which a new checkpoint begins, with the state read from the store; 0: empty.
        claimed: number of the newest claimed tick. Tasks of a claimed tick write nothing.
        ticks: in order of their numbers, without gaps. The last one is the newest; earlier ones are
            those that a checkpoint may lack.
        is_new: no process has begun with the newest tick before.
    """

    generation: int
    begin: int
    claimed: int
    ticks: tuple[Tick, ...] = ()
    is_new: bool = False

    @property
    def newest(self) -> int:
        """Number of the newest tick, or of the bootstrap while there is none."""
        return self.ticks[-1].number if self.ticks else self.begin

    def tick(self, number: int) -> Tick:
        """Returns a tick. Raises UnknownTick."""
        for each in self.ticks:
            if each.number == number:
                return each
        known = f"{self.ticks[0].number} to {self.newest}" if self.ticks else "none"
        raise UnknownTick(f"tick {number} is not posted; those that are: {known}")


class FactReader(Protocol):
    """Reader of a table's facts. Pickled: tasks are made on the driver's host and done anywhere.

    All it yields is of the schema FACTS, and the same each time, whatever has failed before.
    """

    def tick_tasks(self, posting: TickPosting, tick: Tick) -> Sequence[Any]:
        """Returns the tasks of a tick. An executor does each of them, pickled."""

    def bootstrap_tasks(self, generation: int, tick: int) -> Sequence[Any]:
        """Returns the tasks that read the state at a tick from the store."""

    def read(self, task: Any, *, is_first_attempt: bool) -> Iterator[pa.RecordBatch]:
        """Does a task of either kind.

        Args:
            is_first_attempt: Spark has not begun with the task before.
        """


@dataclass(frozen=True, slots=True)
class TickPostingFile:
    """File of the posting, and beside it one of the table's reader.

    Whoever can replace them runs code as the daemon's user, so they belong into a private folder.
    """

    path: Path

    def write(self, posting: TickPosting) -> None:
        """Replaces the posting: a reader sees the old one or the new one, whole. Raises OSError."""
        write_private(self.path, pickle.dumps(posting))

    def read(self) -> TickPosting | None:
        """Returns the posting; None before the first one."""
        try:
            found = pickle.loads(self.path.read_bytes())
        except FileNotFoundError:
            return None
        assert isinstance(found, TickPosting)
        return found

    def write_reader(self, reader: FactReader) -> None:
        """Leaves the reader of the table's facts. Raises OSError."""
        write_private(self._reader_path, pickle.dumps(reader))

    def read_reader(self) -> FactReader:
        """Returns the reader of the table's facts. Raises OSError."""
        found: FactReader = pickle.loads(self._reader_path.read_bytes())
        return found

    @property
    def _reader_path(self) -> Path:
        return self.path.with_name(f"{self.path.name}.reader")


class WatchedPosting:
    """Posting that is read again only when its file was replaced."""

    def __init__(self, file: TickPostingFile) -> None:
        self._file = file
        self._seen: tuple[int, int] | None = None
        self._posting: TickPosting | None = None

    def read(self) -> TickPosting | None:
        """Returns the posting; None before the first one."""
        try:
            found = self._file.path.stat()
        except FileNotFoundError:
            return None
        seen = found.st_ino, found.st_mtime_ns
        if seen != self._seen:
            self._posting = self._file.read()
            # An inode may be used again within one step of the file system's clock.
            is_old = time.time_ns() - found.st_mtime_ns > CLOCK_STEP_NS
            self._seen = seen if is_old else None
        return self._posting
