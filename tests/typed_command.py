"""Commands as pages show them."""

from __future__ import annotations

import shlex

import click

from tui.program import program


def check_typed(line: str) -> None:
    """Parses a command line of `sluice`, without running it. Raises click's errors.

    Args:
        line: what stands behind `sluice`.
    """
    arguments = shlex.split(line)
    command: click.Command = program
    context = click.Context(command)
    while isinstance(command, click.Group) and not arguments[0].startswith("-"):
        found = command.get_command(context, arguments.pop(0))
        assert found
        command = found
    command.make_context(command.name, arguments)
