"""Steering from a page: a job is started, a command copied, a refusal told."""

from tests.tui.console import snapshots
from tests.tui.console.running import running
from tui.console.command_line import JobRefused
from tui.console.settings import ConsoleSettings
from tui.pages.jobs import JobPage
from tui.pages.topics import TopicsPage

STEERING = ConsoleSettings(file="appliance.toml", is_steering=True)
PAUSE = ("H", *"test", "enter", "enter", *"orders", "enter")


async def test_a_confirmed_action_starts_a_job_and_shows_it():
    async with running(snapshots.lagging(), settings=STEERING) as console:
        await console.show(TopicsPage("east>west"))
        await console.press(*PAUSE)
        await console.until(lambda: isinstance(console.app.state.navigation.current.page, JobPage))
        ((action, values),) = console.jobs.started
        assert action.words == ("stream", "pause-topic", "--route", "east>west", "orders")
        assert values == {"reason": "test", "for": ""}
        await console.until(lambda: "sluice stream pause-topic" in console.frame())


async def test_a_cancelled_action_starts_nothing_and_says_so():
    async with running(snapshots.lagging(), settings=STEERING) as console:
        await console.show(TopicsPage("east>west"))
        await console.press(*PAUSE[:-7], "enter")
        assert "nothing was done" in console.frame()
        assert console.jobs.started == []


async def test_a_job_that_cannot_be_started_is_told():
    async with running(snapshots.lagging(), settings=STEERING) as console:
        console.jobs.error = JobRefused("the disk is full")
        await console.show(TopicsPage("east>west"))
        await console.press(*PAUSE)
        await console.until(lambda: "the disk is full" in console.frame())


async def test_a_command_to_copy_is_copied_without_steer():
    async with running(snapshots.lagging(), size=(140, 45)) as console:
        await console.show(TopicsPage("east>west"))
        await console.press("L", "enter")
        assert "copied: sluice accept-loss" in console.frame()
        assert console.app.clipboard.startswith("sluice accept-loss")
        assert console.jobs.started == []
