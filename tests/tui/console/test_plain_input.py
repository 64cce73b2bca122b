"""Input: what is pasted is escaped."""

from textual import events

from tests.tui.console import snapshots
from tests.tui.console.running import running


async def test_pasted_control_characters_are_shown_as_text():
    async with running(snapshots.healthy()) as console:
        await console.press("slash")
        console.app.main.filter_input.post_message(events.Paste("a\x1b[31mb\u202e"))
        await console.settled()
        assert console.app.main.filter_input.value == "a\\x1b[31mb\\u202e"
