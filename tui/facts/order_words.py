"""Words for orders of operators: for people, and the command that ends an order."""

from __future__ import annotations

from collections.abc import Iterator

from replicator.orders.order_records import (
    AcceptLaneLosses,
    ByHand,
    Exclusion,
    Freeze,
    Hold,
    Order,
    Pause,
    Pin,
    RefreshSchema,
    RotateTable,
    SettleTable,
    SkipReplay,
    Stream,
)
from tui.facts.streams import limits_of, route_name


def order_text(order: Order) -> str:
    """Describes an order in a few words."""
    match order:
        case Pin():
            return f"pin {order.topic}-{order.partition} to carrier {order.carrier}"
        case Exclusion():
            return f"exclude carrier {order.carrier}"
        case Hold():
            return f"hold stream {order.stream}"
        case Pause(partition=None):
            return f"pause topic {order.topic}"
        case Pause():
            return f"pause {order.topic}-{order.partition}"
        case ByHand():
            scope = order.scope.value
            return f"place stream {order.stream} ({scope}) upon generation {order.generation}"
        case Stream():
            paused = " (paused)" if order.is_paused else ""
            limits = "".join(f" {name}={it:g}" for name, it in limits_of(order).items())
            return f"stream {order.name}{paused}: {' '.join(order.topics)}{limits}"
        case Freeze():
            return " ".join(["freeze", *_frozen(order)])
        case RefreshSchema():
            return f"read the columns of {order.table or 'all tables'} again"
        case SkipReplay():
            place = f"{order.cluster} {order.topic}-{order.partition}"
            return f"skip offsets [{order.begin}, {order.end}) of table {order.table} in {place}"
        case SettleTable():
            return f"settle upsert table {order.table}"
        case RotateTable():
            return f"rotate the state of upsert table {order.table}"
        case AcceptLaneLosses():
            segments = ", ".join(str(lane) for lane, *_ in order.losses)
            return f"accept what segments {segments} of upsert table {order.table} have lost"
        case _:
            return type(order).__name__.lower()


def _frozen(order: Freeze) -> Iterator[str]:
    """Yields the words for what a freeze stops."""
    if order.table is not None:
        yield f"table {order.table} in"
    if order.cluster is not None:
        yield order.cluster
    if order.topic is None:
        yield "all topics"
    elif order.partition is None:
        yield f"topic {order.topic}"
    else:
        yield f"{order.topic}-{order.partition}"


def ending_words(order: Order) -> tuple[str, ...]:
    """Returns the words of the `sluice` command that ends an order about a route.

    Empty for an order that is carried out once, and for a stream that is not paused.
    """
    route = ("--route", route_name(order.route))
    match order:
        case Pin():
            return "balance", "unpin", order.topic, str(order.partition), *route
        case Exclusion():
            return "balance", "include", str(order.carrier), *route
        case Hold():
            return "balance", "resume", *route, "--stream", order.stream
        case Pause(partition=None):
            return "stream", "resume-topic", order.topic, *route
        case Pause():
            return (
                "stream",
                "resume-topic",
                order.topic,
                *route,
                "--partition",
                str(order.partition),
            )
        case Stream(is_paused=True):
            return "stream", "resume", order.name, *route
        case _:
            return ()
