"""Figures of partitions of a feed: each column with its cell, of one partition or of many.

What is unknown of one partition is unknown of them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING

from tui.facts.feed_health import WINDOW_WARN
from tui.facts.totals import largest, total
from tui.pages.figures import MIB, UNKNOWN, digits, mebibytes, seconds, short
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


@dataclass(frozen=True, slots=True)
class Figure:
    """Column of partitions.

    Args:
        of: figure of one partition, by which its row is sorted; None when it is not known.
        together: of many.
        text: of a figure.
        full: text with all digits.
        is_absent: True for partitions that have no such figure.
    """

    column: Column
    of: Callable[[FeedPartitionView], float | None]
    together: Callable[[Iterable[float | None]], float | None]
    text: Callable[[float], str]
    full: Callable[[float], str] = digits
    tone: Callable[[float], str] = lambda _: ""
    is_absent: Callable[[Group], bool] = lambda _: False

    def cell(self, group: Group) -> Cell:
        """Returns the cell of partitions; that of none is unknown."""
        if self.is_absent(group):
            return ABSENT
        value = self.together(map(self.of, group))
        if value is None:
            return Cell(UNKNOWN, "warn")
        return Cell(self.text(value), self.tone(value), value, self.full(value))


def is_idle(group: Group) -> bool:
    """Returns True if no block may have been sent that is not known to be stored."""
    return bool(group) and all(each.blocks == () for each in group)


def age_seconds(each: FeedPartitionView) -> float | None:
    """Returns the age of the oldest block that may have been sent; 0 without one."""
    return None if each.blocks is None else each.intent_age_seconds or 0.0


def window_used(each: FeedPartitionView) -> float | None:
    """Returns the part of a window that has passed; 0 without a block."""
    return 0.0 if each.blocks == () else each.window_used


def open_seconds(each: FeedPartitionView) -> float | None:
    """Returns the age of the oldest open object; 0 without one."""
    return 0.0 if each.open_objects == 0 else each.open_seconds


LAG = Figure(
    Column("LAG", 7, "offsets that are not known to be loaded", is_right=True),
    attrgetter("lag_records"),
    total,
    short,
)
LAG_SECONDS = Figure(
    Column("LAG S", 6, "age of the records loaded last", is_right=True, priority=1),
    attrgetter("lag_seconds"),
    largest,
    seconds,
)
ROWS = Figure(
    Column("ROWS/S", 7, "rows or records stored per second", is_right=True, priority=4),
    attrgetter("rows_per_second"),
    total,
    short,
)
BUFFERED = Figure(
    Column("BUFFERED MIB", 12, "wait to be stored", is_right=True, priority=8, unit=MIB),
    attrgetter("buffered_bytes"),
    total,
    mebibytes,
    mebibytes,
)
AGE = Figure(
    Column("INTENT S", 8, "age of the oldest block on its way", is_right=True, priority=2),
    age_seconds,
    largest,
    seconds,
    is_absent=is_idle,
)
WINDOW = Figure(
    Column("WINDOW", 6, "part of the deduplication window passed", is_right=True, priority=2),
    window_used,
    largest,
    percent,
    percent,
    percent_tone,
    is_idle,
)
DEAD = Figure(
    Column("DEAD", 6, "records that became dead letters, ever", is_right=True, priority=6),
    attrgetter("dead_letters"),
    total,
    short,
)
PARKED = Figure(
    Column("PARKED", 6, "partitions that wait for an operator", is_right=True, priority=3),
    attrgetter("parked_count"),
    total,
    short,
    tone=lambda count: "bad" if count else "",
)
OPEN = Figure(
    Column("OPEN", 5, "objects that no intent names yet, in S3", is_right=True, priority=4),
    attrgetter("open_objects"),
    total,
    short,
)
OPEN_SECONDS = Figure(
    Column("OPEN S", 6, "age of the oldest open object, in S3", is_right=True, priority=4),
    open_seconds,
    largest,
    seconds,
    is_absent=lambda group: bool(group) and all(each.open_objects == 0 for each in group),
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
    lambda each: None if each.blocks is None else len(each.blocks),
    total,
    short,
)
SEALED_SECONDS = replace(
    AGE, column=replace(AGE.column, title="SEALED S", meaning="age of the oldest sealed object")
)
"""The same age, where blocks are objects."""
