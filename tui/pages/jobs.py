"""Page of the jobs: commands that the console has started, running and ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tui.facts.counted import counted
from tui.facts.moments import date_text
from tui.pages.ages import age_text
from tui.pages.figures import text_cell
from tui.pages.page import Cell, Column, Page, Row, Section
from tui.pages.plan import PlanPage
from tui.steering.steered_command import as_typed

if TYPE_CHECKING:
    from tui.facts.snapshot import Snapshot
    from tui.steering.job import Job

COLUMNS = (
    Column("STATE", 7, "running, ended, or lost: its process ended without an exit code"),
    Column("EXIT", 4, "exit code; docs/exit-codes.md", is_right=True),
    Column("COMMAND", 24, "as it was run", grows=True, priority=1),
    Column("MEANING", 16, "of the exit code", grows=True, priority=2),
    Column("STARTED", 19, "UTC", priority=3),
    Column("TOOK", 9, "time it took, or takes", is_right=True, priority=4),
    Column("WHO", 12, "operator who started it", priority=5),
)
TONES = {"running": "warn", "ended": "", "lost": "bad"}
LEFT_SECONDS = 86_400.0
Reading = Callable[[], "Sequence[Job]"]


@dataclass(frozen=True, slots=True)
class _PageOfJobs(Page):
    """Page of jobs, read anew each second. No job is ended from here.

    Args:
        read: returns the jobs, the newest first; it may block for a moment.
        known: returns those that were read last, at once: for what the screen's thread asks.
    """

    read: Reading
    known: Reading
    redraw_seconds: ClassVar[float] = 1.0

    name = "jobs"

    def notes_on(self, job_id: str) -> Sequence[str]:
        """Returns the whole command, how it ended, and the way out of an unknown result."""
        found = job_of(self.known, job_id)
        return () if found is None else notes_of(found)


@dataclass(frozen=True, slots=True)
class JobsPage(_PageOfJobs):
    """Jobs of this machine."""

    def title(self, snapshot: Snapshot) -> str:
        """Returns the heading."""
        return "jobs   they go on without the console"

    def sections(self, snapshot: Snapshot, now: float) -> Sequence[Section]:
        """Returns the table of jobs."""
        rows = [job_row(each, now) for each in self.read()]
        return (Section("jobs", COLUMNS, rows, empty="no command was started from a console"),)

    def opened(self, snapshot: Snapshot, row: Row) -> Page | None:
        """Returns the output of a job."""
        return JobPage(self.read, self.known, row.key)

    def notes(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[str]:
        """Returns the notes on the job of the row."""
        return () if row is None else self.notes_on(row.key)


@dataclass(frozen=True, slots=True)
class JobPage(_PageOfJobs):
    """Output of one job."""

    job_id: str

    def title(self, snapshot: Snapshot) -> str:
        """Returns the command."""
        found = job_of(self.known, self.job_id)
        return f"job {self.job_id}" if found is None else found.command

    def sections(self, snapshot: Snapshot, now: float) -> Sequence[Section]:
        """Returns its steps and messages and, once it has ended, its result."""
        found = job_of(self.read, self.job_id)
        heading = "not there any more" if found is None else f"{found.state}: {found.meaning}"
        output = Section(
            "output",
            (Column("OUTPUT", 40, "last lines of its steps and messages", grows=True),),
            _rows("output", () if found is None else found.tail),
            heading=heading,
            empty="no message" if found is not None and found.ended_at else "no message yet",
        )
        if found is None or not found.result:
            return (output,)
        column = Column("RESULT", 40, "what it has printed as its result", grows=True)
        return (output, Section("result", (column,), _rows("result", found.result)))

    def opened(self, snapshot: Snapshot, row: Row) -> Page | None:
        """Returns the page of the saved plan that the job has made, or is about."""
        found = job_of(self.known, self.job_id)
        if found is None:
            return None
        texts = (found.command, *found.result)
        ids = [each.plan_id for each in snapshot.plans or () if not each.broken]
        named = next((each for each in ids if any(each in text for text in texts)), None)
        return None if named is None else PlanPage(named)

    def notes(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[str]:
        """Returns the notes on the job."""
        return self.notes_on(self.job_id)


def left_behind(jobs: Sequence[Job], now: float) -> str:
    """Returns what earlier consoles have left: jobs that run, or whose result is not known.

    Returns "" when there is nothing of a day.
    """
    lately = [each for each in jobs if now - each.started_at < LEFT_SECONDS]
    running = sum(each.state == "running" for each in lately)
    unknown = sum(bool(each.way_out) for each in lately)
    found = [(running, "still running"), (unknown, "of unknown result")]
    return ", ".join(f"{counted(count, 'job')} {what}" for count, what in found if count)


def job_of(jobs: Reading, job_id: str) -> Job | None:
    """Returns a job by its name; None when there is none."""
    return next((each for each in jobs() if each.job_id == job_id), None)


def _rows(name: str, lines: Sequence[str]) -> list[Row]:
    return [Row(f"{name} {at}", (Cell(line, sort=float(at)),)) for at, line in enumerate(lines)]


def job_row(job: Job, now: float) -> Row:
    """Returns the row of a job."""
    took = (now if job.ended_at is None else job.ended_at) - job.started_at
    is_lost = job.state == "lost"
    code = "-" if job.exit_code is None else str(job.exit_code)
    failed = bool(job.exit_code) or is_lost
    return Row(
        key=job.job_id,
        cells=(
            text_cell(str(job.state), TONES.get(job.state, "")),
            Cell(code, "bad" if failed else "", job.exit_code),
            text_cell(job.command),
            text_cell(job.meaning, "bad" if failed else ""),
            Cell(date_text(job.started_at), sort=job.started_at),
            Cell("?" if is_lost else age_text(took), sort=None if is_lost else took),
            text_cell(job.who),
        ),
        is_fault=failed,
    )


def notes_of(job: Job) -> Sequence[str]:
    """Returns what is known of a job's end."""
    code = "" if job.exit_code is None else f" with exit code {job.exit_code}"
    lines = [job.command, f"{job.state}{code}: {job.meaning}"]
    if job.way_out:
        lines.append(f"to see what was done: {as_typed(job.way_out)}")
    return lines
