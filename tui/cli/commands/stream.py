"""sluice stream: gives topics of a route carriers and limits of their own, or pauses them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from tui.cli.options import answer_options, new_reason_option, reason_option, warn
from tui.cli.command_context import CommandContext, on_one_route, on_routes
from tui.cli.commands.topic_pause import pause_topic, resume_topic
from tui.cli.commands.topic_rewind import rewind_topic
from tui.cli.exit_codes import ExitCode
from tui.cli.output import emit
from tui.cli.stream_options import LIMITS, limit_options

if TYPE_CHECKING:
    from replicator.orders.order_records import AnyRecord, Stream


@click.group()
def stream() -> None:
    """Give some of a route's topics carriers and limits of their own, or let them rest.

    Of two streams that match a topic the one whose name comes first has it; what matches none is in
    stream "default". docs/balance.md says more.
    """


@stream.command()
@click.argument("name")
@on_one_route
@click.option(
    "--topics", multiple=True, required=True, metavar="RE2", help="Whole names. Repeatable."
)
@limit_options
@reason_option
@answer_options
def create(
    context: CommandContext, name: str, topics: Sequence[str], **limits: float | int | None
) -> int:
    """Make stream NAME. Its topics move to carriers of its own."""
    from replicator.orders.order_log import first_carrier
    from replicator.orders.order_records import Stream
    from tui.actions.stream_terms import StreamExists, check_name, check_together, leftovers

    _checked(check_name, name)
    _check(topics, limits)
    route = context.route
    _checked(check_together, limits, context.appliance.balance, route.name)
    book = context.book
    streams = book.streams(route.key, context.now_ms)
    if any(each.name == name for each in streams):
        raise StreamExists(f"route {route} has a stream {name!r}: see `sluice stream change`")
    order = Stream(
        **context.said(route),
        name=name,
        topics=tuple(topics),
        first_carrier=first_carrier(streams),
        **{limit: it for limit, it in limits.items() if it is not None},
    )
    # A deleted stream of that name leaves a record if a balancer placed it at the same time.
    return _replace(context, order, leftovers(book, route.key, name))


@stream.command()
@click.argument("name")
@on_one_route
@click.option("--topics", multiple=True, metavar="RE2", help="Instead of all it had. Repeatable.")
@limit_options
@click.option(
    "--unset",
    multiple=True,
    type=click.Choice([each.replace("_", "-") for each in LIMITS]),
    help="It has its route's again. Repeatable.",
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
    """Change what is given of stream NAME; the rest stays."""
    from tui.actions.stream_terms import changed, check_together, limits_of

    _check(topics, limits)
    if not topics and not unset and context.reason is None and set(limits.values()) == {None}:
        raise click.UsageError("nothing to change is given")
    found = _named(context, name)
    names = [each.replace("-", "_") for each in unset]
    who, at_ms = context.who, context.now_ms
    order = changed(found, topics, limits, names, why=context.reason, who=who, at_ms=at_ms)
    _checked(check_together, limits_of(order), context.appliance.balance, context.route.name)
    return _replace(context, order)


@stream.command()
@click.argument("name")
@on_one_route
@answer_options
def delete(context: CommandContext, name: str) -> int:
    """Delete stream NAME. Its topics move to the streams that match them else, or to "default"."""
    from replicator.orders.order_records import key_of
    from tui.actions.order_checks import stranded_pins
    from tui.actions.stream_terms import leftovers

    book, route = context.book, context.route.key
    gone = [_named(context, name), *leftovers(book, route, name)]
    after = book.after((key_of(each), None) for each in gone)
    warn(*stranded_pins(after, route, context.now_ms))
    return context.give(taken_back=gone)


@stream.command()
@click.argument("name")
@on_one_route
@reason_option
@answer_options
def pause(context: CommandContext, name: str) -> int:
    """Carry none of the topics of stream NAME. Their place in the ledger stays.

    But no longer than offsets.retention.minutes of the target, a week unless set: then only
    accept-loss --restart-at lets them go on.
    """
    return _set_paused(context, name, True)


@stream.command()
@click.argument("name")
@on_one_route
@new_reason_option
@answer_options
def resume(context: CommandContext, name: str) -> int:
    """Carry the topics of stream NAME again, from where they were."""
    return _set_paused(context, name, False)


@stream.command("list")
@on_routes
@answer_options
def list_(context: CommandContext) -> int:
    """List the streams, and the topics that belong to each of them now.

    Which these are is known from what the driver shows in Redis; without, it is shown as ?.
    """
    from tui.cli.views.stream_view import as_text, as_values, rows

    found = list(rows(context.routes, context.book, context.client.carried(), context.now_ms))
    emit(context.output, as_values(context.region, found), lambda: as_text(found))
    return ExitCode.DONE


for command in (pause_topic, resume_topic, rewind_topic):
    stream.add_command(command)


def _set_paused(context: CommandContext, name: str, is_paused: bool) -> int:
    from tui.actions.stream_terms import changed

    found = _named(context, name)
    if found.is_paused is is_paused:
        state = "is paused" if is_paused else "is not paused"
        return context.give(nothing=f"stream {name} {state} already")
    order = changed(found, (), {}, (), why=context.reason, who=context.who, at_ms=context.now_ms)
    return context.give([order.model_copy(update={"is_paused": is_paused})])


def _replace(context: CommandContext, order: Stream, gone: Iterable[AnyRecord] = ()) -> int:
    """Writes a stream, and warns about pins that no longer hold and a stream without topics.

    Args:
        gone: records to remove along with the write.
    """
    from replicator.orders.order_records import key_of
    from tui.actions.order_checks import carried_on, stranded_pins

    after = context.book.after([(key_of(order), order)])
    warn(*stranded_pins(after, order.route, order.at_ms))
    in_force = context.client.carried()
    if in_force is not None:
        topics = (each.topic for each in carried_on(in_force, order.route))
        if order.name not in after.streams_of(order.route, topics, order.at_ms).values():
            warn(f"no topic that is carried belongs to stream {order.name} now")
    return context.give([order], taken_back=gone)


def _named(context: CommandContext, name: str) -> Stream:
    from tui.actions.order_checks import known_stream

    found = known_stream(context.book, context.route.key, name, context.now_ms)
    if found is None:
        raise click.UsageError('stream "default" is what belongs to no other: it stays as it is')
    return found


def _check(topics: Sequence[str], limits: dict[str, float | int | None]) -> None:
    from tui.actions.stream_terms import check_limits, check_topics

    _checked(check_topics, topics)
    _checked(check_limits, limits)


def _checked(check: Callable[..., None], *what: Any) -> None:
    from tui.actions.stream_terms import BadTerms

    try:
        check(*what)
    except BadTerms as error:
        raise click.UsageError(str(error)) from None
