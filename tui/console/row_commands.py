"""Commands about the row under the cursor, the shown view, and all names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tui.console.all_actions import elsewhere
from tui.console.built_page import BuiltPage
from tui.console.chooser import Chooser
from tui.console.export import as_csv, as_json, file_name, without_fonts, written
from tui.console.help_page import help_page
from tui.console.list_page import ListPage
from tui.console.palette import ELSEWHERE, PAGE_ACTION, palette_page, where
from tui.console.row_filter import escaped
from tui.console.search import names_of, search_page, target_of
from tui.console.steering_dialog import copy
from tui.pages.jobs import JobsPage
from tui.pages.page import Cell, Column, Page, Row, Section
from tui.pages.partitions import MEASURES

if TYPE_CHECKING:
    from tui.console.main_screen import MainScreen

CHOOSE = "type to narrow   enter chooses   esc leaves"
LEAVE = "type to narrow   esc leaves"
EXPORTS = {
    "csv": "the rows of this view as CSV",
    "json": "the rows of this view as JSON",
    "svg": "the screen as a picture",
}


def why_no_row(screen: MainScreen) -> str | None:
    """Returns why nothing can be done with the row under the cursor."""
    return "there is no row" if screen.table.cursor_row is None else None


def why_no_view(screen: MainScreen) -> str | None:
    """Returns why there is no view."""
    return "nothing is shown yet" if screen.table.page is None else None


def copy_row(screen: MainScreen) -> None:
    """Copies the row, with two blanks between its cells."""
    row = screen.table.cursor_row
    if row is not None:
        copy(screen, "  ".join(cell.text for cell in row.cells if cell.text))


def why_no_measure(screen: MainScreen) -> str | None:
    """Returns why the page has no other measure."""
    page = screen.console_app.navigation.current.page
    return None if hasattr(page, "measure") else "only the partitions of a topic have measures"


def next_measure(screen: MainScreen) -> None:
    """Shows lag in the next measure."""
    view = screen.console_app.navigation.current
    page = cast("Any", view.page)
    measure = MEASURES[(MEASURES.index(page.measure) + 1) % len(MEASURES)]
    screen.changed(replace(view, page=replace(page, measure=measure)))
    screen.notice(f"lag in {measure}")


def related(screen_name: str, *names: str) -> Callable[[MainScreen], None]:
    """Returns the command that shows another screen, narrowed to what the row is about.

    Args:
        names: fields of the row, the first one that is set counts.
    """

    def run(screen: MainScreen) -> None:
        row = screen.table.cursor_row
        if row is None:
            return
        navigation = screen.console_app.navigation
        navigation.go_to(screen_name)
        make = getattr(type(navigation.current.page), "for_row", None)
        if make is not None:
            navigation.open(cast("Page", make(row)))
        else:
            text = next(filter(None, (getattr(row, name) for name in names)), "")
            navigation.current = replace(navigation.current, filter=escaped(text), cursor=None)
        screen.page_changed()

    return run


def why_not_related(*names: str) -> Callable[[MainScreen], str | None]:
    """Returns the function that says why a row leads to no other screen."""

    def why(screen: MainScreen) -> str | None:
        row = screen.table.cursor_row
        if row is None:
            return "there is no row"
        if not any(getattr(row, name) for name in names):
            return f"this row has no {' and no '.join(names)}"
        return None

    return why


def show_palette(screen: MainScreen) -> None:
    """Shows all actions; the chosen one is done."""
    from tui.console.console_commands import COMMANDS

    actions = list(screen.page_actions())
    why_off = [(name, command.why_off(screen)) for name, command in COMMANDS.items()]
    app = screen.console_app
    others = []
    if app.snapshot is not None:
        here = [action for action, _ in actions]
        others = elsewhere(app.snapshot, app.now(), here, app.settings.keymap)
    page = palette_page(app.settings.keymap, actions, why_off, others)

    def chosen(key: str | None) -> None:
        if key is None:
            return
        if key.startswith(ELSEWHERE):
            placed = others[int(key.removeprefix(ELSEWHERE))]
            screen.start_action(placed.action, where(placed, app.settings.keymap))
            return
        if not key.startswith(PAGE_ACTION):
            screen.perform(key)
            return
        for action, why in actions:
            if f"{PAGE_ACTION}{action.key}" == key:
                screen.start_action(action, why)

    screen.app.push_screen(Chooser(page, CHOOSE), chosen)


def show_help(screen: MainScreen) -> None:
    """Shows keys and columns."""
    settings = screen.console_app.settings
    page = help_page(settings.keymap, screen.table.page, screen.page_actions(), settings.is_replay)
    screen.app.push_screen(Chooser(page, LEAVE))


def show_search(screen: MainScreen) -> None:
    """Shows all names; the chosen one is jumped to."""
    snapshot = screen.console_app.snapshot
    if snapshot is None:
        return
    names = {each.key: each for each in names_of(snapshot)}

    def chosen(key: str | None) -> None:
        if key is None:
            return
        target, navigation = target_of(names[key]), screen.console_app.navigation
        navigation.jump(target.screen, list(target.pages))
        if target.cursor is not None:
            navigation.current = replace(
                navigation.current,
                cursor=target.cursor,
                is_at_start=False,
                filter="",
                is_faults_only=False,
            )
        screen.page_changed()

    screen.app.push_screen(Chooser(search_page(list(names.values())), CHOOSE), chosen)


def show_jobs(screen: MainScreen) -> None:
    """Shows the jobs."""
    opened = screen.console_app.opened
    if opened is not None and opened.jobs is not None:
        screen.console_app.navigation.open(JobsPage(opened.jobs.jobs, opened.jobs.known))
        screen.page_changed()


def why_no_jobs(screen: MainScreen) -> str | None:
    """Returns why there are no jobs."""
    opened = screen.console_app.opened
    if isinstance(screen.console_app.navigation.current.page, JobsPage):
        return "these are the jobs"
    return None if opened is not None and opened.jobs is not None else "this console has no jobs"


def export(screen: MainScreen) -> None:
    """Asks for a format, and writes the file."""
    rows = tuple(Row(key, (Cell(key, "bold"), Cell(text))) for key, text in EXPORTS.items())
    columns = (Column("FORMAT", 8), Column("FILE HAS", 30, grows=True))
    page = ListPage("export", (Section("formats", columns, rows),))

    def chosen(key: str | None) -> None:
        found = screen.table.page
        if key is not None and found is not None:
            # After the chooser is gone, so that the picture does not show it.
            screen.call_after_refresh(_export, screen, key, found)

    screen.app.push_screen(Chooser(page, CHOOSE), chosen)


def _export(screen: MainScreen, key: str, page: BuiltPage) -> None:
    app = screen.console_app
    name = file_name(page.page.name, app.clock(), key)
    picture = without_fonts(app.export_screenshot(title="sluice")) if key == "svg" else ""

    def run() -> None:
        text = picture or (as_csv(page) if key == "csv" else as_json(page))
        try:
            path: Path | None = written(app.settings.export_folders, name, text)
            app.call_from_thread(screen.notice, f"written: {path}")
        except OSError as error:
            app.call_from_thread(screen.notice, f"not written: {error}")

    app.run_worker(run, thread=True)
