"""Start of a job: a process in a session of its own, which no end of the console ends."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from replicator.runtime.private_files import private_file
from tui.steering.job import Job
from tui.steering.job_files import Command, JobFiles
from tui.steering.job_folder import JobFolder
from tui.steering.steered_command import command_line

# With -P, no module of the present folder takes the place of ours.
PYTHON = (sys.executable, "-P", "-m")
PROGRAM = (*PYTHON, "tui.program")
RUNNER = (*PYTHON, "tui.steering.job_runner")


class JobNotStarted(Exception):
    """A job could not be started, and nothing runs. The text says what to correct."""


def start_job(folder: JobFolder, words: Sequence[str], config: Path, *, who: str = "") -> Job:
    """Starts a command of the console, and returns the job. Blocks for about 0.1 s.

    Args:
        words: of the command, with its own options and arguments (steered_command.words_of).
        config: configuration of the appliance.

    Raises:
        NotSteered: the console does not run this command.
        JobNotStarted: nothing runs.
    """
    return start_program(folder, PROGRAM, command_line(words, str(config.absolute())), who=who)


def start_program(
    folder: JobFolder,
    program: Sequence[str],
    words: Sequence[str],
    *,
    who: str = "",
    runner: Sequence[str] = RUNNER,
) -> Job:
    """Starts any program as a job. Raises JobNotStarted.

    Args:
        runner: program that runs it and records its end.
    """
    now = time.time()
    try:
        folder.prune(now)
        files, lock = folder.made(Command(tuple(program), tuple(words), now, who))
    except OSError as error:
        raise JobNotStarted(f"the job's files cannot be written: {error}") from error
    try:
        _run_runner(runner, files, lock)
    except (OSError, subprocess.CalledProcessError) as error:
        shutil.rmtree(files.folder, ignore_errors=True)
        raise JobNotStarted(f"the job cannot be started: {error}") from error
    finally:
        # The runner has the lock by now.
        os.close(lock)
    job = folder.job(files.job_id)
    if job is None:
        raise JobNotStarted(f"the files of job {files.job_id} were removed")
    return job


def _run_runner(runner: Sequence[str], files: JobFiles, lock: int) -> None:
    """Starts the runner, which leaves this process at once: it is no child of the console's."""
    stdout, stderr = private_file(files.stdout), private_file(files.stderr)
    with stdout.open("ab") as output, stderr.open("ab") as errors:
        subprocess.run(
            [*runner, str(files.folder.absolute()), str(lock)],
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            pass_fds=(lock,),
            start_new_session=True,
        )
