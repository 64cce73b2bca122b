"""Terms of a stream: rules for its name, topics and limits, its other records, and its changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pydantic import ValidationError

from replicator.config.balance_settings import BalanceSettings, RouteBalance
from replicator.config.mistakes import found, worded
from replicator.orders.flaws import name_flaw, pattern_flaw
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import (
    Answer,
    AnyRecord,
    ByHand,
    Hold,
    Placed,
    Stream,
)

Limits = Mapping[str, float | int | None]


class BadTerms(ValueError):
    """Invalid name, topics or limits of a stream; the text says what is wrong."""


class StreamExists(Exception):
    """The route has a stream of that name already: change it, or take another name."""


def check_name(name: str) -> None:
    """Raises BadTerms when the name is not allowed."""
    if flaw := name_flaw(name):
        raise BadTerms(flaw)


def check_topics(patterns: Sequence[str]) -> None:
    """Raises BadTerms when a pattern is invalid or given twice."""
    for pattern in patterns:
        if flaw := pattern_flaw(pattern):
            raise BadTerms(f"--topics {pattern!r}: {flaw}")
    if len(set(patterns)) < len(patterns):
        raise BadTerms("--topics: a pattern is given twice")


def check_limits(limits: Limits) -> None:
    """Checks each limit by itself; None means not given. Raises BadTerms."""
    try:
        RouteBalance.model_validate({name: it for name, it in limits.items() if it is not None})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise BadTerms(f"{option(str(first['loc'][0]))}: {worded(first)}{found(first)}") from None


def check_carrier_bounds(limits: Limits, settings: BalanceSettings, route_name: str) -> None:
    """Checks that carriers_max is not below carriers_min. Raises BadTerms.

    A limit that is not given has the value of the route, or else of [balance].
    """
    of_route = settings.routes.get(route_name, RouteBalance())
    least, most = (
        next(
            number
            for number in (limits.get(name), getattr(of_route, name), getattr(settings, name))
            if number is not None
        )
        for name in ("carriers_min", "carriers_max")
    )
    if 0 < most < least:
        raise BadTerms(f"--carriers-max ({most}) must be --carriers-min ({least}) or more, or 0")


def option(limit: str) -> str:
    """Returns the command-line option of a limit."""
    return f"--{limit.replace('_', '-')}"


def records_about(order_log: OrderLog, route: str, name: str) -> list[AnyRecord]:
    """Returns the records about a stream other than its definition.

    They are its placement, its manual order, the balancer's answer and its hold.

    Args:
        route: key of the route (west.east).
    """
    kinds = (Placed, ByHand, Answer, Hold)
    return [
        record
        for _, record in sorted(order_log.records.items())
        if isinstance(record, kinds) and (record.route, record.stream) == (route, name)
    ]


def changed(
    stream: Stream,
    topics: Sequence[str],
    limits: Limits,
    unset: Iterable[str],
    *,
    why: str | None,
    who: str,
    at_ms: int,
) -> Stream:
    """Returns the stream with the given values set and the limits in `unset` removed."""
    update: dict[str, object] = {name: it for name, it in limits.items() if it is not None}
    update |= dict.fromkeys(unset)
    if topics:
        update["topics"] = tuple(topics)
    if why is not None:
        update["why"] = why
    return stream.model_copy(update={**update, "who": who, "at_ms": at_ms})
