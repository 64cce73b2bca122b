"""Output of commands: a table for people, JSON or YAML for programs. Unknown is ? or null."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import click

from replicator.runtime.plain_text import one_line, several_lines

if TYPE_CHECKING:
    from pydantic import TypeAdapter

FORMATS = ("table", "json", "yaml")


def emit(output: str, value: Any, text: Callable[[], str]) -> None:
    """Prints a result on stdout.

    Args:
        output: one of FORMATS.
        value: a fact, facts, or plain values, for JSON and YAML.
        text: makes the text for people; called only for the format table.
    """
    if output == "json":
        import json

        click.echo(json.dumps(plain_values(value), indent=2))
    elif output == "yaml":
        import yaml

        click.echo(
            yaml.safe_dump(plain_values(value), sort_keys=False, allow_unicode=True), nl=False
        )
    else:
        click.echo(several_lines(text()))


def is_printed(line: str) -> bool:
    """Prints a line; returns False if nobody reads on, as behind `| head`."""
    try:
        click.echo(line)
    except BrokenPipeError:
        # What is left in the buffer has to go somewhere when the process ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    return True


def plain_values(value: Any) -> Any:
    """Returns facts as plain values by the names of their fields; plain values stay."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain_values(each) for each in value]
    if not is_dataclass(value):
        return value
    kind: type = type(value)
    return _adapter(kind).dump_python(value, mode="json")


@cache
def _adapter(kind: type) -> TypeAdapter[Any]:
    """Returns the adapter of a kind of facts; making one takes milliseconds."""
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def say(*texts: str) -> None:
    """Prints each text as a line on stderr, with the program's name before it."""
    for text in texts:
        click.echo(f"sluice: {one_line(text)}", err=True)
