"""Output of commands: a table for people, JSON or YAML for programs. Unknown is ? or null."""

import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click

from replicator.runtime.plain_text import one_line, several_lines

Command = TypeVar("Command", bound=Callable[..., Any])
COMMAND_LINE = click.core.ParameterSource.COMMANDLINE
TYPED = (COMMAND_LINE, click.core.ParameterSource.DEFAULT_MAP)
"""Sources of a typed option: after the command's name, or before it after its group's name."""
FORMATS = ("table", "json", "yaml")


def output_option(command: Command) -> Command:
    """Adds -o table|json|yaml, passed to the command as `output`."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(FORMATS),
        default="table",
        show_default=True,
        help="How to print the result.",
    )(command)


class ConfigOption(click.Option):
    """Option --config, which the environment answers only where nobody typed it."""

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        # click asks the environment before the default map, which holds what was typed before the
        # subcommand's name.
        if self.name and ctx.lookup_default(self.name) is not None:
            return None
        return super().resolve_envvar_value(ctx)


def config_option(command: Command) -> Command:
    """Adds --config FILE, passed to the command as `config`."""
    return click.option(
        "--config",
        cls=ConfigOption,
        required=True,
        envvar="SLUICE_CONFIG",
        show_envvar=True,
        metavar="FILE",
        help="The appliance's configuration (deploy/appliance.toml documents it).",
    )(command)


def pass_on(group: click.Group, context: click.Context) -> None:
    """Makes options typed before a subcommand's name count for the subcommand as well.

    An option from the environment is not passed on: the subcommand reads the environment itself.
    """
    typed = {
        name: value
        for name, value in context.params.items()
        if context.get_parameter_source(name) is COMMAND_LINE
    }
    context.default_map = dict.fromkeys(group.commands, typed)


def config_words() -> str:
    """Returns the --config option that a command suggested to the operator has to repeat.

    The result is empty when --config was not typed: the environment then names the configuration.
    """
    context = click.get_current_context(silent=True)
    if context is None or context.get_parameter_source("config") not in TYPED:
        return ""
    return f" --config {shlex.quote(context.params['config'])}"


def emit(output: str, value: Any, text: Callable[[], str]) -> None:
    """Prints the value in the requested format; text() makes the table."""
    if output == "json":
        import json

        click.echo(json.dumps(value, indent=2))
    elif output == "yaml":
        import yaml

        click.echo(yaml.safe_dump(value, sort_keys=False, allow_unicode=True), nl=False)
    else:
        click.echo(several_lines(text()))


def say(text: str) -> None:
    """Prints a line on stderr, with the program's name before it."""
    click.echo(f"sluice: {one_line(text)}", err=True)


def joined(lines: Iterable[str]) -> str:
    """Joins lines with newlines. Unprintable characters in texts from Kafka are escaped."""
    return "\n".join(map(one_line, lines))


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Formats a table: columns as wide as their widest cell, numbers to the right, None as ?.

    Each cell stays on one line: unprintable characters in texts from Kafka are escaped.
    """
    body = list(rows)
    cells = [list(heads), *([shown(cell) for cell in row] for row in body)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    right = [
        any(isinstance(row[column], int | float) for row in body) for column in range(len(heads))
    ]
    lines = (
        "  ".join(
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(row, widths, right, strict=True)
        )
        for row in cells
    )
    return "\n".join(line.rstrip() for line in lines)


def shown(cell: Any) -> str:
    if cell is None:
        return "?"
    return f"{cell:.1f}" if isinstance(cell, float) else one_line(str(cell))
