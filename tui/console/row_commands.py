"""Commands about the row under the cursor, the shown view, and all names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tui.console.built_page import BuiltPage
from tui.console.chooser import CHOOSE, LEAVE, Chooser
from tui.console.export import as_csv, as_json, file_name, without_fonts, written
from tui.console.list_page import ListPage
from tui.console.palette import help_page
from tui.console.row_filter import escaped
from tui.console.search import names_of, search_page, target_of
from tui.console.steering_dialog import copy
from tui.pages.jobs import JobsPage
from tui.pages.page import Cell, Column, Page, Row, Section
from tui.pages.partitions import MEASURES

if TYPE_CHECKING:
    from tui.console.page_screen import PageScreen

EXPORTS = {
    "csv": "the rows of this view as CSV",
    "json": "the rows of this view as JSON",
    "svg": "the screen as a picture",
}


def why_no_row(screen: PageScreen) -> str | None:
    """Returns why nothing can be done with the row under the cursor."""
    return "there is no row" if screen.table.cursor_row is None else None


def why_no_view(screen: PageScreen) -> str | None:
    """Returns why there is no view."""
    return "nothing is shown yet" if screen.table.page is None else None


def copy_row(screen: PageScreen) -> None:
    """Copies the row, with two blanks between its cells."""
    row = screen.table.cursor_row
    if row is not None:
        copy(screen, "  ".join(cell.text for cell in row.cells if cell.text))


def why_no_measure(screen: PageScreen) -> str | None:
    """Returns why the page has no other measure."""
    page = screen.state.navigation.current.page
    return None if hasattr(page, "measure") else "only the partitions of a topic have measures"


def next_measure(screen: PageScreen) -> None:
    """Shows lag in the next measure."""
    view = screen.state.navigation.current
    page = cast("Any", view.page)
    measure = MEASURES[(MEASURES.index(page.measure) + 1) % len(MEASURES)]
    screen.changed(replace(view, page=replace(page, measure=measure)))
    screen.notice(f"lag in {measure}")


def related(screen_name: str, *names: str) -> Callable[[PageScreen], None]:
    """Returns the command that shows another screen, narrowed to what the row is about.

    Args:
        names: fields of the row, the first one that is set counts.
    """

    def run(screen: PageScreen) -> None:
        row = screen.table.cursor_row
        if row is None:
            return
        navigation = screen.state.navigation
        navigation.go_to(screen_name)
        make = getattr(type(navigation.current.page), "for_row", None)
        if make is not None:
            navigation.open(cast("Page", make(row)))
        else:
            text = next(filter(None, (getattr(row, name) for name in names)), "")
            navigation.current = replace(navigation.current, filter=escaped(text), cursor=None)
        screen.page_changed()

    return run


def why_not_related(*names: str) -> Callable[[PageScreen], str | None]:
    """Returns the function that says why a row leads to no other screen."""

    def why(screen: PageScreen) -> str | None:
        row = screen.table.cursor_row
        if row is None:
            return "there is no row"
        if not any(getattr(row, name) for name in names):
            return f"this row has no {' and no '.join(names)}"
        return None

    return why


def show_help(screen: PageScreen) -> None:
    """Shows keys and columns."""
    settings = screen.state.settings
    page = help_page(settings.keymap, screen.table.page, screen.page_actions(), settings.is_replay)
    screen.app.push_screen(Chooser(page, LEAVE))


def show_search(screen: PageScreen) -> None:
    """Shows all names; the chosen one is jumped to."""
    snapshot = screen.state.snapshot
    if snapshot is None:
        return
    names = {each.key: each for each in names_of(snapshot)}

    def chosen(key: str | None) -> None:
        if key is None:
            return
        target, navigation = target_of(names[key]), screen.state.navigation
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


def show_jobs(screen: PageScreen) -> None:
    """Shows the jobs."""
    jobs = screen.state.jobs
    if jobs is not None:
        screen.state.navigation.open(JobsPage(jobs.jobs, jobs.known))
        screen.page_changed()


def why_no_jobs(screen: PageScreen) -> str | None:
    """Returns why there are no jobs."""
    if isinstance(screen.state.navigation.current.page, JobsPage):
        return "these are the jobs"
    return None if screen.state.jobs is not None else "this console has no jobs"


def export(screen: PageScreen) -> None:
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


def _export(screen: PageScreen, key: str, page: BuiltPage) -> None:
    app, state = screen.app, screen.state
    name = file_name(page.page.name, state.clock(), key)
    picture = without_fonts(app.export_screenshot(title="sluice")) if key == "svg" else ""

    def run() -> None:
        text = picture or (as_csv(page) if key == "csv" else as_json(page))
        try:
            path: Path | None = written(state.settings.export_folders, name, text)
            app.call_from_thread(screen.notice, f"written: {path}")
        except OSError as error:
            app.call_from_thread(screen.notice, f"not written: {error}")

    app.run_worker(run, thread=True)
