"""Steering: opens the dialog of an action, and starts or copies its command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tui.console.command_line import JobRefused, command_text
from tui.console.dialog import ActionDialog
from tui.console.keys import shown
from tui.console.plain import plain
from tui.pages.jobs import JobPage
from tui.pages.page import Action
from tui.steering.job import Job
from tui.steering.steered_command import BadValue

if TYPE_CHECKING:
    from tui.console.page_screen import PageScreen


def start_action(screen: PageScreen, action: Action, why_off: str | None) -> None:
    """Opens the dialog of a page's action, or says why it is off."""
    if why_off is not None:
        screen.notice(f"{shown(action.key)} {action.label}: {why_off}")
    else:
        open_dialog(screen, action)


def open_dialog(screen: PageScreen, action: Action) -> None:
    """Opens the dialog of an action that is not off."""
    jobs = screen.state.jobs

    def command(values: Mapping[str, str]) -> str:
        try:
            return (
                jobs.command(action, values) if jobs is not None else command_text(action, values)
            )
        except BadValue as error:
            raise JobRefused(str(error)) from None

    def decided(values: Mapping[str, str] | None) -> None:
        if values is None:
            screen.notice("nothing was done")
        elif action.is_copied:
            copy(screen, command(values))
        else:
            start(screen, action, values)

    screen.app.push_screen(ActionDialog(action, command), decided)


def copy(screen: PageScreen, text: str) -> None:
    """Copies a text to the terminal's clipboard, by OSC 52."""
    screen.app.copy_to_clipboard(plain(text))
    screen.notice(f"copied: {text}")


def start(screen: PageScreen, action: Action, values: Mapping[str, str]) -> None:
    """Starts a job in a thread, then shows it."""
    app, jobs = screen.app, screen.state.jobs
    if jobs is None:
        screen.notice("jobs cannot be started from this console")
        return

    def started(job: Job | None, problem: str) -> None:
        if job is None:
            screen.notice(problem)
            return
        screen.state.navigation.open(JobPage(jobs.jobs, jobs.known, job.job_id))
        screen.page_changed()
        # The page tells the command; a notice would hide its keys.
        screen.notice("")

    def run() -> None:
        try:
            job = jobs.start(action, values)
        except JobRefused as error:
            app.call_from_thread(started, None, str(error))
        else:
            app.call_from_thread(started, job, "")

    screen.notice("starting")
    app.run_worker(run, thread=True, exit_on_error=True)
