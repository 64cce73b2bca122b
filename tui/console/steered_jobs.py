"""Jobs of the console: actions of pages become commands that run without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from tui.console.command_line import JobRefused, filled
from tui.orders.operator_events import operator
from tui.pages.page import Action
from tui.steering.job import Job
from tui.steering.job_folder import JobFolder
from tui.steering.job_start import JobNotStarted, start_job
from tui.steering.steered_command import (
    BadValue,
    NotSteered,
    as_typed,
    command_line,
    copied_line,
    words_of,
)


class Starter(Protocol):
    """Function that starts a command as a job: job_start.start_job."""

    def __call__(self, folder: JobFolder, words: Sequence[str], config: Path, *, who: str) -> Job:
        """Raises NotSteered, or JobNotStarted."""


class SteeredJobs:
    """Jobs of one appliance on this machine.

    Args:
        folder: of the jobs' files.
        config: file of the appliance.
        start: starts a job; for tests.
    """

    def __init__(self, folder: Path, config: Path, start: Starter = start_job) -> None:
        self._folder = JobFolder(folder)
        self._config = config
        self._start = start
        self._known: Sequence[Job] = ()

    def start(self, action: Action, values: Mapping[str, str]) -> Job:
        """Starts the command of an action. Raises JobRefused."""
        words = self._words(action, values)
        try:
            return self._start(self._folder, words, self._config, who=operator())
        except (NotSteered, JobNotStarted) as error:
            raise JobRefused(str(error)) from None

    def jobs(self) -> Sequence[Job]:
        """Returns the jobs, the newest first; none where their folder cannot be read."""
        try:
            self._known = self._folder.jobs()
        except OSError:
            self._known = ()
        return self._known

    def known(self) -> Sequence[Job]:
        """Returns the jobs that were read last, at once."""
        return self._known

    def command(self, action: Action, values: Mapping[str, str]) -> str:
        """Returns the command as it is typed in a shell. Raises JobRefused."""
        words = self._words(action, values)
        if action.is_copied:
            return as_typed(copied_line(words, str(self._config)))
        try:
            return as_typed(command_line(words, str(self._config.absolute())))
        except NotSteered as error:
            raise JobRefused(str(error)) from None

    def _words(self, action: Action, values: Mapping[str, str]) -> tuple[str, ...]:
        try:
            return words_of(action.words, filled(action, values))
        except BadValue as error:
            raise JobRefused(str(error)) from None
