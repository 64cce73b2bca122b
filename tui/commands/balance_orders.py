"""sluice balance pause, pin, exclude, and their opposites: orders to the balancer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tui.balance_options import answer_options, reason_options, stream_option, warn
from tui.errand import CommandContext, on_one_route, on_routes

if TYPE_CHECKING:
    from replicator.config.topology import Route

carrier_argument = click.argument("carrier", type=click.IntRange(min=0))
partition_argument = click.argument("partition", type=click.IntRange(min=0))


@click.command()
@on_routes
@stream_option
@reason_options
@answer_options
def pause(errand: CommandContext, stream: str | None) -> int:
    """Hold partitions where they are: of all streams of all routes, unless one is named.

    Records flow on, and what is new gets a carrier. What is ordered by hand moves all the same.
    """
    from replicator.orders.order_records import Hold

    found = _streams(errand, stream)
    return errand.give([Hold(**errand.said(route), stream=name) for route, name in found])


@click.command()
@on_routes
@stream_option
@answer_options
def resume(errand: CommandContext, stream: str | None) -> int:
    """Take `pause` back: of all streams of all routes, unless one is named."""
    from replicator.orders.order_records import Hold

    if stream is not None:
        _streams(errand, stream)
    holds = [each for each in errand.standing(Hold) if stream in (None, each.stream)]
    return errand.give(taken_back=holds, nothing="nothing was held: nothing was changed")


@click.command()
@click.argument("topic")
@partition_argument
@on_one_route
@click.option("--carrier", type=click.IntRange(min=0), required=True, help="Its number.")
@reason_options
@answer_options
def pin(errand: CommandContext, topic: str, partition: int, carrier: int) -> int:
    """Have PARTITION of TOPIC on a certain carrier.

    Ends with 4 when the driver does not carry that partition, or when its stream cannot have a
    carrier of that number. A carrier that is not there now makes it wait, which is an alert.
    """
    from replicator.orders.order_records import Pin
    from tui.order_checks import check_pin

    book = errand.book
    order = Pin(**errand.said(errand.route), topic=topic, partition=partition, carrier=carrier)
    warn(*check_pin(book, errand.desk.carried(), order, errand.now_ms))
    _warn_of_nobody(errand)
    return errand.give([order])


@click.command()
@click.argument("topic")
@partition_argument
@on_one_route
@answer_options
def unpin(errand: CommandContext, topic: str, partition: int) -> int:
    """Take `pin` back. The partition stays where it is until something moves it."""
    from replicator.orders.order_records import Pin

    pins = [it for it in errand.standing(Pin) if (it.topic, it.partition) == (topic, partition)]
    nothing = f"{topic}-{partition} was not pinned: nothing was changed"
    return errand.give(taken_back=pins, nothing=nothing)


@click.command()
@carrier_argument
@on_one_route
@reason_options
@answer_options
def exclude(errand: CommandContext, carrier: int) -> int:
    """Have nothing on CARRIER: what it has moves to others."""
    from replicator.orders.order_records import Exclusion
    from tui.order_checks import remarks_on_exclusion

    book = errand.book
    order = Exclusion(**errand.said(errand.route), carrier=carrier)
    in_force = errand.desk.carried()
    warn(*remarks_on_exclusion(book, in_force, order.route, carrier, errand.now_ms))
    _warn_of_nobody(errand)
    return errand.give([order])


@click.command()
@carrier_argument
@on_one_route
@answer_options
def include(errand: CommandContext, carrier: int) -> int:
    """Take `exclude` back."""
    from replicator.orders.order_records import Exclusion

    orders = [each for each in errand.standing(Exclusion) if each.carrier == carrier]
    nothing = f"carrier {carrier} was not excluded: nothing was changed"
    return errand.give(taken_back=orders, nothing=nothing)


def _streams(errand: CommandContext, stream: str | None) -> list[tuple[Route, str]]:
    """Returns all streams of the routes, or the named one on the routes that have it.

    Raises UnknownStream when no route has the named stream.
    """
    from replicator.orders.order_records import DEFAULT_STREAM
    from tui.order_checks import UnknownStream

    book = errand.book
    found = [
        (route, name)
        for route in errand.routes
        for name in (DEFAULT_STREAM, *(it.name for it in book.streams(route.key, errand.now_ms)))
    ]
    named = [(route, name) for route, name in found if stream in (None, name)]
    if not named:
        known = ", ".join(dict.fromkeys(name for _, name in found))
        raise UnknownStream(f"no stream {stream!r}; known: {known}")
    return named


def _warn_of_nobody(errand: CommandContext) -> None:
    from tui.balance_sight import acts

    region = errand.region
    if not acts(errand.book.lease(region), errand.now_ms):
        warn(f"no balancer acts: it is followed once `sluice balance --region {region}` runs")
