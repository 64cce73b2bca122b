"""Page: sections of rows, made of a snapshot by pure functions.

A page knows nothing of Textual: it is shown by the console, printed by a command, exported, copied
and tested as a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tui.facts.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Column:
    """Column of a section.

    Args:
        title: upper case, as short as its values; names the column for sorting and in the help.
        width: characters.
        meaning: for the help.
        is_right: numbers are right-aligned.
        priority: columns with the highest number are left out first on a narrow terminal; those of
            priority 0 never are.
        is_wide: shown only in the wide view, or where there is room.
        grows: takes the room that is left.
        unit: size of the title's unit in that of the sorted values: 1e6 where they are bytes and
            the title says MB.
        is_printed_only: in the text of commands and in exports, never on the screen, which has it
            elsewhere.
    """

    title: str
    width: int
    meaning: str = ""
    is_right: bool = False
    priority: int = 0
    is_wide: bool = False
    grows: bool = False
    unit: float = 1.0
    is_printed_only: bool = False


Sort = float | str | None


@dataclass(frozen=True, slots=True)
class Cell:
    """Cell: text of a value, its tone, and the value that it is sorted by.

    Args:
        text: data as it is; whoever draws it escapes what is not printable.
        tone: "", "bad", "warn", "good", "dim" or "bold"; a colour never says what the text does
            not.
        sort: None sorts as unknown: worst, before all others. Texts and numbers do not mix in one
            column.
        full: text where there is room for all of it, such as 47103 where `text` is 47.1k; "": the
            text itself.
    """

    text: str
    tone: str = ""
    sort: Sort = None
    full: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """Row of a section.

    Args:
        key: identifies the row from one snapshot to the next; the cursor follows it.
        is_fault: kept by "faults only".
        why: in words, shown below the table while the cursor is on the row.
        topic, group: of the row, for "groups of this row" and "events of this row".
    """

    key: str
    cells: tuple[Cell, ...]
    is_fault: bool = False
    why: str = ""
    route: str | None = None
    topic: str | None = None
    group: str | None = None
    feed: str | None = None
    region: str | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """Table of a page.

    Args:
        name: for keys and exports, such as "partitions".
        heading: line above it; "" for none.
        empty: what to say instead of rows: why there are none.
        sort: titles of the columns by which it is sorted at first; a leading "-" reverses.
        rows_max: rows shown of a section that is not the page's last; None: all.
    """

    name: str
    columns: tuple[Column, ...]
    rows: Sequence[Row]
    heading: str = ""
    empty: str = "nothing here"
    sort: tuple[str, ...] = ()
    rows_max: int | None = None

    def only(self, titles: Sequence[str]) -> Section:
        """Returns the section with the columns of these titles, in their order."""
        places = {column.title: at for at, column in enumerate(self.columns)}
        chosen = [places[title] for title in titles]
        return replace(
            self,
            columns=tuple(self.columns[at] for at in chosen),
            rows=[replace(row, cells=tuple(row.cells[at] for at in chosen)) for row in self.rows],
        )


@dataclass(frozen=True, slots=True)
class Field:
    """Input of an action's form.

    Args:
        option: option of the command, such as "--reason"; "" for an argument.
        preset: value that the form begins with.
        choices: values that can be taken; empty: any text.
    """

    name: str
    option: str
    preset: str = ""
    is_required: bool = True
    choices: tuple[str, ...] = ()
    help: str = ""


@dataclass(frozen=True, slots=True)
class Action:
    """Action of a page on the row under the cursor: one `sluice` command.

    Args:
        key: key that starts it.
        words: words of the command, such as ("balance", "pause"); options and arguments follow.
        fields: what the operator fills in.
        confirmation: text to type before it runs; "" for an action that changes nothing.
        why_off: reason why it cannot be started now; None when it can.
        is_copied: shown as a command to copy, never run by the console.
    """

    key: str
    label: str
    words: tuple[str, ...]
    fields: tuple[Field, ...] = ()
    confirmation: str = ""
    why_off: str | None = None
    is_copied: bool = False

    @property
    def changes(self) -> bool:
        return bool(self.confirmation)


@dataclass(frozen=True, slots=True)
class Focus:
    """Subject on screen: it is asked about more often, or at all.

    Args:
        topic: (route, topic), such as ("west>east", "orders").
        group: (group, source region, target region) whose resume offsets are worked out.
    """

    topic: tuple[str, str] | None = None
    group: tuple[str, str, str] | None = None


NO_FOCUS = Focus()


class Page(Protocol):
    """Page of a snapshot. Its parts are pure functions of the snapshot and of Unix seconds.

    By default a page opens no other page, has no actions and no notes, and asks for nothing more
    than is asked anyway.
    """

    @property
    def name(self) -> str:
        """Name of the screen that the page belongs to, such as "routes"."""

    def title(self, snapshot: Snapshot) -> str:
        """Returns the heading, such as "east>west > orders"."""

    def sections(self, snapshot: Snapshot, now: float) -> Sequence[Section]:
        """Returns the tables, from top to bottom."""

    def opened(self, snapshot: Snapshot, row: Row) -> Page | None:
        """Returns the page that enter opens on a row; None when there is none."""
        return None

    def actions(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[Action]:
        """Returns the actions on a row, those that are off too."""
        return ()

    def notes(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[str]:
        """Returns lines below the tables: why the row is as it is, details."""
        return ()

    def focus(self) -> Focus:
        """Returns what should be asked about while the page is shown."""
        return NO_FOCUS
