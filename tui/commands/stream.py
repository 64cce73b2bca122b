"""sluice stream: gives topics of a route carriers and limits of their own, or pauses them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from tui.commands.command_context import CommandContext, on_one_route, on_routes
from tui.commands.exit_codes import ExitCode
from tui.commands.options import (
    Command,
    answer_options,
    new_reason_option,
    reason_option,
    reason_options,
    usage_errors,
)
from tui.commands.output import emit
from tui.commands.topic_rewind import rewind_topic

if TYPE_CHECKING:
    from tui.facts.balancing import StreamList

LIST_TITLES = (
    "STREAM",
    "TOPICS",
    "MATCHING",
    "CARRIED",
    "NUMBERS",
    "LIMITS",
    "PAUSED",
    "WHO",
    "WHY",
)
LIMITS = {
    "capacity_mib_per_second": (float, "Compressed MiB per second that one carrier can move."),
    "threshold": (float, "Part of a carrier's capacity that is planned for."),
    "carriers_min": (int, "Minimum number of carriers."),
    "carriers_max": (int, "Maximum number of carriers; 0: as many as Spark has task slots."),
    "partitions_max": (int, "Maximum number of partitions of one carrier."),
    "memory_mib": (int, "Memory of one carrier, which caps its partitions; 0: no cap."),
    "lag_seconds_max": (float, "Lag of a partition above which partitions are moved."),
}

partition_option = click.option(
    "--partition", type=click.IntRange(min=0), help="Only this partition of the topic."
)


def limit_options(command: Command) -> Command:
    """Adds an option for each limit that a stream may set instead of its route's.

    deploy/appliance.toml explains each limit.
    """
    for name, (kind, text) in reversed(LIMITS.items()):
        option = f"--{name.replace('_', '-')}"
        command = click.option(option, name, type=kind, help=text)(command)
    return command


@click.group()
def stream() -> None:
    """Give topics of a route carriers and limits of their own, or pause them.

    If several streams match a topic, the topic belongs to the one whose name sorts first. A topic
    that matches none belongs to stream "default". See docs/balance.md.
    """


@stream.command()
@click.argument("name")
@on_one_route
@click.option(
    "--topics",
    multiple=True,
    required=True,
    metavar="RE2",
    help="Pattern for whole topic names. Repeatable.",
)
@limit_options
@reason_option
@answer_options
def create(
    context: CommandContext, name: str, topics: Sequence[str], **limits: float | int | None
) -> int:
    """Create stream NAME. Its topics move to carriers of its own."""
    from tui.orders.streams import BadTerms, create_stream

    settings = context.appliance.balance
    with usage_errors(BadTerms):
        change = create_stream(
            context.orders, settings, context.route, name, topics, limits, context.terms
        )
    return context.show(change)


@stream.command()
@click.argument("name")
@on_one_route
@click.option(
    "--topics",
    multiple=True,
    metavar="RE2",
    help="Pattern for whole topic names, instead of all patterns of the stream. Repeatable.",
)
@limit_options
@click.option(
    "--unset",
    multiple=True,
    type=click.Choice([each.replace("_", "-") for each in LIMITS]),
    help="Limit that the stream takes from its route again. Repeatable.",
)
@new_reason_option
@answer_options
def change(
    context: CommandContext,
    name: str,
    topics: Sequence[str],
    unset: Sequence[str],
    **limits: float | int | None,
) -> int:
    """Change the given settings of stream NAME; the others stay."""
    from tui.orders.streams import BadTerms, change_stream

    settings, names = context.appliance.balance, [each.replace("-", "_") for each in unset]
    with usage_errors(BadTerms):
        changed = change_stream(
            context.orders, settings, context.route, name, topics, limits, names, context.reason
        )
    return context.show(changed)


@stream.command()
@click.argument("name")
@on_one_route
@answer_options
def delete(context: CommandContext, name: str) -> int:
    """Delete stream NAME. Its topics move to other streams that match them, or to "default"."""
    from tui.orders.streams import BadTerms, delete_stream

    with usage_errors(BadTerms):
        return context.show(delete_stream(context.orders, context.route, name))


@stream.command()
@click.argument("name")
@on_one_route
@reason_option
@answer_options
def pause(context: CommandContext, name: str) -> int:
    """Stop carrying the topics of stream NAME. Their ledger entries stay.

    A running `sluice replicate` keeps the entries, however long that takes. Once it has been down
    for offsets.retention.minutes, only `accept-loss --restart-at` lets the topics go on.
    """
    return _set_paused(context, name, True)


@stream.command()
@click.argument("name")
@on_one_route
@new_reason_option
@answer_options
def resume(context: CommandContext, name: str) -> int:
    """Carry the topics of stream NAME again, from their ledger entries on."""
    return _set_paused(context, name, False)


@stream.command("pause-topic")
@click.argument("topic")
@on_one_route
@partition_option
@reason_options
@answer_options
def pause_topic(context: CommandContext, topic: str, partition: int | None) -> int:
    """Stop carrying TOPIC. Its ledger entries stay.

    A running `sluice replicate` keeps the entries, however long that takes. Once it has been down
    for offsets.retention.minutes, only `accept-loss --restart-at` lets the topic go on.
    """
    from tui.orders.placement_orders import pause_topic as pause

    return context.show(pause(context.orders, context.route, topic, partition, context.terms))


@stream.command("resume-topic")
@click.argument("topic")
@on_one_route
@partition_option
@answer_options
def resume_topic(context: CommandContext, topic: str, partition: int | None) -> int:
    """Carry TOPIC again, from its ledger entries on. Without --partition: all its pauses end.

    Exits with 4 when --partition is given and the whole topic is paused.
    """
    from tui.orders.placement_orders import resume_topic as resume

    change = resume(context.orders, context.route, topic, partition)
    return context.show(change, nothing="nothing of it was paused: nothing was changed")


@stream.command("list")
@on_routes
@answer_options
def list_(context: CommandContext) -> int:
    """List the streams, with the topics that belong to each of them now.

    The topics are known from the driver's plan in Redis; without a plan they are shown as ?.
    """
    from tui.facts.balance_readings import BalanceReadings
    from tui.facts.balancing import StreamList

    orders = context.orders
    order_log, plan = orders.order_log, orders.active_plan()
    readings = BalanceReadings(context.region, context.routes, orders.now_ms, order_log, None, plan)
    view = readings.view(context.appliance.balance.round_seconds, acts=readings.is_acting)
    found = StreamList(region=view.region, streams=readings.with_matching(view.streams))
    emit(context.output, found, lambda: list_text(found, orders.now_ms / 1000))
    return ExitCode.DONE


def list_text(found: StreamList, now: float) -> str:
    """Formats streams as a table: patterns, topics, carriers and limits."""
    from tui.commands.text import page_text
    from tui.facts.balancing import BalanceView
    from tui.pages.balance import streams_section

    view = BalanceView(region=found.region, streams=found.streams)
    return page_text([streams_section([view], now).only(LIST_TITLES)])


stream.add_command(rewind_topic)


def _set_paused(context: CommandContext, name: str, is_paused: bool) -> int:
    from tui.orders.streams import BadTerms, set_paused

    with usage_errors(BadTerms):
        changed = set_paused(context.orders, context.route, name, is_paused, context.reason)
    state = "is paused" if is_paused else "is not paused"
    return context.show(changed, nothing=f"stream {name} {state} already")
