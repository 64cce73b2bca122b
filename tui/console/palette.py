"""Palette: every action of the console and of all screens, with its key, and why it is off; and the
help: the keys of a screen, and the meaning of its columns."""

from __future__ import annotations

from collections.abc import Sequence

from tui.console.all_actions import PlacedAction
from tui.console.built_page import BuiltPage
from tui.console.keys import KEYS, Keymap, shown
from tui.console.list_page import ListPage
from tui.pages.page import Action, Cell, Column, Row, Section
from tui.steering.steered_command import as_typed

COLUMNS = (
    Column("KEY", 8),
    Column("ACTION", 14),
    Column("MEANING, OR WHY IT IS OFF", 30, grows=True),
)
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
PAGE_ACTION = "page "
"""Begin of the keys of rows that are actions of the page."""
ELSEWHERE = "elsewhere "
"""Begin of the keys of rows that are actions of other screens."""


def palette_page(
    keymap: Keymap,
    actions: Sequence[tuple[Action, str | None]],
    why_off: Sequence[tuple[str, str | None]],
    others: Sequence[PlacedAction] = (),
) -> ListPage:
    """Returns the palette.

    Args:
        actions: of the page, each with the reason why it is off.
        why_off: name of each action of the console, with that reason.
        others: actions of other screens.
    """
    meanings = {each.name: (each.label, each.meaning) for each in KEYS}
    rows = [
        _row(f"{PAGE_ACTION}{action.key}", shown(action.key), action.label, _meaning(action), why)
        for action, why in actions
    ]
    rows += [_row(name, keymap.key(name), *meanings[name], why) for name, why in why_off]
    rows += [
        _row(f"{ELSEWHERE}{at}", shown(each.action.key), each.action.label, "", where(each, keymap))
        for at, each in enumerate(others)
    ]
    return ListPage("all actions", (Section("actions", COLUMNS, rows),))


def where(placed: PlacedAction, keymap: Keymap) -> str:
    """Returns why an action of another screen is off: it is there, on a kind of row."""
    row = f", {placed.row}" if placed.row else ""
    return f"it is on screen {keymap.key(placed.screen)} {placed.screen}{row}"


def _meaning(action: Action) -> str:
    text = as_typed(action.words)
    return f"{text} (to copy)" if action.is_copied else text


def _row(key: str, name: str, label: str, meaning: str, why: str | None) -> Row:
    tone = "dim" if why is not None else ""
    text = meaning if why is None else f"off: {why}"
    return Row(key, (Cell(name, tone or "bold"), Cell(label, tone), Cell(text, tone)))


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
