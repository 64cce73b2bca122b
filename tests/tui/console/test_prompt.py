"""Prompt for a time."""

import pytest

from tests.tui.console import snapshots
from tests.tui.console.running import running
from tui.console.prompt import BadTime, TimePrompt, time_of

NOW = snapshots.NOW


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("14:02:31", 0),
        ("14:03", 29),
        ("2026-11-21 14:02", -31),
        ("2026-11-21T14:02:30Z", -1),
        ("2026-11-20 14:02:31", -86400),
    ],
)
def test_a_time_of_day_belongs_to_the_day_that_is_shown(text, seconds):
    assert time_of(text, NOW) == NOW + seconds


def test_a_text_that_is_no_time_is_told():
    with pytest.raises(BadTime, match="no time: noon"):
        time_of("noon", NOW)


async def test_the_prompt_asks_again_after_a_mistake_and_esc_leaves():
    async with running(snapshots.healthy()) as console:
        found = []
        console.app.push_screen(TimePrompt(NOW), found.append)
        await console.settled()
        await console.press(*"noon", "enter")
        assert "no time: noon" in console.frame()
        await console.press("escape")
        console.app.push_screen(TimePrompt(NOW), found.append)
        await console.settled()
        await console.press(*"14", "colon", *"05", "enter")
        console.app.push_screen(TimePrompt(NOW), found.append)
        await console.settled()
        await console.press("enter")
        assert found == [None, NOW + 149, None]
