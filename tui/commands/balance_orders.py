"""sluice balance pause, pin, exclude, and what takes them back: orders to the balancer."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from tui.balance_options import (
    chosen,
    for_option,
    one_chosen,
    one_route_option,
    reason_option,
    region_option,
    route_option,
    server_timeout_option,
    stream_option,
    warn,
)
from tui.order_giving import give
from tui.output import config_option, output_option

if TYPE_CHECKING:
    from replicator.config.topology import Route
    from replicator.placements.book import Book

carrier_argument = click.argument("carrier", type=click.IntRange(min=0))
partition_argument = click.argument("partition", type=click.IntRange(min=0))


@click.command()
@config_option
@region_option
@route_option
@stream_option
@reason_option
@for_option
@server_timeout_option
@output_option
def pause(
    config: str,
    region: str | None,
    route_name: str | None,
    stream: str | None,
    reason: str,
    holds_for: str | None,
    timeout: float,
    output: str,
) -> int:
    """Hold partitions where they are: of all streams of all routes, unless one is named.

    Records flow on, and what is new gets a carrier. What is ordered by hand moves all the same.
    """
    from replicator.config.topology import load
    from replicator.placements.records import Hold
    from tui.balance_desk import Desk
    from tui.operator import operator
    from tui.order_times import until_ms

    appliance = load(config)
    name, routes = chosen(appliance, region, route_name)
    desk = Desk(appliance, name, timeout)
    book, now_ms = desk.book(), _now_ms()
    holds = [
        Hold(
            route=route.key,
            at_ms=now_ms,
            who=operator(),
            why=reason,
            until_ms=until_ms(holds_for, now_ms),
            stream=each,
        )
        for route, each in _streams(book, routes, stream, now_ms)
    ]
    return give(desk, holds, (), output)


@click.command()
@config_option
@region_option
@route_option
@stream_option
@server_timeout_option
@output_option
def resume(
    config: str,
    region: str | None,
    route_name: str | None,
    stream: str | None,
    timeout: float,
    output: str,
) -> int:
    """Take `pause` back: of all streams of all routes, unless one is named."""
    from replicator.config.topology import load
    from replicator.placements.records import Hold
    from tui.balance_desk import Desk

    appliance = load(config)
    name, routes = chosen(appliance, region, route_name)
    desk = Desk(appliance, name, timeout)
    book, now_ms = desk.book(), _now_ms()
    if stream is not None:
        _streams(book, routes, stream, now_ms)
    holds = [
        each
        for route in routes
        for each in book.of(Hold, route.key, now_ms)
        if stream in (None, each.stream)
    ]
    return give(desk, (), holds, output, "nothing was held: nothing was changed")


@click.command()
@click.argument("topic")
@partition_argument
@config_option
@region_option
@one_route_option
@click.option("--carrier", type=click.IntRange(min=0), required=True, help="Its number.")
@reason_option
@for_option
@server_timeout_option
@output_option
def pin(
    topic: str,
    partition: int,
    config: str,
    region: str | None,
    route_name: str,
    carrier: int,
    reason: str,
    holds_for: str | None,
    timeout: float,
    output: str,
) -> int:
    """Have PARTITION of TOPIC on a certain carrier.

    Ends with 4 when the driver does not carry that partition, or when its stream cannot have a
    carrier of that number. A carrier that is not there now makes it wait, which is an alert.
    """
    from replicator.config.topology import load
    from replicator.placements.records import Pin
    from tui.balance_desk import Desk
    from tui.operator import operator
    from tui.order_checks import check_pin
    from tui.order_times import until_ms

    appliance = load(config)
    name, route = one_chosen(appliance, region, route_name)
    desk = Desk(appliance, name, timeout)
    book, now_ms = desk.book(), _now_ms()
    order = Pin(
        route=route.key,
        at_ms=now_ms,
        who=operator(),
        why=reason,
        until_ms=until_ms(holds_for, now_ms),
        topic=topic,
        partition=partition,
        carrier=carrier,
    )
    for remark in check_pin(book, desk.carried(), order, now_ms):
        warn(remark)
    _warn_of_nobody(book, name, now_ms)
    return give(desk, (order,), (), output)


@click.command()
@click.argument("topic")
@partition_argument
@config_option
@region_option
@one_route_option
@server_timeout_option
@output_option
def unpin(
    topic: str,
    partition: int,
    config: str,
    region: str | None,
    route_name: str,
    timeout: float,
    output: str,
) -> int:
    """Take `pin` back. The partition stays where it is until something moves it."""
    from replicator.config.topology import load
    from replicator.placements.records import Pin
    from tui.balance_desk import Desk

    appliance = load(config)
    name, route = one_chosen(appliance, region, route_name)
    desk = Desk(appliance, name, timeout)
    pins = [
        each
        for each in desk.book().of(Pin, route.key, _now_ms())
        if (each.topic, each.partition) == (topic, partition)
    ]
    nothing = f"{topic}-{partition} was not pinned: nothing was changed"
    return give(desk, (), pins, output, nothing)


@click.command()
@carrier_argument
@config_option
@region_option
@one_route_option
@reason_option
@for_option
@server_timeout_option
@output_option
def exclude(
    carrier: int,
    config: str,
    region: str | None,
    route_name: str,
    reason: str,
    holds_for: str | None,
    timeout: float,
    output: str,
) -> int:
    """Have nothing on CARRIER: what it has moves to others."""
    from replicator.config.topology import load
    from replicator.placements.records import Exclusion
    from tui.balance_desk import Desk
    from tui.operator import operator
    from tui.order_checks import remarks_on_exclusion
    from tui.order_times import until_ms

    appliance = load(config)
    name, route = one_chosen(appliance, region, route_name)
    desk = Desk(appliance, name, timeout)
    book, now_ms = desk.book(), _now_ms()
    order = Exclusion(
        route=route.key,
        at_ms=now_ms,
        who=operator(),
        why=reason,
        until_ms=until_ms(holds_for, now_ms),
        carrier=carrier,
    )
    for remark in remarks_on_exclusion(book, desk.carried(), route.key, carrier, now_ms):
        warn(remark)
    _warn_of_nobody(book, name, now_ms)
    return give(desk, (order,), (), output)


@click.command()
@carrier_argument
@config_option
@region_option
@one_route_option
@server_timeout_option
@output_option
def include(
    carrier: int,
    config: str,
    region: str | None,
    route_name: str,
    timeout: float,
    output: str,
) -> int:
    """Take `exclude` back."""
    from replicator.config.topology import load
    from replicator.placements.records import Exclusion
    from tui.balance_desk import Desk

    appliance = load(config)
    name, route = one_chosen(appliance, region, route_name)
    desk = Desk(appliance, name, timeout)
    orders = [
        each for each in desk.book().of(Exclusion, route.key, _now_ms()) if each.carrier == carrier
    ]
    nothing = f"carrier {carrier} was not excluded: nothing was changed"
    return give(desk, (), orders, output, nothing)


def _streams(
    book: Book, routes: Iterable[Route], stream: str | None, now_ms: int
) -> list[tuple[Route, str]]:
    """All of the routes' streams; or that of one name, on the routes that have it."""
    from replicator.placements.records import DEFAULT_STREAM
    from tui.order_checks import UnknownStream

    found = [
        (route, name)
        for route in routes
        for name in (DEFAULT_STREAM, *(it.name for it in book.streams(route.key, now_ms)))
    ]
    named = [(route, name) for route, name in found if stream in (None, name)]
    if not named:
        known = ", ".join(dict.fromkeys(name for _, name in found))
        raise UnknownStream(f"no stream {stream!r}; known: {known}")
    return named


def _warn_of_nobody(book: Book, region: str, now_ms: int) -> None:
    from tui.balance_sight import acts

    if not acts(book.lease(region), now_ms):
        warn(f"no balancer acts: it is followed once `sluice balance --region {region}` runs")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
