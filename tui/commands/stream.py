"""sluice stream: topics of a route that have carriers and limits of their own, or rest."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from tui.balance_options import (
    chosen,
    new_reason_option,
    one_chosen,
    one_route_option,
    reason_option,
    region_option,
    route_option,
    server_timeout_option,
    warn,
)
from tui.commands.topic_pause import pause_topic, resume_topic
from tui.commands.topic_rewind import rewind_topic
from tui.exit_codes import ExitCode
from tui.order_giving import give
from tui.output import config_option, emit, output_option
from tui.stream_options import LIMITS, limit_options

if TYPE_CHECKING:
    from replicator.placements.book import Book
    from replicator.placements.records import AnyRecord, Stream
    from tui.balance_desk import Desk


@click.group()
def stream() -> None:
    """Give some of a route's topics carriers and limits of their own, or let them rest.

    Of two streams that match a topic the one whose name comes first has it; what matches none is in
    stream "default". docs/balance.md says more.
    """


@stream.command()
@click.argument("name")
@config_option
@region_option
@one_route_option
@click.option(
    "--topics", multiple=True, required=True, metavar="RE2", help="Whole names. Repeatable."
)
@limit_options
@reason_option
@server_timeout_option
@output_option
def create(
    name: str,
    config: str,
    region: str | None,
    route_name: str,
    topics: Sequence[str],
    reason: str,
    timeout: float,
    output: str,
    **limits: float | int | None,
) -> int:
    """Make stream NAME. Its topics move to carriers of its own."""
    from replicator.config.topology import load
    from replicator.placements.book import first_carrier
    from replicator.placements.records import Stream
    from tui.balance_desk import Desk
    from tui.operator import operator
    from tui.stream_terms import StreamExists, check_name, check_together, leftovers

    _checked(check_name, name)
    _check(topics, limits)
    appliance = load(config)
    where, route = one_chosen(appliance, region, route_name)
    _checked(check_together, limits, appliance.balance, route.name)
    desk = Desk(appliance, where, timeout)
    book, now_ms = desk.book(), _now_ms()
    streams = book.streams(route.key, now_ms)
    if any(each.name == name for each in streams):
        raise StreamExists(f"route {route} has a stream {name!r}: see `sluice stream change`")
    order = Stream(
        route=route.key,
        at_ms=now_ms,
        who=operator(),
        why=reason,
        name=name,
        topics=tuple(topics),
        first_carrier=first_carrier(streams),
        **{limit: it for limit, it in limits.items() if it is not None},
    )
    # Of a stream of that name that was deleted while a balancer was about to place it.
    return _replace(desk, book, order, leftovers(book, route.key, name), output)


@stream.command()
@click.argument("name")
@config_option
@region_option
@one_route_option
@click.option("--topics", multiple=True, metavar="RE2", help="Instead of all it had. Repeatable.")
@limit_options
@click.option(
    "--unset",
    multiple=True,
    type=click.Choice([each.replace("_", "-") for each in LIMITS]),
    help="It has its route's again. Repeatable.",
)
@new_reason_option
@server_timeout_option
@output_option
def change(
    name: str,
    config: str,
    region: str | None,
    route_name: str,
    topics: Sequence[str],
    unset: Sequence[str],
    reason: str | None,
    timeout: float,
    output: str,
    **limits: float | int | None,
) -> int:
    """Change what is given of stream NAME; the rest stays."""
    from replicator.config.topology import load
    from tui.balance_desk import Desk
    from tui.operator import operator
    from tui.stream_terms import changed, check_together, limits_of

    _check(topics, limits)
    if not topics and not unset and reason is None and set(limits.values()) == {None}:
        raise click.UsageError("nothing to change is given")
    appliance = load(config)
    where, route = one_chosen(appliance, region, route_name)
    desk = Desk(appliance, where, timeout)
    book, now_ms = desk.book(), _now_ms()
    found = _named(book, route.key, name, now_ms)
    names = [each.replace("-", "_") for each in unset]
    order = changed(found, topics, limits, names, why=reason, who=operator(), at_ms=now_ms)
    _checked(check_together, limits_of(order), appliance.balance, route.name)
    return _replace(desk, book, order, (), output)


@stream.command()
@click.argument("name")
@config_option
@region_option
@one_route_option
@server_timeout_option
@output_option
def delete(
    name: str, config: str, region: str | None, route_name: str, timeout: float, output: str
) -> int:
    """Delete stream NAME. Its topics move to the streams that match them else, or to "default"."""
    from replicator.config.topology import load
    from replicator.placements.records import key_of
    from tui.balance_desk import Desk
    from tui.order_checks import stranded_pins
    from tui.stream_terms import leftovers

    appliance = load(config)
    where, route = one_chosen(appliance, region, route_name)
    desk = Desk(appliance, where, timeout)
    book, now_ms = desk.book(), _now_ms()
    gone = [_named(book, route.key, name, now_ms), *leftovers(book, route.key, name)]
    after = book.after((key_of(each), None) for each in gone)
    for remark in stranded_pins(after, route.key, now_ms):
        warn(remark)
    return give(desk, (), gone, output)


@stream.command()
@click.argument("name")
@config_option
@region_option
@one_route_option
@reason_option
@server_timeout_option
@output_option
def pause(name: str, route_name: str, **options: Any) -> int:
    """Carry none of the topics of stream NAME. Their place in the ledger stays."""
    return _set_paused(name, route_name, True, **options)


@stream.command()
@click.argument("name")
@config_option
@region_option
@one_route_option
@new_reason_option
@server_timeout_option
@output_option
def resume(name: str, route_name: str, **options: Any) -> int:
    """Carry the topics of stream NAME again, from where they were."""
    return _set_paused(name, route_name, False, **options)


@stream.command("list")
@config_option
@region_option
@route_option
@server_timeout_option
@output_option
def list_(
    config: str, region: str | None, route_name: str | None, timeout: float, output: str
) -> int:
    """List the streams, and the topics that belong to each of them now.

    Which these are is known from what the driver shows in Redis; without, it is shown as ?.
    """
    from replicator.config.topology import load
    from tui.balance_desk import Desk
    from tui.stream_view import as_text, as_values, rows

    appliance = load(config)
    where, routes = chosen(appliance, region, route_name)
    desk = Desk(appliance, where, timeout)
    found = list(rows(routes, desk.book(), desk.carried(), _now_ms()))
    emit(output, as_values(where, found), lambda: as_text(found))
    return ExitCode.DONE


for command in (pause_topic, resume_topic, rewind_topic):
    stream.add_command(command)


def _set_paused(
    name: str,
    route_name: str,
    is_paused: bool,
    *,
    config: str,
    region: str | None,
    reason: str | None,
    timeout: float,
    output: str,
) -> int:
    from replicator.config.topology import load
    from tui.balance_desk import Desk
    from tui.operator import operator
    from tui.stream_terms import changed

    appliance = load(config)
    where, route = one_chosen(appliance, region, route_name)
    desk = Desk(appliance, where, timeout)
    book, now_ms = desk.book(), _now_ms()
    found = _named(book, route.key, name, now_ms)
    if found.is_paused is is_paused:
        return give(desk, (), (), output, f"stream {name} {_state(is_paused)} already")
    order = changed(found, (), {}, (), why=reason, who=operator(), at_ms=now_ms)
    return give(desk, (order.model_copy(update={"is_paused": is_paused}),), (), output)


def _state(is_paused: bool) -> str:
    return "is paused" if is_paused else "is not paused"


def _replace(desk: Desk, book: Book, order: Stream, gone: Iterable[AnyRecord], output: str) -> int:
    """Writes the stream as it is from now on, and says what follows for topics and pins."""
    from replicator.placements.records import key_of
    from tui.order_checks import carried_on, stranded_pins

    after = book.after([(key_of(order), order)])
    for remark in stranded_pins(after, order.route, order.at_ms):
        warn(remark)
    in_force = desk.carried()
    if in_force is not None:
        topics = (each.topic for each in carried_on(in_force, order.route))
        if order.name not in after.streams_of(order.route, topics, order.at_ms).values():
            warn(f"no topic that is carried belongs to stream {order.name} now")
    return give(desk, (order,), gone, output)


def _named(book: Book, route: str, name: str, now_ms: int) -> Stream:
    from tui.order_checks import known_stream

    found = known_stream(book, route, name, now_ms)
    if found is None:
        raise click.UsageError('stream "default" is what belongs to no other: it stays as it is')
    return found


def _check(topics: Sequence[str], limits: dict[str, float | int | None]) -> None:
    from tui.stream_terms import check_limits, check_topics

    _checked(check_topics, topics)
    _checked(check_limits, limits)


def _checked(check: Callable[..., None], *what: Any) -> None:
    from tui.stream_terms import BadTerms

    try:
        check(*what)
    except BadTerms as error:
        raise click.UsageError(str(error)) from None


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
