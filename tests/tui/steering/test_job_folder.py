"""Jobs on disk: their files, output, states and folder."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tui.orders.exit_code import MEANINGS, ExitCode
from tui.steering.job import LOST_TEXT, Job, JobState
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
from tui.steering.job_output import OutputLine, last_lines, output_line, read_lines, result_lines

# --- Job: its state in words, and the way out where its result is not known.

APPLY = ("failover", "apply", "--config", "/a.toml", "p1", "--confirm", "west:east")
LOOK = ("failover", "verify", "p1", "--config", "/a.toml")


def job(exit_code: int | None, state: JobState = JobState.ENDED) -> Job:
    return Job(job_id="a", words=APPLY, started_at=0.0, state=state, exit_code=exit_code)


@pytest.mark.parametrize("code", ExitCode)
def test_an_exit_code_has_the_meaning_that_the_help_says(code) -> None:
    assert job(code).meaning == MEANINGS[code]
    assert job(code).is_known is (code is not ExitCode.RESULT_UNKNOWN)


def test_an_unknown_result_has_a_way_out() -> None:
    assert job(7).way_out == LOOK
    assert job(5).way_out == ()


def test_a_command_that_failed_half_way_has_a_way_out() -> None:
    failed = job(ExitCode.FAILED)
    assert failed.is_known and failed.way_out == LOOK
    look = replace(failed, words=("failover", "verify", "p1"))
    assert look.way_out == ()


def test_a_running_job_is_not_known_and_needs_no_way_out_yet() -> None:
    running = job(None, JobState.RUNNING)
    assert (running.meaning, running.is_known, running.way_out) == ("running", False, ())


def test_a_lost_job_has_a_way_out() -> None:
    lost = job(None, JobState.LOST)
    assert (lost.meaning, lost.is_known, lost.way_out) == (LOST_TEXT, False, LOOK)


def test_a_signal_leaves_the_result_unknown() -> None:
    killed = job(128 + 9)
    assert killed.meaning.startswith("not known: SIGKILL ended it")
    assert killed.way_out == LOOK
    assert "signal 99" in job(128 + 99).meaning


def test_a_code_without_a_meaning_is_named() -> None:
    assert "42" in job(42).meaning


# --- Files of one job: written whole, read carefully, and locked as long as a process lives.

COMMAND = Command(("python", "-m", "tui.program"), ("audit", "--topic", "a\x1b[1m"), 1.5, "ann")


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    files = JobFiles(tmp_path)
    assert (files.command(), files.pid(), files.end()) == (None, None, None)
    files.write_command(COMMAND)
    files.write_pid(17)
    files.write_end(7)
    assert (files.command(), files.pid()) == (COMMAND, 17)
    end = files.end()
    assert end is not None
    assert end.exit_code == 7


def test_the_lock_is_held_until_its_last_descriptor_is_closed(tmp_path: Path) -> None:
    files = JobFiles(tmp_path)
    assert not files.is_locked()
    lock = files.locked()
    other = os.dup(lock)
    os.close(lock)
    assert files.is_locked()
    assert files.is_locked()
    os.close(other)
    assert not files.is_locked()


def test_reading_begins_at_an_offset_or_from_the_end(tmp_path: Path) -> None:
    files = JobFiles(tmp_path)
    files.stdout.write_bytes(b"0123456789")
    assert files.read(files.stdout, 3, 4) == b"3456"
    assert files.read(files.stdout, -4, 100) == b"6789"
    assert files.read(files.stdout, -400, 100) == b"0123456789"
    assert files.read(files.stderr, 0, 100) == b""
    assert files.read(tmp_path, 0, 100) == b""


# --- Output of a job: steps, other lines, and lines that are not complete.

STEP = '{"at_ms": 1700000000000, "stage": "apply", "left": 2, "text": "wrote \\u001b[1m"}'


def test_a_step_is_read_and_any_other_line_is_text() -> None:
    step = output_line(STEP)
    assert step == OutputLine(text="wrote \x1b[1m", at_ms=1700000000000, stage="apply", left=2)
    for line in ("sluice: west does not answer", "{", "[]", '{"at_ms": "x"}', "{" * 100_000):
        assert output_line(line) == OutputLine(text=line)
    assert output_line(STEP.replace("2,", "null,")).left is None


def test_an_incomplete_line_waits_for_its_end() -> None:
    first = read_lines(b"one\ntw", 10, is_whole=False)
    assert [line.text for line in first.lines] == ["one"]
    assert first.offset == 14
    second = read_lines(b"two", 14, is_whole=True)
    assert ([line.text for line in second.lines], second.offset) == (["two"], 17)


def test_the_last_lines_are_read_without_steps_being_json() -> None:
    content = f"a\nb\n\n{STEP}\n\xff".encode("latin-1")
    assert last_lines(content, 3) == ["b", "wrote \x1b[1m", "\ufffd"]


def test_a_result_is_a_line_for_each_value_and_row() -> None:
    text = """{"plan_id": "p1", "done": null, "checks": [],
               "groups": [{"group": "billing", "state": "written", "positions": [1, 2]}]}"""
    assert result_lines(text, 9) == [
        "plan_id: p1",
        "done: ?",
        "checks: none",
        "groups: group billing, state written, positions 2 rows",
    ]
    assert result_lines("[1, 2, 3]", 2) == ["1", "... 2 lines more"]


def test_a_result_that_is_no_json_is_shown_as_it_is() -> None:
    assert result_lines("done\n\nindeed\n", 9) == ["done", "indeed"]
    assert result_lines("{" * 100_000, 9) == ["{" * 100_000]
    assert result_lines("", 9) == []


# --- Folder of jobs: old ones go, running ones never do, and foreign files do no harm.

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
