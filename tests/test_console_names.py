"""Values of others: whatever text or number is in them, a page is shown, and no escape but ours."""

import re
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tui.console import snapshots
from tests.tui.console.running import running, terminal_text
from tests.tui.pages.finding_snapshots import findings
from tui.console.built_page import built
from tui.console.export import as_csv, as_json
from tui.console.keys import SCREENS
from tui.console.line_widget import TONES
from tui.console.navigation import first_view
from tui.console.registry import first_page
from tui.console.search import names_of, search_page, target_of
from tui.console.settings import ConsoleSettings
from tui.console.table_drawing import drawn
from tui.console.table_layout import lines_of
from tui.pages.alert import AlertPage
from tui.pages.feed import FeedPage
from tui.pages.group import GroupPage
from tui.pages.groups import GroupsPage
from tui.pages.page import Page
from tui.pages.partitions import MEASURES, PartitionsPage
from tui.pages.plan import PlanPage
from tui.pages.stream import StreamPage
from tui.pages.topics import TopicsPage

OURS = re.compile(r"\x1b\[[0-9;]*[mH]")
HOSTILE = "a\x1b[2J[bold]\x1b]52;c;eA==\x07\n\u202e\x9b31m"
ANY = st.text(max_size=40) | st.binary(max_size=40).map(
    lambda found: found.decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode()
)
NUMBERS = st.sampled_from([0, -1, 1, 17, 2**31, 2**63, -(2**63), 10**18])
REALS = st.floats() | st.sampled_from([0.0, -1.0, 1e18, float("inf"), float("nan")])


def changed(value, name, number, real):
    """Returns a value with other texts, numbers and reals everywhere in it."""
    if isinstance(value, bool | Enum) or value is None:
        return value
    if isinstance(value, str):
        return name
    if isinstance(value, int):
        return number
    if isinstance(value, float):
        return real
    if is_dataclass(value) and not isinstance(value, type):
        parts = {
            each.name: changed(getattr(value, each.name), name, number, real)
            for each in fields(value)
            if each.init
        }
        return type(value)(**parts)
    if isinstance(value, dict):
        return {changed(key, name, number, real): changed(each, name, number, real)
                for key, each in value.items()}  # fmt: skip
    if isinstance(value, tuple):
        return tuple(changed(each, name, number, real) for each in value)
    return value


@cache
def whole():
    """Returns snapshots that have a value in every place."""
    return findings(), snapshots.lagging(), snapshots.region_gone()


def pages(name: str, number: int) -> list[Page]:
    """Returns all pages of a snapshot in which all names are alike."""
    return [
        *map(first_page, SCREENS),
        TopicsPage(name),
        *(PartitionsPage(name, name, number, measure) for measure in MEASURES),
        StreamPage(name, name),
        GroupsPage(name),
        GroupsPage(group=name),
        GroupPage(name, name, name),
        PlanPage(name),
        AlertPage(name),
        FeedPage(name),
    ]


@settings(max_examples=2 * settings.default.max_examples)
@given(st.integers(0, 2), ANY, NUMBERS, REALS, st.floats(0.0, 1e12))
def test_every_page_takes_any_value_and_its_lines_keep_their_width(place, name, number, real, now):
    snapshot = changed(whole()[place], name, number, real)
    for page in pages(name, number):
        page_shown(page, snapshot, now)
    for found in names_of(snapshot):
        target_of(found)
    search_page(list(names_of(snapshot)))


def page_shown(page: Page, snapshot, now: float) -> None:
    """Does with a page all that the console does, and checks the lines."""
    found = built(first_view(page), snapshot, now)
    for line in drawn(lines_of(found), 0, 200, 80, 0):
        assert sum(each.width for each in line) == 80
        assert "".join(each.text for each in line).isprintable()
        assert all(each.tone in ("", *TONES) for each in line)
        assert not any("cannot be shown" in each.text for each in line)
    for at in range(found.row_count):
        row = found.row(at)
        assert row is not None and "please report it" not in row.why, row.why
        page.opened(snapshot, row)
        page.actions(snapshot, row, now)
        page.notes(snapshot, row, now)
    page.actions(snapshot, None, now)
    as_csv(found)
    as_json(found)


async def test_every_screen_draws_hostile_names_without_an_escape_of_theirs():
    steering = ConsoleSettings(file=HOSTILE, is_steering=True)
    async with running(changed(whole()[0], HOSTILE, 17, 1.0), settings=steering) as console:
        frames = [escapes_of(console)]
        for keys in (
            "1", "2", "3", "4", "5", "6", "7", "8", "?", "escape", ":", "escape", "ctrl+f",
            "escape", "2", "enter", "H", "escape", "enter", "y", "b",
        ):  # fmt: skip
            await console.press(keys)
            frames.append(escapes_of(console))
        assert any("\\x1b[2J[bold]" in frame for frame in frames)


async def test_every_page_draws_hostile_names_without_an_escape_of_theirs(subtests):
    async with running(changed(whole()[0], HOSTILE, 17, 1.0), size=(140, 45)) as console:
        for page in pages(HOSTILE, 17):
            await console.open_first(page)
            with subtests.test(page=type(page).__name__):
                assert escapes_of(console)


def escapes_of(console) -> str:
    """Returns the frame without colours and positions, and fails where another escape is left."""
    text = OURS.sub("", terminal_text(console.app))
    lines = text.rstrip("\n").split("\n")
    assert all(line.isprintable() for line in lines), text
    assert len(lines) == console.app.size.height
    return text
