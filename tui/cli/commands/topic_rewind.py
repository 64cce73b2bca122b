"""sluice stream rewind-topic: mirrors records of a paused topic once more."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from tui.cli.command_context import CommandContext, on_one_route
from tui.cli.exit_codes import ExitCode
from tui.cli.output import emit, output_option, table

if TYPE_CHECKING:
    from replicator.mirror.repair.rewind import Rewind, Rewound, Start


SCHEMA_VERSION = 1


@click.command("rewind-topic")
@click.argument("topic")
@on_one_route
@click.option(
    "--partition", "numbers", type=click.IntRange(min=0), multiple=True, help="Only this one."
)
@click.option(
    "--to",
    required=True,
    metavar="WHERE",
    help="A source offset, `earliest`, an instant (2026-11-22T03:00:00Z) or how long ago (10m).",
)
@click.option("--yes", is_flag=True, help="Rewind. Without it nothing is changed.")
@click.option(
    "--timeout",
    "seconds",
    type=click.FloatRange(min=0.1),
    default=30.0,
    show_default=True,
    help="Seconds until it gives up on clusters that do not answer.",
)
@output_option
def rewind_topic(
    context: CommandContext, topic: str, numbers: Sequence[int], to: str, yes: bool, seconds: float
) -> int:
    """Mirror records of TOPIC again, from an earlier offset on. It makes duplicates.

    The topic, or these partitions, must be paused (pause-topic); resume-topic lets them go on.
    Without --yes it shows what would be mirrored again. Ends with 4 where a partition cannot be
    rewound, and says why.
    """
    from replicator.audit.window import BadWindow
    from replicator.mirror.repair.rewind import Rewind

    try:
        start = started(to)
    except BadWindow as error:
        raise click.UsageError(f"--to: {error}") from None
    rewind = Rewind(context.appliance, context.route)
    found = asyncio.run(_within(seconds, rewind, topic, frozenset(numbers), start, yes))
    values = {
        "schema_version": SCHEMA_VERSION,
        "is_done": yes,
        "partitions": [_values(each) for each in found],
    }
    emit(context.output, values, lambda: _text(found, yes))
    return ExitCode.DONE


def started(to: str) -> Start:
    """Parses --to: an offset, `earliest`, an instant or how long ago. Raises BadWindow."""
    from replicator.audit.window import instant
    from replicator.mirror.repair.rewind import EARLIEST

    if to.isdigit():
        return int(to)
    return EARLIEST if to == EARLIEST else f"@{instant(to, time.time_ns() // 1_000_000)}"


async def _within(
    seconds: float, rewind: Rewind, topic: str, numbers: frozenset[int], to: Start, yes: bool
) -> list[Rewound]:
    from replicator.kafka.client.brokers import Unreachable

    try:
        async with asyncio.timeout(seconds):
            await rewind.open(topic)
            partitions = await rewind.partitions(topic, numbers)
            ask = rewind.rewind if yes else rewind.look
            return await ask(partitions, to)
    except TimeoutError:
        raise Unreachable(
            f"given up after {seconds:g} s: {rewind.trouble}; look again without --yes"
        ) from None
    finally:
        await rewind.close()


def _values(each: Rewound) -> dict[str, Any]:
    return {
        **each.partition._asdict(),
        "was_at_source_offset": each.was_at,
        "goes_on_at_source_offset": each.goes_on_at,
        "offsets_again": each.was_at - each.goes_on_at,
    }


def _text(found: Sequence[Rewound], is_done: bool) -> str:
    rows = [
        (*each.partition, each.was_at, each.goes_on_at, each.was_at - each.goes_on_at)
        for each in found
    ]
    heads = ("TOPIC", "PARTITION", "WAS AT", "GOES ON AT", "OFFSETS AGAIN")
    last = "Rewound: resume it." if is_done else "Nothing was changed. To do it, say --yes."
    return f"{table(heads, rows)}\n{last}"
