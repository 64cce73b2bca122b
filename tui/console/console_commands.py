"""Commands of the console itself, by the names that a file of keys has for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tui.console import row_commands as rows
from tui.console.all_actions import elsewhere
from tui.console.built_page import next_sort
from tui.console.chooser import CHOOSE, Chooser
from tui.console.keys import SCREENS
from tui.console.palette import ELSEWHERE, PAGE_ACTION, palette_page, where
from tui.console.prompt import TimePrompt
from tui.console.steering_dialog import start_action
from tui.console.themes import next_theme
from tui.facts.moments import clock_text

if TYPE_CHECKING:
    from tui.console.page_screen import PageScreen

SPEED_MAX = 64.0
SPEED_MIN = 0.25
NO_REPLAY = "this is no replay"


def always(_: PageScreen) -> str | None:
    """Returns None: the command can always be used."""
    return None


@dataclass(frozen=True, slots=True)
class ConsoleCommand:
    """Command of the console.

    Args:
        why_off: returns why it cannot be used now; None when it can.
    """

    run: Callable[[PageScreen], None]
    why_off: Callable[[PageScreen], str | None] = always


def to_screen(name: str) -> Callable[[PageScreen], None]:
    """Returns the command that shows a screen."""

    def run(screen: PageScreen) -> None:
        screen.state.navigation.go_to(name)
        screen.page_changed()

    return run


def open_row(screen: PageScreen) -> None:
    """Opens the row under the cursor."""
    table = screen.table
    row = table.cursor_row
    if table.page is None or row is None:
        return
    page = table.page.opened(row)
    if page is not None:
        screen.state.navigation.open(page)
        screen.page_changed()


def why_not_open(screen: PageScreen) -> str | None:
    """Returns why enter leads nowhere."""
    if screen.table.cursor_row is None:
        return "there is no row"
    return None if screen.can_open() else "there is nothing behind this row"


def back(screen: PageScreen) -> None:
    """Clears the filter or, without one, goes back."""
    navigation = screen.state.navigation
    if navigation.current.filter or navigation.current.is_faults_only:
        screen.changed(replace(navigation.current, filter="", is_faults_only=False))
    elif navigation.back():
        screen.page_changed()


def moving(rows: int) -> Callable[[PageScreen], None]:
    """Returns the command that moves the cursor by some rows."""
    return lambda screen: screen.table.move(rows)


def section_name(screen: PageScreen) -> str | None:
    """Returns the name of the section that the cursor is in."""
    view = screen.state.navigation.current
    return view.cursor[0] if view.cursor else None


def sort_next(screen: PageScreen) -> None:
    """Sorts the cursor's section by the next column."""
    view, page = screen.state.navigation.current, screen.table.page
    found = page.place(view.cursor_at) if page is not None else None
    if found is not None:
        section = found[0].section
        titles = next_sort(section.columns, found[0].sorted_by)
        screen.changed(view.sorted_by(section.name, titles))


def reverse(screen: PageScreen) -> None:
    """Turns the order of the cursor's section round."""
    name = section_name(screen)
    if name is not None:
        screen.changed(screen.state.navigation.current.turned_round(name))


def faults(screen: PageScreen) -> None:
    """Shows faults only, or all rows."""
    view = screen.state.navigation.current
    screen.changed(replace(view, is_faults_only=not view.is_faults_only))


def wide(screen: PageScreen) -> None:
    """Shows all columns, or those that fit."""
    view = screen.state.navigation.current
    screen.changed(replace(view, is_wide=not view.is_wide, shift=0))


def shifting(columns: int) -> Callable[[PageScreen], None]:
    """Returns the command that moves a wide view along its columns."""

    def run(screen: PageScreen) -> None:
        view = screen.state.navigation.current
        if view.is_wide:
            screen.changed(replace(view, shift=max(0, view.shift + columns)))

    return run


def freeze(screen: PageScreen) -> None:
    """Keeps what is shown, or shows the newest again."""
    state = screen.state
    state.set_frozen(state.frozen_at is None)
    if state.take_newest():
        screen.request_page()
    screen.show_bars()
    if state.frozen_at is not None:
        key = screen.keymap.key("freeze")
        screen.notice(f"frozen at {clock_text(state.frozen_at)}Z, asking goes on: {key} ends it")


def ask_now(screen: PageScreen) -> None:
    """Asks all servers now."""
    opened = screen.state.opened
    if opened is not None:
        opened.source.ask_now()
        screen.notice("asking all servers")


def why_not_ask(screen: PageScreen) -> str | None:
    """Returns why nobody can be asked."""
    if screen.state.settings.is_replay:
        return "a replay asks no server"
    return None if screen.state.opened is not None else "starting"


def theme(screen: PageScreen) -> None:
    """Shows the next theme."""
    app = screen.app
    app.theme = next_theme(list(app.available_themes), app.theme)
    screen.notice(f"theme {app.theme}")


def leave(screen: PageScreen) -> None:
    """Leaves the console."""
    screen.app.exit(0)


def show_palette(screen: PageScreen) -> None:
    """Shows all actions; the chosen one is done."""
    actions = list(screen.page_actions())
    why_off = [(name, command.why_off(screen)) for name, command in COMMANDS.items()]
    state = screen.state
    others = []
    if state.snapshot is not None:
        here = [action for action, _ in actions]
        others = elsewhere(state.snapshot, state.now(), here, state.settings.keymap)
    page = palette_page(state.settings.keymap, actions, why_off, others)

    def chosen(key: str | None) -> None:
        if key is None:
            return
        if key.startswith(ELSEWHERE):
            placed = others[int(key.removeprefix(ELSEWHERE))]
            start_action(screen, placed.action, where(placed, state.settings.keymap))
            return
        if not key.startswith(PAGE_ACTION):
            perform(screen, key)
            return
        for action, why in actions:
            if f"{PAGE_ACTION}{action.key}" == key:
                start_action(screen, action, why)

    screen.app.push_screen(Chooser(page, CHOOSE), chosen)


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


SUBJECTS = ("topic", "group", "feed", "route", "region")
"""Fields of a row that events are looked for by, the narrowest first."""
COMMANDS: dict[str, ConsoleCommand] = {
    **{name: ConsoleCommand(to_screen(name)) for name in SCREENS},
    "open": ConsoleCommand(open_row, why_not_open),
    "back": ConsoleCommand(back),
    "up": ConsoleCommand(moving(-1)),
    "down": ConsoleCommand(moving(1)),
    "page-up": ConsoleCommand(lambda screen: screen.table.move_page(-1)),
    "page-down": ConsoleCommand(lambda screen: screen.table.move_page(1)),
    "first": ConsoleCommand(lambda screen: screen.table.move_to(0)),
    "last": ConsoleCommand(lambda screen: screen.table.move_to(10**9)),
    "left": ConsoleCommand(shifting(-1)),
    "right": ConsoleCommand(shifting(1)),
    "filter": ConsoleCommand(lambda screen: screen.begin_filter()),
    "sort": ConsoleCommand(sort_next),
    "reverse": ConsoleCommand(reverse),
    "faults": ConsoleCommand(faults),
    "wide": ConsoleCommand(wide),
    "freeze": ConsoleCommand(freeze),
    "ask": ConsoleCommand(ask_now, why_not_ask),
    "search": ConsoleCommand(rows.show_search, rows.why_no_view),
    "palette": ConsoleCommand(show_palette),
    "help": ConsoleCommand(rows.show_help),
    "theme": ConsoleCommand(theme),
    "measure": ConsoleCommand(rows.next_measure, rows.why_no_measure),
    "copy": ConsoleCommand(rows.copy_row, rows.why_no_row),
    "export": ConsoleCommand(rows.export, rows.why_no_view),
    "row-groups": ConsoleCommand(
        rows.related("groups", "group", "topic"), rows.why_not_related("group", "topic")
    ),
    "row-events": ConsoleCommand(
        rows.related("events", *SUBJECTS), rows.why_not_related(*SUBJECTS)
    ),
    "jobs": ConsoleCommand(rows.show_jobs, rows.why_no_jobs),
    "replay-back": ConsoleCommand(stepping(-1), why_no_replay),
    "replay-forward": ConsoleCommand(stepping(1), why_no_replay),
    "replay-slower": ConsoleCommand(speeding(0.5), why_no_replay),
    "replay-faster": ConsoleCommand(speeding(2.0), why_no_replay),
    "replay-alert": ConsoleCommand(next_alert, why_no_replay),
    "replay-seek": ConsoleCommand(seek, why_no_replay),
    "quit": ConsoleCommand(leave),
}


def perform(screen: PageScreen, name: str) -> None:
    """Does an action of the console by its name, or says why it is off."""
    command = COMMANDS[name]
    why = command.why_off(screen)
    if why is not None:
        screen.notice(why)
    else:
        command.run(screen)
