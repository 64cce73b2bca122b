"""Folder of jobs: old ones go, running ones never do, and foreign files do no harm."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tui.steering.job import JobState
from tui.steering.job_files import Command, JobFiles
from tui.steering.job_folder import (
    BROKEN,
    KEPT_MAX,
    READ_BYTES,
    TAIL_LINES,
    UNFINISHED_SECONDS,
    JobFolder,
    new_id,
)

NOW = 1_800_000_000.0


@pytest.fixture
def folder(tmp_path: Path) -> JobFolder:
    return JobFolder(tmp_path / "jobs")


def started(folder: JobFolder, at: float = NOW) -> tuple[JobFiles, int]:
    return folder.made(Command(("sluice",), ("audit", "--route", "west>east"), at, "ann"))


def made(folder: JobFolder, at: float = NOW, exit_code: int | None = 0) -> JobFiles:
    """Makes a job that has ended; None: lost."""
    files, lock = started(folder, at)
    if exit_code is not None:
        files.write_end(exit_code)
    os.close(lock)
    return files


def test_without_a_folder_there_are_no_jobs(folder: JobFolder) -> None:
    assert folder.jobs() == []
    assert folder.job(new_id(NOW)) is None
    assert folder.read(new_id(NOW), 0).lines == ()
    assert not folder.directory.exists()


def test_jobs_come_newest_first_with_their_states(folder: JobFolder) -> None:
    made(folder, NOW + 1, exit_code=4)
    made(folder, NOW + 2, exit_code=None)
    _, lock = started(folder, NOW + 3)
    try:
        found = folder.jobs()
    finally:
        os.close(lock)
    assert [job.started_at - NOW for job in found] == [3, 2, 1]
    assert [job.state for job in found] == [JobState.RUNNING, JobState.LOST, JobState.ENDED]
    assert [job.exit_code for job in found] == [None, None, 4]


def test_a_recorded_end_counts_even_while_somebody_still_holds_the_lock(folder: JobFolder) -> None:
    files, lock = started(folder)
    files.write_end(0)
    assert [job.state for job in folder.jobs()] == [JobState.ENDED]
    os.close(lock)


def test_only_the_newest_ended_jobs_are_kept_and_every_running_one(folder: JobFolder) -> None:
    running, lock = started(folder, NOW - 10)
    for at in range(KEPT_MAX + 3):
        made(folder, NOW + at)
    folder.prune(NOW)
    found = folder.jobs()
    os.close(lock)
    assert found[-1].job_id == running.job_id
    assert len(found) == KEPT_MAX + 1
    assert found[-2].started_at == NOW + 3


def test_a_folder_whose_starter_died_is_removed_but_not_while_it_is_being_made(
    folder: JobFolder,
) -> None:
    made(folder)
    dead, young = (folder.directory / f".{new_id(NOW)}" for _ in range(2))
    for path in (dead, young):
        path.mkdir()
        os.utime(path, (NOW, NOW))
    living = JobFiles(young)
    lock = living.locked()
    os.utime(young, (NOW, NOW))
    folder.prune(NOW + UNFINISHED_SECONDS)
    assert dead.exists()
    folder.prune(NOW + UNFINISHED_SECONDS + 1)
    os.close(lock)
    assert (dead.exists(), young.exists()) == (False, True)
    assert len(folder.jobs()) == 1


def test_only_the_last_lines_are_the_tail(folder: JobFolder) -> None:
    files, lock = started(folder)
    files.stderr.write_bytes(b"".join(b"line %d\n" % line for line in range(100_000)))
    os.close(lock)
    (job,) = folder.jobs()
    assert len(job.tail) == TAIL_LINES
    assert job.tail[-1] == "line 99999"


def test_long_output_is_read_in_pieces_and_a_line_without_end_is_cut(folder: JobFolder) -> None:
    files = made(folder)
    files.stderr.write_bytes(b"x" * (READ_BYTES + 10) + b"\nlast")
    texts, offset = [], 0
    for _ in range(4):
        read = folder.read(files.job_id, offset)
        texts += [line.text for line in read.lines]
        offset = read.offset
    assert texts == ["x" * READ_BYTES, "x" * 10, "last"]


def test_foreign_files_are_no_jobs_and_nothing_waits_for_a_pipe(folder: JobFolder) -> None:
    files = made(folder)
    directory = folder.directory
    (directory / "notes.txt").write_text("hello")
    (directory / "../outside").mkdir()
    (directory / new_id(NOW)).symlink_to(directory / "../outside")
    (directory / new_id(NOW)).write_text("a file")
    os.mkfifo(files.folder / "stdout")
    assert [job.job_id for job in folder.jobs()] == [files.job_id]
    assert folder.result(files.job_id) == ""
    assert folder.job("../outside") is None
    assert folder.result("../../etc/passwd") == ""


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"program": [], "words": [1], "started_at": 1, "who": ""}',
        b" " * 1_000_000,
    ],
)
def test_a_broken_job_is_shown_as_lost(folder: JobFolder, content: bytes) -> None:
    files = made(folder, exit_code=None)
    (files.folder / "command.json").write_bytes(content)
    (job,) = folder.jobs()
    assert (job.state, job.words, job.tail, job.way_out) == (JobState.LOST, (), (BROKEN,), ())


@pytest.mark.parametrize("content", [b'{"exit_code": "0", "ended_at": 1}', b"7", b"null"])
def test_an_exit_code_that_is_none_is_not_believed(folder: JobFolder, content: bytes) -> None:
    files = made(folder, exit_code=None)
    (files.folder / "exit.json").write_bytes(content)
    assert [job.state for job in folder.jobs()] == [JobState.LOST]


def test_a_link_in_a_job_is_not_followed(folder: JobFolder, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hunter2\n")
    files = made(folder)
    files.stderr.symlink_to(secret)
    files.stdout.symlink_to(secret)
    assert folder.result(files.job_id) == ""
    assert folder.jobs()[0].tail == ()


def test_a_folder_that_others_may_write_takes_no_job(folder: JobFolder) -> None:
    folder.directory.mkdir()
    folder.directory.chmod(0o777)
    with pytest.raises(OSError, match="others may write"):
        started(folder)


def test_an_id_sorts_by_time() -> None:
    ids = [new_id(NOW + seconds) for seconds in (0.0, 0.002, 1.0, 86_400.0)]
    assert ids == sorted(ids)
