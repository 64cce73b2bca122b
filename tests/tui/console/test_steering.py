"""Steering: rights, jobs, commands that are run or copied."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.tui.console import snapshots
from tests.tui.console.running import running
from tui.console.command_line import JobRefused
from tui.console.missing_rights import why_no_right
from tui.console.settings import ConsoleSettings
from tui.console.steered_jobs import SteeredJobs
from tui.facts.part import NOTICES, ORDERS, Part
from tui.facts.snapshot import Snapshot
from tui.pages.jobs import JobPage
from tui.pages.page import Action, Field
from tui.pages.topics import TopicsPage
from tui.steering.job_start import JobNotStarted

# --- Rights that a server has refused: actions that need them are off, with the refusal.

REFUSAL = "lacks the right: TOPIC_AUTHORIZATION_FAILED"
HOLD = Action("H", "hold", ("balance", "pause", "--route", "east>west", "--stream", "default"))
PAUSE = Action("H", "pause", ("stream", "pause-topic", "--route", "west>east", "orders"))
SILENCE = Action("Z", "silence", ("alerts", "silence", "--region", "east", "audit/x"))
PLAN = Action("P", "plan failover", ("failover", "plan"))
FREEZE = Action("H", "freeze", ("aggregate", "freeze", "--feed", "clicks"))


def refusing(server: str, about: str, problem: str | None = REFUSAL) -> Snapshot:
    found = snapshots.lagging()
    part = Part(
        server=server, about=about, asked_at=None, problem=problem and f"{server}: {problem}"
    )
    return replace(found, parts=(*found.parts, part))


@pytest.mark.parametrize(
    ("action", "server", "about"),
    [
        (HOLD, "west aggregate", ORDERS),
        (PAUSE, "east aggregate", ORDERS),
        (SILENCE, "east Redis", NOTICES),
        (PLAN, "west aggregate", "primary regions"),
        (replace(PLAN, words=("switchover", "plan")), "east aggregate", "primary regions"),
    ],
)
def test_an_action_is_off_where_a_server_of_its_command_refuses(action, server, about):
    assert why_no_right(action, refusing(server, about)) == f"{server}: {REFUSAL}"
    assert why_no_right(action, refusing(server, about, "timed out after 3 s")) is None
    assert why_no_right(action, refusing("north aggregate", about)) is None
    assert why_no_right(action, refusing(server, "log ends")) is None


def test_a_feed_is_frozen_by_an_order_of_its_region():
    found = refusing("west aggregate", ORDERS)
    assert found.feeds
    feed = replace(found.feeds[0], feed="clicks", region="west")
    assert why_no_right(FREEZE, replace(found, feeds=(feed,))) == f"west aggregate: {REFUSAL}"
    assert why_no_right(FREEZE, replace(found, feeds=(replace(feed, region="east"),))) is None
    assert why_no_right(FREEZE, replace(found, feeds=None)) is None


def test_what_needs_no_server_is_on():
    assert why_no_right(Action("V", "verify", ()), refusing("west aggregate", ORDERS)) is None


async def test_the_keys_and_the_palette_grey_it_with_the_refusal():
    settings = ConsoleSettings(file="a.toml", is_steering=True)
    async with running(refusing("east aggregate", ORDERS), (140, 45), settings) as console:
        await console.press("5")
        assert "(H hold)" in console.frame()
        await console.press("H")
        assert f"H hold: east aggregate: {REFUSAL}" in console.frame()
        await console.press(":", *"hold")
        assert f"off: east aggregate: {REFUSAL}" in console.frame()


# --- Jobs of the console: the command that is shown is the one that is run.

PAUSE_TOPIC = Action(
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
    shown = jobs.command(PAUSE_TOPIC, values)
    assert shown.startswith("sluice stream pause-topic --config ")
    assert shown.endswith("--route 'west>east' orders")
    jobs.start(PAUSE_TOPIC, values)
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
        SteeredJobs(tmp_path, Path("a.toml"), start).start(PAUSE_TOPIC, {})


def test_without_a_folder_there_are_no_jobs(tmp_path: Path):
    assert list(SteeredJobs(tmp_path / "none", Path("a.toml")).jobs()) == []
    (tmp_path / "file").write_text("")
    assert list(SteeredJobs(tmp_path / "file", Path("a.toml")).jobs()) == []


def test_the_jobs_that_were_read_last_are_known_without_reading(tmp_path: Path):
    jobs = SteeredJobs(tmp_path / "none", Path("a.toml"))
    assert jobs.known() == ()
    assert jobs.jobs() is jobs.known()


# --- Steering from a page: a job is started, a command copied, a refusal told.

STEERING = ConsoleSettings(file="appliance.toml", is_steering=True)
PAUSE_KEYS = ("H", *"test", "enter", "enter", *"orders", "enter")


async def test_a_confirmed_action_starts_a_job_and_shows_it():
    async with running(snapshots.lagging(), settings=STEERING) as console:
        await console.show(TopicsPage("east>west"))
        await console.press(*PAUSE_KEYS)
        await console.until(lambda: isinstance(console.app.state.navigation.current.page, JobPage))
        ((action, values),) = console.jobs.started
        assert action.words == ("stream", "pause-topic", "--route", "east>west", "orders")
        assert values == {"reason": "test", "for": ""}
        await console.until(lambda: "sluice stream pause-topic" in console.frame())


async def test_a_cancelled_action_starts_nothing_and_says_so():
    async with running(snapshots.lagging(), settings=STEERING) as console:
        await console.show(TopicsPage("east>west"))
        await console.press(*PAUSE_KEYS[:-7], "enter")
        assert "nothing was done" in console.frame()
        assert console.jobs.started == []


async def test_a_job_that_cannot_be_started_is_told():
    async with running(snapshots.lagging(), settings=STEERING) as console:
        console.jobs.error = JobRefused("the disk is full")
        await console.show(TopicsPage("east>west"))
        await console.press(*PAUSE_KEYS)
        await console.until(lambda: "the disk is full" in console.frame())


async def test_a_command_to_copy_is_copied_without_steer():
    async with running(snapshots.lagging(), size=(140, 45)) as console:
        await console.show(TopicsPage("east>west"))
        await console.press("L", "enter")
        assert "copied: sluice accept-loss" in console.frame()
        assert console.app.clipboard.startswith("sluice accept-loss")
        assert console.jobs.started == []
