"""sluice doctor: looks for what earlier versions, or rests, have done to a running installation."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from tui.commands.exit_codes import ExitCode
from tui.commands.options import config_option, output_option, timeout_option
from tui.commands.output import emit, plain_values
from tui.commands.progress import steps_display
from tui.commands.text import joined, table

if TYPE_CHECKING:
    from tui.facts.exactness import Exactness

HEADS = ("VERDICT", "KIND", "WHERE", "DIAGNOSIS", "REPAIR")


@click.group()
def doctor() -> None:
    """Examine a running installation. Changes nothing."""


@doctor.command()
@config_option
@click.option(
    "--region", required=True, metavar="REGION", help="Region whose feeds and routes are examined."
)
@timeout_option(15.0, "Seconds to wait for each answer of a server.")
@output_option
def exactness(config: str, region: str, timeout: float, output: str) -> int:
    """Say whether records were lost or doubled, or can be, and how to repair it.

    Looks for progress entries that have expired or soon expire, and for topics that were created
    anew. Looks for dead letters that are not in their topic, and for limits of that topic. Looks
    for clocks of stores that differ, engines that take rows away, and rows or objects that stand
    twice. All rows are grouped by their coordinates, one partition at a time: on large tables this
    takes long.

    Exits with 9 when something has happened; with 3 when a server could not be reached; with 4 when
    something can happen. docs/doctor.md describes each diagnosis.
    """
    from replicator.config.topology import load
    from tui.facts.watch.exactness_probe import ExactnessProbe

    display = steps_display(None)
    probe = ExactnessProbe(
        load(config),
        region,
        timeout,
        lambda text: display.show("exactness", None, text, time.monotonic()),
    )
    try:
        found = probe.run()
    finally:
        display.end()
    emit(output, exactness_values(found), lambda: exactness_text(found))
    if found.has_happened:
        return ExitCode.DIFFERENT
    if found.problems:
        return ExitCode.UNREACHABLE
    return ExitCode.REFUSED if found.diagnoses else ExitCode.DONE


def exactness_text(found: Exactness) -> str:
    """Formats the diagnoses as a table, the worse first, with the problems below it."""
    parts = []
    if found.diagnoses:
        rows = [
            (each.verdict.value, each.kind.value, each.where, each.text, each.repair)
            for each in found.diagnoses
        ]
        parts.append(table(HEADS, rows))
    if found.problems:
        parts.append(joined(f"problem: {problem}" for problem in found.problems))
    return "\n\n".join(parts) or f"ok: {found.region}"


def exactness_values(found: Exactness) -> dict[str, Any]:
    """Returns plain values for JSON and YAML."""
    return {"ok": not found.diagnoses and not found.problems, **plain_values(found)}
