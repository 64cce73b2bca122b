"""Overlay: keys that were typed ahead never end the screen below it."""

from tests.tui.console.running import running
from tests.tui.console.snapshots import healthy
from tui.console.overlay import Overlay


async def test_a_second_end_leaves_the_main_screen_where_it_is() -> None:
    async with running(healthy(), (80, 24)) as console:
        await console.press("?")
        help_screen = console.app.screen
        assert isinstance(help_screen, Overlay)
        help_screen.dismiss(None)
        help_screen.dismiss(None)
        await console.settled()
        assert console.app.screen is console.app.main
        assert "1 overview" in console.frame()
