"""What a stream may be called, which topics and limits it may have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pydantic import ValidationError

from replicator.config.balance_settings import BalanceSettings, RouteBalance
from replicator.config.mistakes import found, worded
from replicator.placements.book import Book
from replicator.placements.flaws import name_flaw, pattern_flaw
from replicator.placements.records import (
    Answer,
    AnyRecord,
    ByHand,
    Hold,
    Placed,
    Stream,
)

LIMITS = tuple(RouteBalance.model_fields)
"""Their names: as in [balance.routes], and as a stream has them."""
Limits = Mapping[str, float | int | None]


class BadTerms(ValueError):
    """A stream cannot be so; the text says what is wrong."""


class StreamExists(Exception):
    """The route has a stream of that name: change it, or take another name."""


def check_name(name: str) -> None:
    """Raises BadTerms."""
    if wrong := name_flaw(name):
        raise BadTerms(wrong)


def check_topics(patterns: Sequence[str]) -> None:
    """Raises BadTerms."""
    for pattern in patterns:
        if wrong := pattern_flaw(pattern):
            raise BadTerms(f"--topics {pattern!r}: {wrong}")
    if len(set(patterns)) < len(patterns):
        raise BadTerms("--topics: a pattern is given twice")


def check_limits(limits: Limits) -> None:
    """Each by itself; None is not given. Raises BadTerms."""
    try:
        RouteBalance.model_validate({name: it for name, it in limits.items() if it is not None})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise BadTerms(f"{option(str(first['loc'][0]))}: {worded(first)}{found(first)}") from None


def check_together(limits: Limits, settings: BalanceSettings, route_name: str) -> None:
    """With what the route and all have for what is not given. Raises BadTerms."""
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
    """How the command line calls it."""
    return f"--{limit.replace('_', '-')}"


def limits_of(stream: Stream) -> dict[str, float | int]:
    """Those that it has of its own."""
    found = {name: getattr(stream, name) for name in LIMITS}
    return {name: it for name, it in found.items() if it is not None}


def leftovers(book: Book, route: str, name: str) -> list[AnyRecord]:
    """What is said of a stream beside what it is: its placement, and orders about it.

    Args:
        route: its key.
    """
    kinds = (Placed, ByHand, Answer, Hold)
    return [
        record
        for _, record in sorted(book.records.items())
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
    """The stream with what is given; the rest stays."""
    update: dict[str, object] = {name: it for name, it in limits.items() if it is not None}
    update |= dict.fromkeys(unset)
    if topics:
        update["topics"] = tuple(topics)
    if why is not None:
        update["why"] = why
    return stream.model_copy(update={**update, "who": who, "at_ms": at_ms})
