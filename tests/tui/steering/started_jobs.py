"""Jobs of the tests: small programs that are started as jobs, and ended."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from tui.steering.job import Job, JobState
from tui.steering.job_files import JobFiles
from tui.steering.job_folder import JobFolder
from tui.steering.job_start import start_program

UNTIL_TOLD = """
import pathlib, sys, time
print("began", file=sys.stderr, flush=True)
while not pathlib.Path(sys.argv[1]).exists():
    time.sleep(0.01)
print("result")
sys.exit(int(sys.argv[2]))
"""
"""Program that runs until its first argument is a file, then ends with its second one."""
PATIENCE_SECONDS = 30.0


def start_waiting(folder: JobFolder, go_on: Path, exit_code: int = 0) -> Job:
    """Starts a job that runs until the file `go_on` is there."""
    program = (sys.executable, "-c", UNTIL_TOLD)
    return start_program(folder, program, (str(go_on), str(exit_code)))


def eventually(is_true: Callable[[], object]) -> None:
    """Waits until a condition holds; raises AssertionError when it never does."""
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    while not is_true():
        assert time.monotonic() < give_up_at, "it never came true"
        time.sleep(0.01)


def state_of(folder: JobFolder, job: Job) -> JobState:
    """Returns the present state, as a console sees it that has just been started."""
    found = JobFolder(folder.directory).job(job.job_id)
    assert found is not None
    return found.state


def ended(folder: JobFolder, job: Job) -> Job:
    """Returns the job once it no longer runs."""
    eventually(lambda: state_of(folder, job) is not JobState.RUNNING)
    found = folder.job(job.job_id)
    assert found is not None
    return found


def processes_of(folder: JobFolder, job: Job) -> tuple[int, int]:
    """Returns the pids of the runner and of the command, once both run."""
    files = JobFiles(folder.directory / job.job_id)
    eventually(files.pid)
    command = files.pid()
    assert command is not None
    return psutil.Process(command).ppid(), command


def kill(pid: int) -> None:
    """Kills a process of a job, and waits until it is gone."""
    process = psutil.Process(pid)
    process.kill()
    process.wait(PATIENCE_SECONDS)
