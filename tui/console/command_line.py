"""Command line of an action, with the values of its form."""

from __future__ import annotations

from collections.abc import Mapping

from tui.pages.page import Action
from tui.steering.steered_command import as_typed, copied_line, words_of


class JobRefused(Exception):
    """A job was not started, and nothing runs. The text says what to correct."""


def filled(action: Action, values: Mapping[str, str]) -> list[tuple[str, str]]:
    """Returns (option, value) of each field of a form."""
    return [(each.option, values.get(each.name, each.preset)) for each in action.fields]


def command_text(action: Action, values: Mapping[str, str], config: str = "") -> str:
    """Returns the command as it is typed in a shell, to be copied. Raises BadValue."""
    return as_typed(copied_line(words_of(action.words, filled(action, values)), config))


def missing(action: Action, values: Mapping[str, str]) -> str | None:
    """Returns what is wrong with the values of a form; None when nothing is."""
    for field in action.fields:
        value = values.get(field.name, "").strip()
        if field.is_required and not value:
            return f"{field.name} is missing"
        if value and field.choices and value not in field.choices:
            return f"{field.name}: one of {', '.join(field.choices)}"
    return None
