"""Files of one job, in a private folder of its own.

command.json is there from the start, exit.json from the end. The lock is held by the runner and by
the command, so the kernel releases it when both have ended, however they end.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from replicator.runtime.private_files import FILE_MODE, write_private

SMALL_BYTES_MAX = 256 * 1024
"""Limit of command.json, exit.json and pids.json; a larger file is not ours."""


class Command(NamedTuple):
    """Command of a job, as recorded before it started.

    Args:
        program: words of the program, before the words of the command.
        started_at: Unix seconds.
    """

    program: tuple[str, ...]
    words: tuple[str, ...]
    started_at: float
    who: str


class Ended(NamedTuple):
    """End of a job, as its runner has recorded it."""

    exit_code: int
    ended_at: float


class JobFiles:
    """Files of the job in one folder. Reading never follows a link, and never waits."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stdout = folder / "stdout"
        self.stderr = folder / "stderr"

    @property
    def job_id(self) -> str:
        return self.folder.name

    def write_command(self, command: Command) -> None:
        """Raises OSError."""
        content = json.dumps(command._asdict()).encode()
        write_private(self.folder / "command.json", content, is_on_disk=True)

    def command(self) -> Command | None:
        """Returns the command; None when it is unreadable, or not a command."""
        match self._values("command.json"):
            case {
                "program": [*program],
                "words": [*words],
                "started_at": float() | int() as started_at,
                "who": str(who),
            } if all(isinstance(each, str) for each in (*program, *words)):
                return Command(tuple(program), tuple(words), float(started_at), who)
        return None

    def write_pid(self, pid: int) -> None:
        """Records the process of the command. Raises OSError."""
        write_private(self.folder / "pid.json", json.dumps({"pid": pid}).encode())

    def pid(self) -> int | None:
        """Returns the process of the command; it may have ended since."""
        match self._values("pid.json"):
            case {"pid": int(pid)}:
                return pid
        return None

    def write_end(self, exit_code: int) -> None:
        """Records the exit code and the present time, on disk. Raises OSError."""
        content = json.dumps({"exit_code": exit_code, "ended_at": time.time()}).encode()
        write_private(self.folder / "exit.json", content, is_on_disk=True)

    def end(self) -> Ended | None:
        """Returns how the job ended; None while it runs, and when nobody recorded it."""
        match self._values("exit.json"):
            case {"exit_code": int(exit_code), "ended_at": float() | int() as ended_at}:
                return Ended(exit_code, float(ended_at))
        return None

    def locked(self) -> int:
        """Makes the lock and takes it; returns its file descriptor. Raises OSError."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        descriptor = os.open(self.folder / "lock", flags, FILE_MODE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    def is_locked(self) -> bool:
        """Returns True while a process of the job lives."""
        try:
            descriptor = os.open(self.folder / "lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return False
        try:
            # A shared lock: several readers may try at once, and none sees the other.
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        finally:
            os.close(descriptor)
        return False

    def read(self, path: Path, offset: int, bytes_max: int) -> bytes:
        """Returns bytes of a file from an offset, negative from its end; none if it has none.

        Only regular files are read: a pipe would never end.
        """
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return b""
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                return b""
            start = max(0, found.st_size + offset) if offset < 0 else offset
            return os.pread(descriptor, bytes_max, start)
        except OSError:
            return b""
        finally:
            os.close(descriptor)

    def made_at(self) -> float:
        """Returns when the folder last changed, in Unix seconds; 0.0 if it is gone."""
        with suppress(OSError):
            return self.folder.lstat().st_mtime
        return 0.0

    def _values(self, name: str) -> Mapping[str, Any] | Sequence[Any] | None:
        content = self.read(self.folder / name, 0, SMALL_BYTES_MAX + 1)
        if not content or len(content) > SMALL_BYTES_MAX:
            return None
        try:
            values = json.loads(content)
        except (ValueError, RecursionError):
            return None
        return values if isinstance(values, dict) else None
