"""sluice stream rewind-topic: mirrors records of a paused topic once more."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from tui.commands.command_context import CommandContext, on_one_route
from tui.commands.exit_codes import ExitCode
from tui.commands.options import output_option, timeout_option, usage_errors
from tui.commands.output import emit
from tui.commands.text import table

if TYPE_CHECKING:
    from replicator.mirror.repair.rewind import Rewind, Rewound, Start

SCHEMA_VERSION = 1
HEADS = ("TOPIC", "PARTITION", "WAS AT", "GOES ON AT", "OFFSETS AGAIN")


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

    with usage_errors(BadWindow, prefix="--to: "):
        start = start_of(to)
    found = asyncio.run(
        rewound(
            Rewind(context.appliance, context.route, takes_over=take_over),
            topic,
            frozenset(numbers),
            start,
            is_dry_run=not yes,
            timeout_seconds=seconds,
        )
    )
    emit(
        context.output,
        rewind_values(found, is_done=yes),
        lambda: rewind_text(found, is_done=yes),
    )
    return ExitCode.DONE


def start_of(text: str) -> Start:
    """Parses an offset, `earliest`, an instant or how long ago. Raises BadWindow."""
    from replicator.audit.window import instant
    from replicator.mirror.repair.rewind import EARLIEST

    if text.isdigit():
        return int(text)
    return EARLIEST if text == EARLIEST else f"@{instant(text, time.time_ns() // 1_000_000)}"


async def rewound(
    rewind: Rewind,
    topic: str,
    partitions: frozenset[int],
    start: Start,
    *,
    is_dry_run: bool,
    timeout_seconds: float,
) -> list[Rewound]:
    """Rewinds partitions of a topic, or returns what that would do.

    Args:
        partitions: numbers of partitions; empty for all.

    Raises:
        Unreachable: a cluster did not answer in time; partitions may be rewound.
        CannotRewind, PartlyRewound, Fenced: from the rewind.
    """
    from replicator.kafka.client.brokers import Unreachable

    try:
        async with asyncio.timeout(timeout_seconds):
            await rewind.open(topic)
            found = await rewind.partitions(topic, partitions)
            return await (rewind.look if is_dry_run else rewind.rewind)(found, start)
    except TimeoutError:
        raise Unreachable(
            f"given up after {timeout_seconds:g} s: {rewind.trouble}; look again without --yes"
        ) from None
    finally:
        await rewind.close()


def rewind_text(found: Sequence[Rewound], *, is_done: bool) -> str:
    """Formats a table for people, with the next step below it."""
    rows = [
        (*each.partition, each.was_at, each.goes_on_at, each.was_at - each.goes_on_at)
        for each in found
    ]
    last = "Rewound: resume it." if is_done else "Nothing was changed. To do it, say --yes."
    return f"{table(HEADS, rows)}\n{last}"


def rewind_values(found: Sequence[Rewound], *, is_done: bool) -> dict[str, Any]:
    """Returns plain values for JSON and YAML."""
    return {
        "schema_version": SCHEMA_VERSION,
        "is_done": is_done,
        "partitions": [
            {
                **each.partition._asdict(),
                "was_at_source_offset": each.was_at,
                "goes_on_at_source_offset": each.goes_on_at,
                "offsets_again": each.was_at - each.goes_on_at,
            }
            for each in found
        ],
    }
