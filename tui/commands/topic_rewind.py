"""sluice stream rewind-topic: mirrors records of a paused topic once more."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import click

from tui.commands.command_context import CommandContext, on_one_route
from tui.commands.exit_codes import ExitCode
from tui.commands.options import output_option, timeout_option, usage_errors
from tui.commands.output import emit


@click.command("rewind-topic")
@click.argument("topic")
@on_one_route
@click.option(
    "--partition",
    "numbers",
    type=click.IntRange(min=0),
    multiple=True,
    help="Only this partition. Repeatable.",
)
@click.option(
    "--to",
    required=True,
    metavar="WHERE",
    help="Where to go on: a source offset, `earliest`, an instant (2026-11-22T03:00:00Z), or how "
    "long ago (10m).",
)
@click.option(
    "--take-over",
    is_flag=True,
    help="Take over partitions that stay held after their pause, because their carrier has died. A "
    "carrier that still runs is fenced.",
)
@click.option("--yes", is_flag=True, help="Rewind. Without --yes nothing is changed.")
@timeout_option(
    30.0, "Seconds after which the command gives up on clusters that do not answer.", "seconds"
)
@output_option
def rewind_topic(
    context: CommandContext,
    topic: str,
    numbers: Sequence[int],
    to: str,
    take_over: bool,
    yes: bool,
    seconds: float,
) -> int:
    """Mirror records of TOPIC again, from an earlier offset on. This makes duplicates.

    The topic or its partitions must be paused with `pause-topic`; `resume-topic` lets them go on.
    Without --yes it shows the offsets that would be mirrored again. Exits with 4, and says why,
    when a partition cannot be rewound.
    """
    from replicator.audit.window import BadWindow
    from replicator.mirror.repair.rewind import Rewind
    from tui.commands.views.rewind_view import as_text, as_values
    from tui.orders.topic_rewind import rewind_topic as rewind
    from tui.orders.topic_rewind import start_of

    with usage_errors(BadWindow, prefix="--to: "):
        start = start_of(to)
    found = asyncio.run(
        rewind(
            Rewind(context.appliance, context.route, takes_over=take_over),
            topic,
            frozenset(numbers),
            start,
            is_dry_run=not yes,
            timeout_seconds=seconds,
        )
    )
    emit(context.output, as_values(found, is_done=yes), lambda: as_text(found, is_done=yes))
    return ExitCode.DONE
