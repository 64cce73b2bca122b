"""Commands of a replay: step, seek, speed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tui.console.prompt import TimePrompt

if TYPE_CHECKING:
    from tui.console.page_screen import PageScreen

SPEED_MAX = 64.0
SPEED_MIN = 0.25
NO_REPLAY = "this is no replay"


def why_no_replay(screen: PageScreen) -> str | None:
    """Returns why there is nothing to step through."""
    return NO_REPLAY if screen.state.replay is None else None


def stepping(snapshots: int) -> Callable[[PageScreen], None]:
    """Returns the command that goes on by some snapshots."""

    def run(screen: PageScreen) -> None:
        source = screen.state.replay
        if source is not None:
            source.step(snapshots)

    return run


def speeding(factor: float) -> Callable[[PageScreen], None]:
    """Returns the command that multiplies the speed; a replay that stands begins to play."""

    def run(screen: PageScreen) -> None:
        source = screen.state.replay
        if source is not None:
            speed = source.state.speed
            speed = 1.0 if not speed else min(SPEED_MAX, max(SPEED_MIN, speed * factor))
            source.set_speed(speed)
            screen.notice(f"speed {speed:g}")

    return run


def next_alert(screen: PageScreen) -> None:
    """Goes to the next alert."""
    source = screen.state.replay
    if source is not None:
        source.seek_alert()


def seek(screen: PageScreen) -> None:
    """Asks for a time, and goes there."""
    source, snapshot = screen.state.replay, screen.state.snapshot
    if source is None or snapshot is None:
        return

    def decided(at: float | None) -> None:
        if at is not None:
            source.seek(at)

    screen.app.push_screen(TimePrompt(snapshot.taken_at), decided)
