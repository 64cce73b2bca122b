"""docs/console.md names each screen, each key, and each action of a page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from deploy.pictures import GONE, LAGGING, PICTURES, rest, shown
from tui.commands.exit_codes import ExitCode
from tui.console.keys import KEYS, SCREENS, KeyDefinition
from tui.console.keys import shown as shown_key
from tui.facts.health import Health
from tui.pages.page import Page

PAGE = (Path(__file__).parents[1] / "docs" / "console.md").read_text()
CODE = re.compile(r"`([^`]+)`")


def section(heading: str) -> str:
    """Returns the text of a section."""
    return PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def cells(text: str) -> list[list[str]]:
    """Returns the cells of the tables of a text, row by row."""
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in text.splitlines()
        if line.startswith("|") and not line.startswith("|---")
    ]


def described(text: str) -> dict[str, str]:
    """Returns what stands beside each key, in tables of a key and a text, side by side."""
    found = {}
    for row in cells(text):
        for keys, meaning in zip(row[::2], row[1::2], strict=True):
            found.update(dict.fromkeys(CODE.findall(keys), meaning))
    return found


@pytest.mark.parametrize("key", KEYS[len(SCREENS) :], ids=lambda each: each.name)
def test_each_key_is_named_with_what_it_does(key: KeyDefinition) -> None:
    found = described(section("Keys"))
    for each in key.keys:
        assert shown_key(each) in found, each
        assert key.label.split()[0] in found[shown_key(each)], (each, key.label)
        assert ("replay" in found[shown_key(each)]) == key.is_replay


def test_each_screen_is_named_with_its_key() -> None:
    rows = [(row[0].strip("`"), row[1]) for row in cells(section("Screens"))[1:]]
    jobs = [key for key in KEYS if key.name == "jobs"]
    assert rows == [(key.keys[0], key.name) for key in (*KEYS[: len(SCREENS)], *jobs)]


@pytest.mark.parametrize("frame", [LAGGING, GONE])
async def test_each_action_of_a_page_is_named_with_its_key_and_command(
    frame: int, subtests: pytest.Subtests
) -> None:
    rows = cells(section("Steering"))[1:]
    pages: list[Page] = []
    async with shown(frame) as (app, pilot):
        for picture in PICTURES:
            if picture.frame != frame:
                continue
            for key in picture.keys:
                await pilot.press(key)
                await rest(app, pilot)
            page, snapshot = app.state.navigation.current.page, app.state.snapshot
            assert snapshot is not None
            place = picture.name.replace("region-gone", "overview")
            assert page not in pages
            pages.append(page)
            actions = [
                action
                for part in page.sections(snapshot, app.state.now())
                for row in (*part.rows[:5], None)
                for action in page.actions(snapshot, row, app.state.now())
            ]
            with subtests.test(page=place):
                for action in actions:
                    named = [
                        row
                        for row in rows
                        if f"`{action.key}`" in row[0]
                        and place in row[1].split(", ")
                        and action.label in row[2]
                    ]
                    assert named, f"{action.key} {action.label} on {place}"
                    assert any(("copied only" in row[2]) == action.is_copied for row in named)


def test_the_states_are_named_from_the_worst_to_the_best() -> None:
    rows = [row[0] for row in cells(section("Reading a screen"))[1:]]
    assert rows == [each.value for each in Health]


def test_the_exit_codes_of_record_are_those_of_the_program() -> None:
    found = [row[0] for row in cells(section("Recording and replay")) if row[0].isdigit()]
    assert [ExitCode(int(code)).name for code in found] == ["DONE", "FAILED", "USAGE"]
