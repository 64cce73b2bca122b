"""Recording file: a SQLite database with the frames of one or several runs of a recorder.

about    key, value: `version` (frame.VERSION of the newest frame), `program`, `began_at`
frames   id, at (Unix seconds), kind (whole or difference), version, mark, content (zlib of JSON)

A difference is to the frame with the id before its own. `mark` says what got worse (recorder.py).

The file is in WAL mode while it is written: a replay can read it meanwhile, and a recorder that is
killed leaves it whole. A recorder that ends in order leaves one plain file.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version as installed_version
from pathlib import Path

from replicator.runtime.private_files import FILE_MODE
from tui.recording.frame import VERSION, Frame, Kind

APPLICATION_ID = 0x534C5543
"""Mark of our files in the header of SQLite: "SLUC"."""
MAGIC = b"SQLite format 3\0"
HEADER_BYTES = 100
PAGE_SIZE_AT = slice(16, 18)
BUSY_SECONDS = 2.0
WAL_PART = 16
"""The write-ahead log is written back when it has grown to one of so many parts of the limit."""
WAL_PAGES = 16, 1000
POINTER_BYTES = 16
"""Bytes of a page that hold no content, in this page and in the map of all pages."""
KIB, MIB = 2**10, 2**20
SCHEMA = (
    "CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE frames (
        id INTEGER PRIMARY KEY, at REAL NOT NULL, kind TEXT NOT NULL, version INTEGER NOT NULL,
        mark TEXT, content BLOB NOT NULL
    )""",
    "CREATE INDEX frames_by_time ON frames (at)",
    "CREATE INDEX whole_frames ON frames (id) WHERE kind = 'whole'",
    "CREATE INDEX marked_frames ON frames (id) WHERE mark IS NOT NULL",
)
COUNT = "SELECT count(*) FROM frames"
SECOND_GROUP = (
    "SELECT min(id) FROM frames WHERE kind = 'whole' AND id > (SELECT min(id) FROM frames)"
)


class NoRecording(Exception):
    """A file is no recording that this version can use. Name another file; the text says why."""


class OtherWriter(Exception):
    """Another process writes to the same recording. Stop; record to another file."""


class TooLarge(Exception):
    """A frame has no room beside those it stands on. Write it whole, or raise the limit."""


class RecordingFile:
    """Recording file that frames are added to. Raises sqlite3.Error unless said otherwise.

    Args:
        max_bytes: limit; the oldest groups of frames go before it is exceeded.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, max_bytes: int) -> None:
        self.path, self._max_bytes = path, max_bytes
        self._connection = connection
        self._last_id = _number(connection, "SELECT max(id) FROM frames")
        self._page_bytes = _number(connection, "PRAGMA page_size")

    @classmethod
    def open(cls, path: Path, max_bytes: int, busy_seconds: float = BUSY_SECONDS) -> RecordingFile:
        """Opens a recording to add to it; makes it when there is no file, or an empty one.

        Args:
            busy_seconds: time to wait for another writer.

        Raises:
            NoRecording: the file is something else, damaged, or of a later version.
            OSError, sqlite3.Error: it cannot be made or written.
        """
        is_new = _make_missing(path)
        if not is_new:
            refuse_others(path)
        connection = sqlite3.connect(
            path, timeout=busy_seconds, isolation_level=None, check_same_thread=False
        )
        try:
            with damage_named(path):
                if is_new:
                    _make_schema(connection)
                else:
                    check_version(path, connection)
                _write_ahead(connection, max_bytes)
                return cls(path, connection, max_bytes)
        except BaseException:
            connection.close()
            raise

    def append(self, frame: Frame, mark: str | None = None) -> None:
        """Adds a frame; removes the oldest groups where there is no room.

        Raises OtherWriter or TooLarge; then the file is as before.
        """
        values = (frame.at, frame.kind.value, frame.version, mark, frame.content)
        connection = self._connection
        with _transaction(connection):
            if self._last_id != _number(connection, "SELECT max(id) FROM frames"):
                raise OtherWriter(f"another process records to {self.path}")
            self._make_room(frame)
            connection.execute(
                "INSERT INTO frames VALUES (?, ?, ?, ?, ?, ?)", (self._last_id + 1, *values)
            )
        self._last_id += 1
        if self._page_bytes * _number(connection, "PRAGMA page_count") > self._max_bytes:
            # `execute` frees a single page: the statement has no columns, so it is stepped once.
            connection.executescript("PRAGMA incremental_vacuum")

    def close(self) -> None:
        """Closes the file; one plain file stays unless a replay reads it now. Never raises."""
        with suppress(sqlite3.Error):
            self._connection.execute("PRAGMA busy_timeout = 0")
            self._connection.execute("PRAGMA journal_mode = DELETE").fetchall()
        with suppress(sqlite3.Error):
            self._connection.close()

    def _make_room(self, frame: Frame) -> None:
        # Besides its content, a frame takes its row, its index entries, the rest of its last page,
        # and in each page a pointer to the next one.
        pages = len(frame.content) // (self._page_bytes - POINTER_BYTES) + 3
        wanted = pages * self._page_bytes
        while self._used_bytes() + wanted > self._max_bytes:
            second = _number(self._connection, SECOND_GROUP)
            if second:
                self._connection.execute("DELETE FROM frames WHERE id < ?", (second,))
            elif frame.kind is Kind.WHOLE and _number(self._connection, COUNT):
                self._connection.execute("DELETE FROM frames")
            else:
                raise TooLarge(self._too_large(wanted))

    def _too_large(self, wanted: int) -> str:
        free = max(0, self._max_bytes - self._used_bytes())
        return (
            f"{self.path}: a snapshot takes {wanted // KIB} KiB, "
            f"and --max-mib {self._max_bytes / MIB:.3g} leaves {free // KIB} KiB for it"
        )

    def _used_bytes(self) -> int:
        pages = _number(self._connection, "PRAGMA page_count")
        return self._page_bytes * (pages - _number(self._connection, "PRAGMA freelist_count"))


def refuse_others(path: Path) -> None:
    """Raises NoRecording unless the file begins, and has a length, as a SQLite database has."""
    try:
        with path.open("rb") as file:
            begin = file.read(HEADER_BYTES)
        size = path.stat().st_size
    except OSError as error:
        raise NoRecording(f"{path} cannot be read: {error.strerror}") from None
    if not begin:
        raise NoRecording(f"{path} is empty: nothing was recorded")
    if not begin.startswith(MAGIC):
        raise NoRecording(f"{path} is no recording of sluice")
    page_bytes = int.from_bytes(begin[PAGE_SIZE_AT], "big") or 1
    # With a log beside it, the last page may be in the log only.
    has_log = path.with_name(f"{path.name}-wal").exists()
    if len(begin) < HEADER_BYTES or (size % page_bytes and not has_log):
        raise NoRecording(f"{path} is damaged: its end is missing")


def check_version(path: Path, connection: sqlite3.Connection) -> None:
    """Raises NoRecording for a database of others, and for a recording of a later version."""
    if _number(connection, "PRAGMA application_id") != APPLICATION_ID:
        raise NoRecording(f"{path} is a database, but no recording of sluice")
    about = dict(connection.execute("SELECT key, value FROM about").fetchall())
    version = int(about["version"]) if about.get("version", "").isdigit() else None
    if version is None:
        raise NoRecording(f"{path} is damaged: it does not say its version")
    if version > VERSION:
        raise NoRecording(
            f"{path} is a recording of version {version}, and this program reads up to {VERSION}: "
            f"it was written by sluice {about.get('program', '?')}"
        )


@contextmanager
def damage_named(path: Path) -> Iterator[None]:
    """Turns the errors of a damaged database into NoRecording."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "no such table" in str(error) or "no such column" in str(error):
            raise NoRecording(f"{path} is damaged: {error}") from None
        raise
    except (sqlite3.DatabaseError, MemoryError) as error:
        # A length that was overwritten may be more than there is memory.
        raise NoRecording(f"{path} is damaged: {str(error) or 'it cannot be read'}") from None


def _make_missing(path: Path) -> bool:
    """Makes the file, for its owner only, where there is none; returns True if it is empty."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE))
    except FileExistsError:
        return path.is_file() and not path.stat().st_size
    return True


def _make_schema(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    about = {
        "version": str(VERSION),
        "program": installed_version("sluice"),
        "began_at": f"{time.time():.3f}",
    }
    with _transaction(connection):
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        for statement in SCHEMA:
            connection.execute(statement)
        connection.executemany("INSERT INTO about VALUES (?, ?)", about.items())


def _write_ahead(connection: sqlite3.Connection, max_bytes: int) -> None:
    page_bytes = _number(connection, "PRAGMA page_size")
    least, most = WAL_PAGES
    pages = max(least, min(most, max_bytes // page_bytes // WAL_PART))
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA wal_autocheckpoint = {pages}").fetchall()
    connection.execute(f"PRAGMA journal_size_limit = {pages * page_bytes}").fetchall()
    # An older recording gets frames of this version, which the program of that time cannot read.
    connection.execute("UPDATE about SET value = ? WHERE key = 'version'", (str(VERSION),))


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _number(connection: sqlite3.Connection, question: str) -> int:
    """Returns the only number of the answer; 0 for NULL."""
    (found,) = connection.execute(question).fetchone()
    return int(found or 0)
