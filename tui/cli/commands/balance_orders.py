"""sluice balance pause, pin, exclude, and their opposites: orders to the balancer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tui.cli.options import answer_options, reason_options, stream_option, warn
from tui.cli.command_context import CommandContext, on_one_route, on_routes

if TYPE_CHECKING:
    from replicator.config.topology import Route

carrier_argument = click.argument("carrier", type=click.IntRange(min=0))
partition_argument = click.argument("partition", type=click.IntRange(min=0))


@click.command()
@on_routes
@stream_option
@reason_options
@answer_options
def pause(context: CommandContext, stream: str | None) -> int:
    """Hold partitions where they are: of all streams of all routes, unless one is named.

    Records flow on, and what is new gets a carrier. What is ordered by hand moves all the same.
    """
    from replicator.orders.order_records import Hold

    found = _streams(context, stream)
    return context.give([Hold(**context.said(route), stream=name) for route, name in found])


@click.command()
@on_routes
@stream_option
@answer_options
def resume(context: CommandContext, stream: str | None) -> int:
    """Take `pause` back: of all streams of all routes, unless one is named."""
    from replicator.orders.order_records import Hold

    if stream is not None:
        _streams(context, stream)
    holds = [each for each in context.standing(Hold) if stream in (None, each.stream)]
    return context.give(taken_back=holds, nothing="nothing was held: nothing was changed")


@click.command()
@click.argument("topic")
@partition_argument
@on_one_route
@click.option("--carrier", type=click.IntRange(min=0), required=True, help="Its number.")
@reason_options
@answer_options
def pin(context: CommandContext, topic: str, partition: int, carrier: int) -> int:
    """Have PARTITION of TOPIC on a certain carrier.

    Ends with 4 when the driver does not carry that partition, or when its stream cannot have a
    carrier of that number. A carrier that is not there now makes it wait, which is an alert.
    """
    from replicator.orders.order_records import Pin
    from tui.actions.order_checks import check_pin

    book = context.book
    order = Pin(**context.said(context.route), topic=topic, partition=partition, carrier=carrier)
    warn(*check_pin(book, context.client.carried(), order, context.now_ms))
    _warn_of_nobody(context)
    return context.give([order])


@click.command()
@click.argument("topic")
@partition_argument
@on_one_route
@answer_options
def unpin(context: CommandContext, topic: str, partition: int) -> int:
    """Take `pin` back. The partition stays where it is until something moves it."""
    from replicator.orders.order_records import Pin

    pins = [it for it in context.standing(Pin) if (it.topic, it.partition) == (topic, partition)]
    nothing = f"{topic}-{partition} was not pinned: nothing was changed"
    return context.give(taken_back=pins, nothing=nothing)


@click.command()
@carrier_argument
@on_one_route
@reason_options
@answer_options
def exclude(context: CommandContext, carrier: int) -> int:
    """Have nothing on CARRIER: what it has moves to others."""
    from replicator.orders.order_records import Exclusion
    from tui.actions.order_checks import remarks_on_exclusion

    book = context.book
    order = Exclusion(**context.said(context.route), carrier=carrier)
    in_force = context.client.carried()
    warn(*remarks_on_exclusion(book, in_force, order.route, carrier, context.now_ms))
    _warn_of_nobody(context)
    return context.give([order])


@click.command()
@carrier_argument
@on_one_route
@answer_options
def include(context: CommandContext, carrier: int) -> int:
    """Take `exclude` back."""
    from replicator.orders.order_records import Exclusion

    orders = [each for each in context.standing(Exclusion) if each.carrier == carrier]
    nothing = f"carrier {carrier} was not excluded: nothing was changed"
    return context.give(taken_back=orders, nothing=nothing)


def _streams(context: CommandContext, stream: str | None) -> list[tuple[Route, str]]:
    """Returns all streams of the routes, or the named one on the routes that have it.

    Raises UnknownStream when no route has the named stream.
    """
    from replicator.orders.order_records import DEFAULT_STREAM
    from tui.actions.order_checks import UnknownStream

    book = context.book
    found = [
        (route, name)
        for route in context.routes
        for name in (DEFAULT_STREAM, *(it.name for it in book.streams(route.key, context.now_ms)))
    ]
    named = [(route, name) for route, name in found if stream in (None, name)]
    if not named:
        known = ", ".join(dict.fromkeys(name for _, name in found))
        raise UnknownStream(f"no stream {stream!r}; known: {known}")
    return named


def _warn_of_nobody(context: CommandContext) -> None:
    from tui.state.balance_status import acts

    region = context.region
    if not acts(context.book.lease(region), context.now_ms):
        warn(f"no balancer acts: it is followed once `sluice balance --region {region}` runs")
