"""Folder of jobs in the state folder of an appliance: what was started, and how it ended.

Every console of this machine reads the same files, so a job outlives the console that started it.
"""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from replicator.runtime.private_files import FOLDER_MODE, private_folder
from tui.steering.job import Job, JobState
from tui.steering.job_files import Command, JobFiles
from tui.steering.job_output import OutputRead, last_lines, read_lines, result_lines

ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9]{3}-[0-9a-f]{4}")
KEPT_MAX = 200
"""Ended jobs that are kept; older ones are removed when a job is started."""
TAIL_LINES = 20
TAIL_BYTES = 16 * 1024
RESULT_LINES = 100
SHOWN_BYTES = 1024 * 1024
"""Size up to which a result is shown in lines."""
READ_BYTES = 256 * 1024
RESULT_BYTES = 16 * 1024 * 1024
UNFINISHED_SECONDS = 60.0
"""Age after which a folder is removed whose starter died before it was complete."""
BROKEN = "its files cannot be read"


class JobFolder:
    """Jobs in one folder, which is made when the first one is started.

    Args:
        directory: `<state_dir>/jobs`.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._ended: dict[str, Job] = {}

    def jobs(self) -> list[Job]:
        """Returns all jobs, newest first. Raises OSError if the folder cannot be read."""
        names = self._names()
        # A copy: another thread may start a job, and read it, meanwhile.
        self._ended = {name: job for name, job in self._ended.copy().items() if name in names}
        found = (self.job(name) for name in names)
        return sorted(filter(None, found), key=lambda job: job.job_id, reverse=True)

    def job(self, job_id: str) -> Job | None:
        """Returns one job; None if there is none of that id."""
        if job_id in self._ended:
            return self._ended[job_id]
        files = self._files(job_id)
        if files is None or not files.folder.is_dir() or files.folder.is_symlink():
            return None
        job = _job_of(files)
        # An ended job never changes again.
        if job.state is not JobState.RUNNING:
            self._ended[job_id] = job
        return job

    def read(self, job_id: str, offset: int) -> OutputRead:
        """Returns new lines of a job's error output, its steps among them.

        Args:
            offset: 0, or that of the last answer.
        """
        files = self._files(job_id)
        if files is None:
            return OutputRead((), offset)
        # The end is looked for first: what is written before it is then read as well.
        is_ended = files.end() is not None or not files.is_locked()
        content = files.read(files.stderr, offset, READ_BYTES)
        # A line longer than one read is cut, so that reading goes on.
        is_whole = len(content) == READ_BYTES and b"\n" not in content
        is_whole |= is_ended and len(content) < READ_BYTES
        return read_lines(content, offset, is_whole=is_whole)

    def result(self, job_id: str) -> str:
        """Returns the output of a job, which is JSON once it has ended; "" if it has none."""
        files = self._files(job_id)
        if files is None:
            return ""
        return files.read(files.stdout, 0, RESULT_BYTES).decode(errors="replace")

    def made(self, command: Command) -> tuple[JobFiles, int]:
        """Makes the files of a new job; returns them, and the descriptor of the lock that is held.

        A reader sees the folder only once its command is in it and its lock is held.

        Raises:
            OSError: the folder cannot be written, or others may write to it.
        """
        private_folder(self.directory)
        job_id = new_id(command.started_at)
        hidden = JobFiles(self.directory / f".{job_id}")
        hidden.folder.mkdir(mode=FOLDER_MODE)
        hidden.write_command(command)
        lock = hidden.locked()
        return JobFiles(hidden.folder.rename(self.directory / job_id)), lock

    def prune(self, now: float) -> None:
        """Removes all but the newest ended jobs, and folders that were never completed.

        Args:
            now: Unix seconds.
        """
        names = self._names()
        if len(names) > KEPT_MAX:
            ended = [job.job_id for job in self.jobs() if job.state is not JobState.RUNNING]
            for job_id in ended[KEPT_MAX:]:
                shutil.rmtree(self.directory / job_id, ignore_errors=True)
        for files in map(JobFiles, self.directory.glob(".[0-9]*")):
            if now - files.made_at() > UNFINISHED_SECONDS and not files.is_locked():
                shutil.rmtree(files.folder, ignore_errors=True)

    def _names(self) -> set[str]:
        try:
            return set(_ids(self.directory))
        except FileNotFoundError:
            return set()

    def _files(self, job_id: str) -> JobFiles | None:
        return JobFiles(self.directory / job_id) if ID.fullmatch(job_id) else None


def new_id(started_at: float) -> str:
    """Returns an id that sorts by time: 20130101-000000-000-3f9a."""
    at = datetime.fromtimestamp(started_at, UTC)
    return f"{at:%Y%m%d-%H%M%S}-{at.microsecond // 1000:03}-{secrets.token_hex(2)}"


def _ids(directory: Path) -> Iterator[str]:
    return (path.name for path in directory.iterdir() if ID.fullmatch(path.name))


def _job_of(files: JobFiles) -> Job:
    # The lock is tried before the end is read: whoever releases it has recorded the end before.
    is_locked = files.is_locked()
    ended = files.end()
    state = JobState.ENDED if ended else JobState.RUNNING if is_locked else JobState.LOST
    command = files.command()
    return Job(
        job_id=files.job_id,
        words=command.words if command else (),
        started_at=command.started_at if command else files.made_at(),
        state=state,
        who=command.who if command else "",
        pid=files.pid(),
        ended_at=ended.ended_at if ended else None,
        exit_code=ended.exit_code if ended else None,
        tail=_tail(files) if command else (BROKEN,),
        result=_result(files) if ended else (),
    )


def _result(files: JobFiles) -> tuple[str, ...]:
    text = files.read(files.stdout, 0, SHOWN_BYTES).decode(errors="replace")
    return tuple(result_lines(text, RESULT_LINES))


def _tail(files: JobFiles) -> tuple[str, ...]:
    return tuple(last_lines(files.read(files.stderr, -TAIL_BYTES, TAIL_BYTES), TAIL_LINES))
