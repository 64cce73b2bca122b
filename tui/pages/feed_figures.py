"""Figures of partitions of a feed: each column with its cell, of one partition or of many.

What is unknown of one partition is unknown of them all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tui.facts.feed_health import WINDOW_WARN
from tui.facts.totals import largest, total
from tui.pages.figures import MIB, UNKNOWN, mebibytes, seconds, short
from tui.pages.page import Cell, Column

if TYPE_CHECKING:
    from tui.facts.feed_status import FeedPartitionView

    Group = Sequence[FeedPartitionView]

ABSENT = Cell("-", sort=0.0)
"""Cell of a figure that does not exist."""


def percent(part: float | None) -> str:
    """Returns a part of a window: 40%; "?" when it is not known."""
    return UNKNOWN if part is None else f"{part:.0%}"


def percent_tone(part: float | None) -> str:
    """Returns the tone of a part of a window that has passed."""
    if part is None or part < WINDOW_WARN:
        return ""
    return "bad" if part >= 1.0 else "warn"


def digits(number: float) -> str:
    """Returns a number with all that a reader needs: 47103, 0.9."""
    return f"{number:.1f}" if isinstance(number, float) else str(number)


@dataclass(frozen=True, slots=True)
class Figure:
    """Column of partitions.

    Args:
        value: of a group of partitions; None when it is not known.
        text: of a value.
        full: text with all digits.
        is_absent: True for a group that has no such figure.
    """

    column: Column
    value: Callable[[Group], float | None]
    text: Callable[[float], str]
    full: Callable[[float], str] = digits
    tone: Callable[[float], str] = lambda _: ""
    is_absent: Callable[[Group], bool] = lambda _: False

    def cell(self, group: Group) -> Cell:
        """Returns the cell of a group; that of none is unknown."""
        if self.is_absent(group):
            return ABSENT
        value = self.value(group)
        if value is None:
            return Cell(UNKNOWN, "warn")
        return Cell(self.text(value), self.tone(value), value, self.full(value))

    def sort(self, group: Group) -> float | None:
        """Returns the value that the cell sorts by."""
        return 0.0 if self.is_absent(group) else self.value(group)


def is_idle(group: Group) -> bool:
    """Returns True if no block may have been sent that is not known to be stored."""
    return bool(group) and all(each.blocks == () for each in group)


def age_seconds(group: Group) -> float | None:
    """Returns the age of the oldest block that may have been sent."""
    ages = (None if each.blocks is None else each.intent_age_seconds or 0.0 for each in group)
    return largest(ages)


def _is_nothing_open(group: Group) -> bool:
    return OPEN.value(group) == 0


LAG = Figure(
    Column("LAG", 7, "offsets that are not known to be loaded", is_right=True),
    lambda group: total(each.lag_records for each in group),
    short,
)
LAG_SECONDS = Figure(
    Column("LAG S", 6, "age of the records loaded last", is_right=True, priority=1),
    lambda group: largest(each.lag_seconds for each in group),
    seconds,
)
ROWS = Figure(
    Column("ROWS/S", 7, "rows or records stored per second", is_right=True, priority=4),
    lambda group: total(each.rows_per_second for each in group),
    short,
)
BUFFERED = Figure(
    Column("BUFFERED MIB", 12, "wait to be stored", is_right=True, priority=8, unit=MIB),
    lambda group: total(each.buffered_bytes for each in group),
    mebibytes,
    mebibytes,
)
AGE = Figure(
    Column("INTENT S", 8, "age of the oldest block on its way", is_right=True, priority=2),
    age_seconds,
    seconds,
    is_absent=is_idle,
)
WINDOW = Figure(
    Column("WINDOW", 6, "part of the deduplication window passed", is_right=True, priority=2),
    lambda group: largest(each.window_used for each in group if each.blocks != ()),
    percent,
    percent,
    percent_tone,
    is_idle,
)
DEAD = Figure(
    Column("DEAD", 6, "records that became dead letters, ever", is_right=True, priority=6),
    lambda group: total(each.dead_letters for each in group),
    short,
)
PARKED = Figure(
    Column("PARKED", 6, "partitions that wait for an operator", is_right=True, priority=3),
    lambda group: total(each.parked_count for each in group),
    short,
    tone=lambda count: "bad" if count else "",
)
OPEN = Figure(
    Column("OPEN", 5, "objects that no intent names yet, in S3", is_right=True, priority=4),
    lambda group: total(each.open_objects for each in group),
    short,
)
OPEN_SECONDS = Figure(
    Column("OPEN S", 6, "age of the oldest open object, in S3", is_right=True, priority=4),
    lambda group: largest(each.open_seconds for each in group),
    seconds,
    is_absent=_is_nothing_open,
)
SEALED = Figure(
    Column(
        "SEALED",
        6,
        "objects that an intent names and that may be complete",
        is_right=True,
        priority=3,
        is_printed_only=True,
    ),
    lambda group: total(None if each.blocks is None else len(each.blocks) for each in group),
    short,
)
SEALED_SECONDS = replace(
    AGE, column=replace(AGE.column, title="SEALED S", meaning="age of the oldest sealed object")
)
"""The same age, where blocks are objects."""
