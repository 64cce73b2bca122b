"""sluice balance: the daemon that assigns partitions to carriers, and its commands."""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING

import click

from tui.cli.options import answer_options, stream_option, warn
from tui.cli.command_context import CommandContext, on_one_route, on_routes
from tui.cli.commands.balance_orders import exclude, include, pause, pin, resume, unpin
from tui.cli.exit_codes import ExitCode
from tui.cli.output import config_words, emit, output_option, pass_on

if TYPE_CHECKING:
    from replicator.config.topology import Route
    from replicator.placement.rounds.preview import Preview

full_option = click.option(
    "--full", is_flag=True, help="Place everything anew, instead of moving as little as possible."
)


@click.group(invoke_without_command=True)
@click.option(
    "--config",
    envvar="SLUICE_CONFIG",
    show_envvar=True,
    metavar="FILE",
    help="The appliance's configuration (deploy/appliance.toml documents it).",
)
@click.option("--region", metavar="REGION", help="The TARGET region.")
@click.pass_context
def balance(ctx: click.Context, config: str | None, region: str | None) -> int:
    """Place partitions on carriers by their traffic, until stopped.

    Without a command of its own it is the daemon, one per target region, beside `sluice
    replicate`. While none runs, carrying goes on under the last placement. SIGTERM and Ctrl-C end
    it within seconds. docs/balance.md is its page.
    """
    if ctx.invoked_subcommand is not None:
        pass_on(balance, ctx)
        return ExitCode.DONE
    for name, value in (("config", config), ("region", region)):
        if value is None:
            raise click.MissingParameter(ctx=ctx, param_type="option", param_hint=f"'--{name}'")
    from replicator.placement.rounds import daemon

    return daemon.run(str(config), str(region))


@balance.command()
@on_routes
@click.option("--carriers", is_flag=True, help="A line for each carrier, also of many.")
@answer_options
def show(context: CommandContext, carriers: bool) -> int:
    """Show which placement holds, what is the matter, and what operators have ordered.

    What is not known is shown as ? (null in JSON and YAML). Ends with 3 when a server could not be
    reached; what is known is shown all the same.
    """
    from tui.cli.views.balance_view import as_text, as_values, remarks_on

    sight = context.client.look(context.routes)
    emit(context.output, as_values(sight), lambda: as_text(sight, all_carriers=carriers))
    warn(*remarks_on(sight))
    return ExitCode.UNREACHABLE if sight.problems else ExitCode.DONE


@balance.command()
@on_routes
@stream_option
@click.option("--topic", metavar="TOPIC", help="Only its partitions.")
@click.option("--all", "all_partitions", is_flag=True, help="A line for each, also of many.")
@output_option
def partitions(
    context: CommandContext, stream: str | None, topic: str | None, all_partitions: bool
) -> int:
    """Show what each partition takes of its carrier, and of what that is made.

    The heaviest first: its carrier, its load (of a carrier's time), its traffic at the source, how
    far behind it is, and by what all that is known. Ends with 4 when no driver shows what it
    carries.
    """
    from balancer.decision.placing import Scope
    from replicator.placement.rounds.preview import previews
    from tui.cli.views.partition_needs_view import Needs, as_text, as_values, unknown_topic
    from tui.actions.order_checks import NotCarried

    all_of_region = asyncio.run(previews(context.appliance, context.region, Scope.STICKY))
    found = _of_stream(all_of_region, context.routes, stream)
    needs = Needs(context.region, tuple(found), topic)
    if topic is not None and not any(needs.of(each) for each in found):
        names = {it.partition.topic for each in found for it in each.needs}
        raise NotCarried(unknown_topic(topic, names))
    emit(context.output, as_values(needs), lambda: as_text(needs, all_partitions=all_partitions))
    warn(*needs.remarks())
    return ExitCode.DONE


@balance.command()
@on_routes
@stream_option
@full_option
@click.option("--moves", is_flag=True, help="A line for each move, also of many.")
@output_option
def plan(context: CommandContext, stream: str | None, full: bool, moves: bool) -> int:
    """Show what would move if a plan were made now, and why. Changes nothing.

    Needs what the driver and the balancer have in Redis: ends with 4 when no driver shows what it
    carries.
    """
    from balancer.decision.placing import Scope
    from replicator.placement.rounds.preview import previews
    from tui.cli.views.preview_view import Planned, as_text, as_values

    scope = Scope.FULL if full else Scope.STICKY
    all_of_region = asyncio.run(previews(context.appliance, context.region, scope))
    found = _of_stream(all_of_region, context.routes, stream)
    planned = Planned(context.region, scope, tuple(found), config_words())
    emit(context.output, as_values(planned), lambda: as_text(planned, all_moves=moves))
    return ExitCode.DONE


@balance.command()
@on_one_route
@click.option("--stream", default="default", show_default=True, metavar="STREAM")
@full_option
@click.option(
    "--generation",
    type=click.IntRange(min=0),
    required=True,
    help="Of the placement that the plan was made upon, as `sluice balance plan` said it.",
)
@click.option(
    "--timeout",
    "answer_seconds",
    type=click.FloatRange(min=0.1),
    default=30.0,
    show_default=True,
    help="Seconds until it no longer waits for the balancer's answer.",
)
@output_option
def apply(
    context: CommandContext, stream: str, full: bool, generation: int, answer_seconds: float
) -> int:
    """Have the balancer place a stream now, as `plan` has shown it.

    The balancer makes the plan anew, upon what it knows then. Ends with 6, and nothing moves, when
    another placement holds than the one the plan was made upon; with 7 when no balancer answered:
    the order stays.
    """
    from balancer.decision.placing import Scope
    from replicator.orders.order_records import ByHand
    from tui.state.balance_status import acts
    from tui.actions.manual_placement import ordered
    from tui.cli.views.manual_placement_view import as_text, as_values
    from tui.actions.order_checks import known_stream

    book, now_ms, route = context.book, context.now_ms, context.route.key
    known_stream(book, route, stream, now_ms)
    if not acts(book.lease(context.region), now_ms):
        warn(f"no balancer acts: start `sluice balance --region {context.region}`")
    order = ByHand(
        route=route,
        at_ms=now_ms,
        who=context.who,
        why="sluice balance apply",
        id=uuid.uuid4().hex,
        stream=stream,
        scope=Scope.FULL if full else Scope.STICKY,
        generation=generation,
    )
    applied = ordered(context.client, order, book, answer_seconds)
    emit(context.output, as_values(applied), lambda: as_text(applied, config_words()))
    return applied.exit_code


for command in (pause, resume, pin, unpin, exclude, include):
    balance.add_command(command)


def _of_stream(
    found: list[Preview], routes: tuple[Route, ...], stream: str | None
) -> list[Preview]:
    """Returns the previews of these routes, or of the named stream on them.

    Raises UnknownStream when none of these routes has the stream.
    """
    from tui.actions.order_checks import UnknownStream

    of_routes = [each for each in found if each.route in routes]
    chosen_ones = [each for each in of_routes if stream in (None, each.stream)]
    if not chosen_ones:
        known = ", ".join(dict.fromkeys(each.stream for each in of_routes))
        raise UnknownStream(f"no stream {stream!r}; known: {known}")
    return chosen_ones
