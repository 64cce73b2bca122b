"""Reader of a recording: finds frames and rebuilds their snapshots. It changes nothing.

A recording can be read while it is written: frames come at its end and go at its beginning.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from tui.facts.snapshot import Snapshot
from tui.recording.frame import Frame, Kind, snapshot_of, tables_of
from tui.recording.recording_file import (
    BUSY_SECONDS,
    NoRecording,
    check_version,
    damage_named,
    refuse_others,
)
from tui.recording.tables import Damaged, Tables


@dataclass(frozen=True, slots=True)
class Moment:
    """Place of a frame in a recording.

    Args:
        at: Unix seconds.
        mark: what got worse with this frame; None for nothing.
    """

    frame: int
    at: float
    mark: str | None = None


class Reader:
    """Reader of one recording. Used by one thread at a time; every method may raise Damaged.

    Raises:
        NoRecording: the file is no recording, damaged, of a later version, or without a frame.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        refuse_others(path)
        with damage_named(path):
            self._connection = _connect(path)
            try:
                check_version(path, self._connection)
                if self._moment("ORDER BY id LIMIT 1") is None:
                    raise NoRecording(f"{path} has no frame yet")
            except BaseException:
                self._connection.close()
                raise
        self._unpacked: tuple[int, Tables] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file; never raises."""
        with suppress(sqlite3.Error):
            self._connection.close()

    def first(self) -> Moment:
        """Returns the oldest frame."""
        return self._there("ORDER BY id LIMIT 1")

    def last(self) -> Moment:
        """Returns the newest frame."""
        return self._there("ORDER BY id DESC LIMIT 1")

    def next(self, moment: Moment) -> Moment | None:
        """Returns the frame after this one; None at the end."""
        return self._moment("WHERE id > ? ORDER BY id LIMIT 1", moment.frame)

    def previous(self, moment: Moment) -> Moment | None:
        """Returns the frame before this one; None at the beginning."""
        return self._moment("WHERE id < ? ORDER BY id DESC LIMIT 1", moment.frame)

    def at(self, seconds: float) -> Moment:
        """Returns the last frame that is not later than a time; the first when all are."""
        found = self._moment("WHERE at <= ? ORDER BY at DESC, id DESC LIMIT 1", seconds)
        return found or self.first()

    def next_mark(self, moment: Moment) -> Moment | None:
        """Returns the next frame with which something got worse; None when there is none."""
        return self._moment("WHERE mark IS NOT NULL AND id > ? ORDER BY id LIMIT 1", moment.frame)

    def next_whole(self, moment: Moment) -> Moment | None:
        """Returns the next frame that stands on no other; None when there is none."""
        return self._moment("WHERE kind = 'whole' AND id > ? ORDER BY id LIMIT 1", moment.frame)

    def snapshot(self, moment: Moment) -> Snapshot:
        """Rebuilds the snapshot of a frame from the last whole one, or from the one shown last."""
        try:
            return self._rebuilt(moment)
        except Damaged:
            raise
        except Exception as error:
            # Anything can be in a damaged file; so there is no list of what it leads to.
            text = f"frame {moment.frame} cannot be shown: {type(error).__name__}: {error}"
            raise Damaged(text) from error

    def _rebuilt(self, moment: Moment) -> Snapshot:
        version, tables = 0, None
        begin = self._begin(moment)
        if self._unpacked is not None and begin <= self._unpacked[0] <= moment.frame:
            begin, tables = self._unpacked
            begin += 1
        shown = begin - 1
        self._unpacked = None
        for number, frame in self._frames(begin, moment.frame):
            if tables is not None and frame.kind is Kind.DIFFERENCE and number != shown + 1:
                raise Damaged(f"frame {shown + 1} is missing")
            tables, shown, version = tables_of(frame, tables), number, frame.version
        if tables is None or shown != moment.frame:
            raise Damaged(f"frame {moment.frame} is not there any more")
        self._unpacked = shown, tables
        return snapshot_of(tables, version or self._version(moment))

    def _begin(self, moment: Moment) -> int:
        rows = self._ask(
            "SELECT max(id) FROM frames WHERE kind = 'whole' AND id <= ?", moment.frame
        )
        if rows[0][0] is None:
            raise Damaged(f"frame {moment.frame} is not there any more")
        return int(rows[0][0])

    def _version(self, moment: Moment) -> int:
        rows = self._ask("SELECT version FROM frames WHERE id = ?", moment.frame)
        return int(rows[0][0])

    def _frames(self, begin: int, end: int) -> Iterator[tuple[int, Frame]]:
        # One by one: the frames of a group may take more memory than their tables.
        for number in range(begin, end + 1):
            rows = self._ask("SELECT at, kind, content, version FROM frames WHERE id = ?", number)
            if rows:
                at, kind, content, version = rows[0]
                yield number, Frame(at, Kind(kind), content, version)

    def _there(self, where: str) -> Moment:
        found = self._moment(where)
        if found is None:
            raise Damaged(f"{self.path} has no frame")
        return found

    def _moment(self, where: str, *values: float) -> Moment | None:
        rows = self._ask(f"SELECT id, at, mark FROM frames {where}", *values)
        if not rows:
            return None
        number, at, mark = rows[0]
        if not isinstance(at, float | int):
            raise Damaged(f"frame {number} has no time")
        return Moment(number, at, None if mark is None else str(mark))

    def _ask(self, question: str, *values: float) -> list[Any]:
        try:
            return self._connection.execute(question, values).fetchall()
        except (sqlite3.DatabaseError, MemoryError) as error:
            # A length that was overwritten may be more than there is memory.
            raise Damaged(f"{self.path} cannot be read: {str(error) or 'damaged'}") from None


def _connect(path: Path) -> sqlite3.Connection:
    """Opens the file for reading only.

    A recording whose recorder was killed has a log beside it; in a folder that cannot be written,
    it is read without that log.
    """
    address = f"file:{quote(str(path.absolute()))}"
    for more in ("?mode=ro", "?mode=ro&immutable=1"):
        connection = sqlite3.connect(
            address + more, uri=True, timeout=BUSY_SECONDS, check_same_thread=False
        )
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
        except sqlite3.OperationalError as error:
            connection.close()
            if "unable to open" not in str(error):
                raise NoRecording(f"{path} cannot be read: {error}") from None
        except BaseException:
            connection.close()
            raise
        else:
            return connection
    raise NoRecording(f"{path} cannot be read")
