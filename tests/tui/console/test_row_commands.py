"""Commands about rows: palette, help, search, copy, export, groups and events of a row."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tui.console import snapshots
from tests.tui.console.running import FakeJob, running
from tui.console.settings import ConsoleSettings
from tui.pages.groups import GroupsPage
from tui.pages.jobs import JobPage
from tui.pages.partitions import PartitionsPage
from tui.pages.plan import PlanPage
from tui.pages.topics import TopicsPage

PAGE = PartitionsPage("east>west", "orders")


@pytest.mark.parametrize("key", ["colon", "ctrl+p"])
async def test_the_palette_lists_every_action_and_does_the_chosen_one(console, key):
    await console.show(TopicsPage("east>west"))
    await console.press(key)
    assert "off: start the console with --steer" in console.frame()
    await console.press(*"faults", "enter")
    assert "faults only" in console.frame()


async def test_an_action_that_is_off_says_why_when_it_is_chosen(console):
    await console.show(TopicsPage("east>west"))
    await console.press("colon", *"pause", "enter")
    assert "H pause: start the console with --steer" in console.frame()


async def test_the_palette_says_where_the_actions_of_other_screens_are():
    async with running(snapshots.lagging(), size=(140, 45)) as console:
        await console.press("colon", *"screen", "space", *"silence", "enter")
        assert "Z silence: it is on screen 6 alerts, on an alert" in console.frame()
        assert console.app.state.navigation.screen == "overview"


async def test_esc_leaves_the_palette_and_nothing_is_done(console):
    await console.press("colon", "escape")
    assert len(console.app.screen_stack) == 2
    assert console.app.state.navigation.screen == "overview"


async def test_help_names_the_columns_of_the_screen():
    async with running(snapshots.lagging(), size=(140, 45)) as console:
        await console.show(PAGE)
        await console.press("question_mark", *"drain")
        assert "time until the lag is gone at this pace" in console.frame()
        await console.press("enter")
        assert console.page == PAGE


async def test_search_jumps_to_a_topic(console):
    await console.press("ctrl+f", *"east>west", "space", *"orders", "enter")
    assert console.page == PAGE
    await console.press("escape")
    assert console.page == TopicsPage("east>west")


async def test_search_jumps_to_a_group_with_the_cursor_on_it(console):
    await console.press("ctrl+f", *"fraud", "enter")
    assert console.app.state.navigation.screen == "groups"
    assert console.cursor == "fraud"


async def test_search_has_nothing_before_the_first_snapshot():
    async with running(None) as console:
        await console.press("ctrl+f")
        assert "nothing is shown yet" in console.frame()


async def test_y_copies_the_row(console):
    await console.show(PAGE)
    await console.press("y")
    assert console.app.clipboard.startswith("PARKED  41  1,201,917")


async def test_m_shows_lag_in_seconds_then_bytes_then_records():
    async with running(snapshots.lagging(), size=(140, 45)) as console:
        await console.show(PAGE)
        await console.press("down")
        lags = []
        for _ in range(3):
            await console.press("m")
            row = console.app.main.table.cursor_row
            lags.append(row.cells[4].text)
        assert lags == ["26.5", "2.5", "21.2k"]


async def test_m_says_where_there_is_no_other_measure(console):
    await console.press("m")
    assert "only the partitions of a topic have measures" in console.frame()


@pytest.mark.parametrize(("typed", "suffix"), [("csv", "csv"), ("json", "json"), ("svg", "svg")])
async def test_upper_e_writes_the_view_and_names_the_file(tmp_path: Path, typed, suffix):
    settings = ConsoleSettings(file="a.toml", export_folders=(tmp_path,))
    async with running(snapshots.lagging(), size=(140, 45), settings=settings) as console:
        await console.show(PAGE)
        await console.press("E", *typed, "enter")
        await console.until(lambda: list(tmp_path.iterdir()))
        await console.until(lambda: "written: " in console.frame())
    (path,) = tmp_path.iterdir()  # noqa: ASYNC240 - a test
    assert path.name == f"sluice-routes-20261121-140231.{suffix}"
    text = path.read_text()
    if suffix == "json":
        assert len(json.loads(text)["sections"]["partitions"]) == 20
    elif suffix == "csv":
        assert text.startswith("section,STATE,PART,")
    else:
        assert "font-face" not in text
        assert "orders" in text and "esc leaves" not in text


async def test_a_folder_that_cannot_be_written_to_is_told(tmp_path: Path):
    settings = ConsoleSettings(file="a.toml", export_folders=(tmp_path / "missing",))
    async with running(snapshots.lagging(), size=(140, 45), settings=settings) as console:
        await console.press("E", "enter")
        await console.until(lambda: "not written: " in console.frame())


async def test_g_and_l_show_groups_and_events_of_the_row(console):
    await console.show(PAGE)
    await console.press("l")
    assert console.app.state.navigation.screen == "events"
    await console.press("1", "home", "g")
    assert "this row has no group and no topic" in console.frame()


async def test_g_on_a_row_of_a_group_shows_this_group_only(console):
    await console.show(PlanPage(snapshots.plan_summary().plan_id))
    while console.app.main.table.cursor_row.group is None:
        await console.press("down")
    await console.press("g")
    assert console.page == GroupsPage(group="billing")
    assert "groups > billing   1 group" in console.frame()
    assert console.cursor == "billing"


async def test_a_name_with_a_newline_is_found_and_jumped_to():
    odd = replace(snapshots.groups()[0], group="a\nb")
    async with running(replace(snapshots.lagging(), groups=(odd,))) as console:
        await console.press("ctrl+f", *"group", "enter")
        assert console.app.state.navigation.screen == "groups"
        assert console.cursor == "a\nb"


async def test_b_shows_the_jobs_and_enter_the_output_of_one():
    ended = FakeJob(
        "job-0",
        "sluice failover apply p1",
        ended_at=snapshots.NOW - 1,
        exit_code=7,
        state="ended",
        meaning="the result is unknown",
        way_out=("failover", "verify", "p1"),
        tail=("moving billing", "connection lost"),
    )
    async with running(snapshots.lagging(), size=(140, 45)) as console:
        await console.press("b")
        assert "no command was started from a console" in console.frame()
        console.jobs.found.append(ended)
        await console.press("escape", "b")
        frame = console.frame()
        assert "sluice failover apply p1" in frame and "the result is unknown" in frame
        assert "to see what was done: sluice failover verify p1" in frame
        await console.press("enter")
        assert "connection lost" in console.frame()
        job = console.page
        assert type(job) is JobPage
        await console.press("escape")
        assert console.page.name == "jobs" and console.page != job
        await console.press("b")
        assert "these are the jobs" in console.frame()
