"""Jobs of the console: the command that is shown is the one that is run."""

from pathlib import Path

import pytest

from tui.console.command_line import JobRefused
from tui.console.steered_jobs import SteeredJobs
from tui.pages.page import Action, Field
from tui.steering.job_start import JobNotStarted

PAUSE = Action(
    "H",
    "pause",
    ("stream", "pause-topic"),
    (Field("topic", "", "orders"), Field("route", "--route", "west>east")),
    confirmation="orders",
)
LOSS = Action("L", "loss", ("accept-loss",), (Field("route", "--route"),), is_copied=True)


def test_the_shown_command_is_the_one_that_is_started(tmp_path: Path):
    started = []

    def start(folder, words, config, who):
        started.append(words)

    jobs = SteeredJobs(tmp_path / "jobs", tmp_path / "a.toml", start)
    values = {"topic": "orders", "route": "west>east"}
    shown = jobs.command(PAUSE, values)
    assert shown.startswith("sluice stream pause-topic --config ")
    assert shown.endswith("--route 'west>east' orders")
    jobs.start(PAUSE, values)
    assert started == [("stream", "pause-topic", "--route", "west>east", "orders")]


def test_a_command_that_the_console_does_not_run_can_only_be_copied(tmp_path: Path):
    jobs = SteeredJobs(tmp_path / "jobs", Path("a.toml"))
    assert jobs.command(LOSS, {"route": "a>b"}) == (
        "sluice accept-loss --config a.toml --route 'a>b'"
    )
    run = Action("L", "loss", ("accept-loss",), confirmation="yes")
    with pytest.raises(JobRefused, match="not run by the console"):
        jobs.start(run, {})
    with pytest.raises(JobRefused):
        jobs.command(run, {})


def test_a_job_that_cannot_be_started_is_refused_with_the_reason(tmp_path: Path):
    def start(*_, **__):
        raise JobNotStarted("the disk is full")

    with pytest.raises(JobRefused, match="the disk is full"):
        SteeredJobs(tmp_path, Path("a.toml"), start).start(PAUSE, {})


def test_without_a_folder_there_are_no_jobs(tmp_path: Path):
    assert list(SteeredJobs(tmp_path / "none", Path("a.toml")).jobs()) == []
    (tmp_path / "file").write_text("")
    assert list(SteeredJobs(tmp_path / "file", Path("a.toml")).jobs()) == []


def test_the_jobs_that_were_read_last_are_known_without_reading(tmp_path: Path):
    jobs = SteeredJobs(tmp_path / "none", Path("a.toml"))
    assert jobs.known() == ()
    assert jobs.jobs() is jobs.known()
