"""Jobs with real processes: they outlive who started them, and their end is never guessed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from tests.tui.steering.started_jobs import (
    ended,
    eventually,
    kill,
    processes_of,
    start_waiting,
    state_of,
)
from tui.steering.job import JobState
from tui.steering.job_files import JobFiles
from tui.steering.job_folder import JobFolder
from tui.steering.job_start import RUNNER, JobNotStarted, start_job, start_program
from tui.steering.steered_command import NotSteered

CHECKOUT = Path(__file__).parents[3]
REFERENCE = CHECKOUT / "deploy" / "appliance.toml"
STARTER = textwrap.dedent("""
    import sys, time
    from pathlib import Path
    from tests.tui.steering.started_jobs import start_waiting
    from tui.steering.job_folder import JobFolder
    print(start_waiting(JobFolder(Path(sys.argv[1])), Path(sys.argv[2]), 7).job_id, flush=True)
    time.sleep(60)
""")
"""Console in miniature: starts a job, then waits to be killed."""


@pytest.fixture
def folder(tmp_path: Path) -> JobFolder:
    return JobFolder(tmp_path / "state" / "jobs")


@pytest.fixture
def go_on(tmp_path: Path) -> Iterator[Path]:
    """File that lets the jobs of `start_waiting` end; no job is left behind."""
    path = tmp_path / "go-on"
    yield path
    path.touch()


def test_a_command_runs_as_a_job_and_its_exit_code_and_output_are_kept(folder: JobFolder) -> None:
    job = start_job(folder, ("failover", "verify", "p1"), REFERENCE, who="ann@ops")
    found = ended(folder, job)
    assert (found.state, found.exit_code) == (JobState.ENDED, 2)
    assert found.who == "ann@ops"
    assert found.ended_at is not None
    assert found.ended_at >= found.started_at
    assert "no plan 'p1'" in found.tail[-1]
    assert folder.result(job.job_id) == ""


def test_a_command_that_the_console_does_not_run_is_not_started(folder: JobFolder) -> None:
    with pytest.raises(NotSteered):
        start_job(folder, ("accept-loss", "--route", "west>east", "--yes"), REFERENCE)
    assert folder.jobs() == []


def test_result_and_error_output_are_read_apart(folder: JobFolder, go_on: Path) -> None:
    job = start_waiting(folder, go_on)
    eventually(lambda: folder.read(job.job_id, 0).lines)
    read = folder.read(job.job_id, 0)
    assert [line.text for line in read.lines] == ["began"]
    assert folder.read(job.job_id, read.offset).lines == ()
    go_on.touch()
    found = ended(folder, job)
    assert (found.exit_code, found.result) == (0, ("result",))
    assert folder.result(job.job_id) == "result\n"


def test_the_job_goes_on_when_who_started_it_is_killed(
    folder: JobFolder, go_on: Path, tmp_path: Path
) -> None:
    words = [sys.executable, "-c", STARTER, str(folder.directory), str(go_on)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=CHECKOUT) as starter:
        assert starter.stdout is not None
        job_id = starter.stdout.readline().strip()
        starter.kill()
    (job,) = JobFolder(folder.directory).jobs()
    assert (job.job_id, job.state) == (job_id, JobState.RUNNING)
    _, command = processes_of(folder, job)
    assert os.getsid(command) != os.getsid(0)
    go_on.touch()
    found = ended(JobFolder(folder.directory), job)
    assert (found.state, found.exit_code, found.is_known) == (JobState.ENDED, 7, False)


def test_a_job_whose_processes_are_all_killed_is_lost(folder: JobFolder, go_on: Path) -> None:
    job = start_waiting(folder, go_on)
    runner, command = processes_of(folder, job)
    kill(runner)
    # The command still runs, and holds the lock.
    assert state_of(folder, job) is JobState.RUNNING
    kill(command)
    found = ended(folder, job)
    assert (found.state, found.exit_code, found.is_known) == (JobState.LOST, None, False)


def test_a_command_that_goes_on_without_its_runner_is_lost_when_it_ends(
    folder: JobFolder, go_on: Path
) -> None:
    job = start_waiting(folder, go_on)
    runner, _ = processes_of(folder, job)
    kill(runner)
    go_on.touch()
    assert ended(folder, job).state is JobState.LOST


def test_a_command_that_is_killed_ended_with_that_signal(folder: JobFolder, go_on: Path) -> None:
    job = start_waiting(folder, go_on)
    _, command = processes_of(folder, job)
    kill(command)
    found = ended(folder, job)
    assert (found.state, found.exit_code, found.is_known) == (JobState.ENDED, 137, False)


def test_a_signal_to_the_runner_reaches_the_command_and_the_end_is_recorded(
    folder: JobFolder, go_on: Path
) -> None:
    job = start_waiting(folder, go_on)
    eventually(lambda: folder.read(job.job_id, 0).lines)
    runner, _ = processes_of(folder, job)
    psutil.Process(runner).terminate()
    found = ended(folder, job)
    assert (found.state, found.exit_code) == (JobState.ENDED, 128 + 15)


def test_no_process_is_left_behind(folder: JobFolder, go_on: Path) -> None:
    job = start_waiting(folder, go_on)
    pids = processes_of(folder, job)
    assert not {child.pid for child in psutil.Process().children()} & set(pids)
    go_on.touch()
    ended(folder, job)
    psutil.wait_procs([psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)], 10)


def test_jobs_that_start_at_once_are_all_there(folder: JobFolder, go_on: Path) -> None:
    with ThreadPoolExecutor(4) as threads:
        started = list(threads.map(lambda code: start_waiting(folder, go_on, code), range(4)))
    assert {job.state for job in folder.jobs()} == {JobState.RUNNING}
    assert len({job.job_id for job in started}) == 4
    go_on.touch()
    assert [ended(folder, job).exit_code for job in started] == [0, 1, 2, 3]


def test_a_program_that_is_not_there_has_failed_and_says_so(folder: JobFolder) -> None:
    found = ended(folder, start_program(folder, ("/nowhere/sluice",), ("audit",)))
    assert found.exit_code == 1
    assert "cannot be started" in found.tail[-1]


def test_a_runner_that_does_not_start_leaves_nothing(folder: JobFolder) -> None:
    runner = (sys.executable, "-c", "raise SystemExit(3)")
    with pytest.raises(JobNotStarted, match="cannot be started"):
        start_program(folder, ("x",), (), runner=runner)
    assert list(folder.directory.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(JobNotStarted, match="cannot be written"):
        start_program(JobFolder(tmp_path / "file" / "jobs"), ("x",), ())


def test_the_files_are_private_and_hold_no_environment(
    folder: JobFolder, go_on: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_TEST", "hunter2")
    job = start_waiting(folder, go_on)
    processes_of(folder, job)
    go_on.touch()
    ended(folder, job)
    inside = folder.directory / job.job_id
    assert (inside.stat().st_mode & 0o777, folder.directory.stat().st_mode & 0o777) == (0o700,) * 2
    for path in inside.iterdir():
        assert path.stat().st_mode & 0o777 == 0o600, path
        assert "hunter2" not in path.read_text()
    command = json.loads((inside / "command.json").read_text())
    assert set(command) == {"program", "words", "started_at", "who"}
    assert JobFiles(inside).pid() is not None


# --- Runner of a job: light, and without a command it does nothing.

HEAVY = {"pydantic", "aiokafka", "redis", "click", "textual", "numpy"}


def test_a_folder_without_a_command_is_refused(tmp_path: Path) -> None:
    found = subprocess.run([*RUNNER, str(tmp_path), "0"], capture_output=True, text=True)
    assert found.returncode == 1
    assert "no command in" in found.stderr


def test_the_runner_imports_no_library() -> None:
    script = "import json, sys, tui.steering.job_runner; print(json.dumps([*sys.modules]))"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert not HEAVY & set(json.loads(found.stdout))
