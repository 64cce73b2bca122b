"""sluice balance: the daemon that assigns partitions to carriers, and its commands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from tui.commands.balance_apply import apply
from tui.commands.balance_orders import exclude, include, pause, pin, resume, unpin
from tui.commands.balance_partitions import partitions
from tui.commands.balance_plan import plan
from tui.commands.command_context import CommandContext, on_routes
from tui.commands.exit_codes import ExitCode
from tui.commands.options import (
    answer_options,
    check_daemon_options,
    daemon_options,
    pass_on,
)
from tui.commands.output import emit, plain_values, say

if TYPE_CHECKING:
    from tui.facts.balancing import BalanceView

BALANCER_TITLES = ("REGION", "BALANCER", "LEADER SINCE", "HEARD", "CARRIED", "SLOTS")
STREAM_TITLES = (
    "STREAM",
    "STATE",
    "PAUSED",
    "GEN",
    "DRIVER",
    "PARTS",
    "CARRIERS",
    "NEEDED",
    "HEAVIEST",
    "BOUND",
    "RATIO",
    "CERT",
    "ROUND",
)
CARRIER_TITLES = ("STREAM", "CARRIER", "PARTS", "LOAD")
ALERT_TITLES = ("STREAM", "ALERT", "FOUND, AND ADVICE")
CARRIERS_SHOWN_MAX = 40
SHOW_SCHEMA_VERSION = 2


@click.group(invoke_without_command=True)
@daemon_options
@click.pass_context
def balance(ctx: click.Context, config: str | None, region: str | None) -> int:
    """Place partitions on carriers by their traffic, until stopped.

    Without a subcommand this is the daemon, one for each target region, beside `sluice replicate`.
    While no daemon runs, carriers keep the last placement. SIGTERM and Ctrl-C stop it within
    seconds. See docs/balance.md.
    """
    if ctx.invoked_subcommand is not None:
        pass_on(balance, ctx)
        return ExitCode.DONE
    check_daemon_options(ctx)
    from replicator.placement.rounds import daemon

    return daemon.run(str(config), str(region))


@balance.command()
@on_routes
@click.option("--carriers", is_flag=True, help="List all carriers, however many there are.")
@answer_options
def show(context: CommandContext, carriers: bool) -> int:
    """Show the current placement, its alerts, and the orders of operators.

    Unknown values are shown as ? (null in JSON and YAML). Exits with 3 when a server could not be
    reached; everything that is known is shown all the same.
    """
    readings = context.client.readings(context.routes)
    view = readings.view(context.appliance.balance.round_seconds, acts=readings.is_acting)
    now = readings.now_ms / 1000
    emit(context.output, show_values(view), lambda: show_text(view, now, all_carriers=carriers))
    say(*show_remarks(view))
    return ExitCode.UNREACHABLE if view.problems else ExitCode.DONE


def show_values(view: BalanceView) -> dict[str, Any]:
    """Returns a region's balancing by the names that `sluice status -o json` has for it."""
    return {"schema_version": SHOW_SCHEMA_VERSION, **plain_values(view)}


def show_text(view: BalanceView, now: float, *, all_carriers: bool = False) -> str:
    """Formats a region's balancing: who acts, streams, carriers, alerts and orders.

    Of more than CARRIERS_SHOWN_MAX carriers only the heaviest are listed, unless `all_carriers`.
    """
    from tui.commands.order_text import TITLES as ORDER_TITLES
    from tui.commands.text import page_text
    from tui.facts.balancing import reasons
    from tui.pages.balance import balancers_section, streams_section
    from tui.pages.stream import (
        alerts_section,
        carriers_of,
        carriers_section,
        label_of,
        orders_section,
    )

    carriers = carriers_of(view.streams)
    notes = [
        f"{label_of(stream)}: {text}"
        for stream in view.streams
        for text in reasons(stream.held, stream.degraded)
    ]
    if len(carriers) > CARRIERS_SHOWN_MAX and not all_carriers:
        shown = f"{CARRIERS_SHOWN_MAX} of {len(carriers)} carriers, the heaviest"
        notes.insert(0, f"{shown}; --carriers shows all")
        carriers.sort(key=lambda each: (-(each[1].load or 0.0), -each[1].partitions))
        del carriers[CARRIERS_SHOWN_MAX:]
    sections = (
        balancers_section([view], now).only(BALANCER_TITLES),
        streams_section([view], now).only(STREAM_TITLES),
        carriers_section(view.streams, carriers).only(CARRIER_TITLES),
        alerts_section(view.streams).only(ALERT_TITLES),
        orders_section(view.orders, now).only(ORDER_TITLES),
    )
    return page_text(sections, notes)


def show_remarks(view: BalanceView) -> Iterator[str]:
    """Yields lines for stderr: problems, a missing balancer, a missing driver."""
    yield from view.problems
    if view.is_acting is False:
        yield f"no balancer acts: start `sluice balance --region {view.region}`"
    if view.has_driver is False:
        yield f"no driver shows what it carries into {view.region}"


for command in (partitions, plan, apply, pause, resume, pin, unpin, exclude, include):
    balance.add_command(command)
