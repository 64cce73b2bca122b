"""Command lines of actions, parsed by the program's own commands without running them."""

from __future__ import annotations

from collections.abc import Sequence

import click

from tui.console.command_line import filled
from tui.pages.page import Action
from tui.program import program
from tui.steering.steered_command import copied_line, words_of

VALUES = {
    "--reason": "load test",
    "--for": "30m",
    "--carrier": "3",
    "--group": "billing 'of two words'",
    "--except": "fraud",
    "from": "west",
    "to": "east",
    "topic": "orders",
    "partition": "17",
    "carrier": "3",
}
"""Texts that are typed into fields, by option, or else by name."""


def typed_words(action: Action, **values: str) -> tuple[str, ...]:
    """Returns the words that the console makes of a form.

    Args:
        values: by name of the field; other fields keep their presets, or have VALUES.
    """
    typed = {
        field.name: values.get(field.name)
        or field.preset
        or VALUES.get(field.option, VALUES.get(field.name, ""))
        for field in action.fields
    }
    return words_of(action.words, filled(action, typed))


def parsed(action: Action, **values: str) -> dict[str, object]:
    """Returns the parameters that the command would be called with.

    Raises click.UsageError for an option or an argument that the command does not have.
    """
    return command_of(action, **values)[1]


def command_of(action: Action, **values: str) -> tuple[str, dict[str, object]]:
    """Returns the path and the parameters of an action's command. Raises click.UsageError."""
    return parsed_words(typed_words(action, **values))


def parsed_words(words: Sequence[str]) -> tuple[str, dict[str, object]]:
    """Returns the path and the parameters of a command line, with a configuration."""
    left = list(copied_line(words, "appliance.toml"))
    context = click.Context(program, info_name="sluice")
    command: click.Command = program
    names = []
    while isinstance(command, click.Group) and left and not left[0].startswith("-"):
        name, found, left = command.resolve_command(context, left)
        assert found is not None and name is not None
        command = found
        names.append(name)
        # A group that is a daemon without a subcommand takes its words only as a command.
        if not isinstance(command, click.Group):
            context = command.make_context(name, list(left), parent=context)
    return " ".join(names), dict(context.params)
