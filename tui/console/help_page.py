"""Help: the keys of a screen, and the meaning of its columns."""

from __future__ import annotations

from collections.abc import Sequence

from tui.console.built_page import BuiltPage
from tui.console.keys import KEYS, Keymap, shown
from tui.console.list_page import ListPage
from tui.pages.page import Action, Cell, Column, Row, Section
from tui.steering.steered_command import as_typed

KEY_COLUMNS = (Column("KEY", 14), Column("DOES", 14), Column("MEANING", 30, grows=True))
COLUMN_COLUMNS = (
    Column("COLUMN", 14),
    Column("OF", 14, priority=1),
    Column("MEANING", 30, grows=True),
)
BASICS = (
    ("?", "unknown: no server has told it; it is in no sum"),
    ("STALE", "no answer for three times the usual time between two"),
)


def help_page(
    keymap: Keymap,
    page: BuiltPage | None,
    actions: Sequence[tuple[Action, str | None]],
    is_replay: bool,
) -> ListPage:
    """Returns the help of a page."""
    keys = [
        key_row(shown(action.key), action.label, as_typed(action.words)) for action, _ in actions
    ]
    keys += [
        key_row(" ".join(map(shown, keymap.by_name[each.name])), each.label, each.meaning)
        for each in KEYS
        if is_replay or not each.is_replay
    ]
    columns = [
        Row(f"{one.section.name} {column.title}", _cells(column.title, one.section.name, column))
        for one in (page.sections if page is not None else ())
        for column in one.section.columns
        if not column.is_printed_only
    ]
    columns += [
        Row(f"basics {word}", (Cell(word, "bold"), Cell("values", "dim"), Cell(text)))
        for word, text in BASICS
    ]
    title = page.title if page is not None else "console"
    return ListPage(
        f"help: {title}",
        (
            Section("keys", KEY_COLUMNS, keys, heading="KEYS"),
            Section("columns", COLUMN_COLUMNS, columns, heading="COLUMNS AND VALUES"),
        ),
    )


def key_row(key: str, label: str, meaning: str) -> Row:
    """Returns the row of a key."""
    return Row(f"key {key} {label}", (Cell(key, "bold"), Cell(label), Cell(meaning)))


def _cells(title: str, section: str, column: Column) -> tuple[Cell, ...]:
    return Cell(title, "bold"), Cell(section, "dim"), Cell(column.meaning)
