"""Commands of a replay: step, seek, speed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tui.console.prompt import TimePrompt
from tui.console.source import ReplaySource

if TYPE_CHECKING:
    from tui.console.main_screen import MainScreen

SPEED_MAX = 64.0
SPEED_MIN = 0.25
NO_REPLAY = "this is no replay"


def replay_of(screen: MainScreen) -> ReplaySource | None:
    """Returns the replay; None when the servers are asked, or before it is opened."""
    app = screen.console_app
    source = None if app.opened is None else app.opened.source
    return source if app.settings.is_replay and isinstance(source, ReplaySource) else None


def why_no_replay(screen: MainScreen) -> str | None:
    """Returns why there is nothing to step through."""
    return NO_REPLAY if replay_of(screen) is None else None


def stepping(snapshots: int) -> Callable[[MainScreen], None]:
    """Returns the command that goes on by some snapshots."""

    def run(screen: MainScreen) -> None:
        source = replay_of(screen)
        if source is not None:
            source.step(snapshots)

    return run


def speeding(factor: float) -> Callable[[MainScreen], None]:
    """Returns the command that multiplies the speed; a replay that stands begins to play."""

    def run(screen: MainScreen) -> None:
        source = replay_of(screen)
        if source is not None:
            speed = source.state.speed
            speed = 1.0 if not speed else min(SPEED_MAX, max(SPEED_MIN, speed * factor))
            source.set_speed(speed)
            screen.notice(f"speed {speed:g}")

    return run


def next_alert(screen: MainScreen) -> None:
    """Goes to the next alert."""
    source = replay_of(screen)
    if source is not None:
        source.seek_alert()


def seek(screen: MainScreen) -> None:
    """Asks for a time, and goes there."""
    source, snapshot = replay_of(screen), screen.console_app.snapshot
    if source is None or snapshot is None:
        return

    def decided(at: float | None) -> None:
        if at is not None:
            source.seek(at)

    screen.app.push_screen(TimePrompt(snapshot.taken_at), decided)


def replay_text(screen: MainScreen) -> str:
    """Returns what the top line says of a replay; "" when servers are asked."""
    source = replay_of(screen)
    if source is None:
        return ""
    state = source.state
    parts = [f"x{state.speed:g}" if state.speed else "stands"]
    parts += ["at the end"] if state.is_at_end else []
    parts += [state.problem] if state.problem else []
    parts += [state.mark] if state.mark else []
    return "  ".join(parts)
