"""Output of `sluice stream list`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from balancer.plan import TopicPartition
from replicator.config.topology import Route
from replicator.orders.active_plan import ActivePlan
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import DEFAULT_STREAM, Stream
from tui.actions.order_checks import carried_on, carriers_of
from tui.actions.durations import instant
from tui.cli.views.order_view import SCHEMA_VERSION
from tui.cli.output import table
from tui.actions.stream_terms import limits_of

TOPICS_SHOWN_MAX = 3
NONE = "-"
HEADS = ("ROUTE", "STREAM", "TOPICS", "MATCHING", "PARTITIONS", "CARRIERS", "LIMITS", "WHO", "WHY")


@dataclass(frozen=True, slots=True)
class StreamRow:
    """Row of one stream.

    Args:
        stream: None for the route's default stream.
        partitions: number of partitions of each topic that belongs to the stream now; None when
            not known.
        carriers: numbers of its carriers; empty when it has none, or they are not known.
    """

    route: Route
    stream: Stream | None
    partitions: Mapping[str, int] | None
    carriers: tuple[int, ...] = field(default=())

    @property
    def name(self) -> str:
        return self.stream.name if self.stream else DEFAULT_STREAM


def rows(
    routes: tuple[Route, ...], book: OrderLog, in_force: ActivePlan | None, now_ms: int
) -> Iterator[StreamRow]:
    """Yields a row for each stream, in the order of routes.

    Each route's default stream comes last: it has the topics that match no other stream.
    """
    for route in routes:
        carried = None if in_force is None else carried_on(in_force, route.key)
        belongs = _by_stream(book, route, carried or set(), now_ms)
        for stream in (*book.streams(route.key, now_ms), None):
            name = stream.name if stream else DEFAULT_STREAM
            yield StreamRow(
                route,
                stream,
                None if carried is None else belongs.get(name, {}),
                carriers_of(book, in_force, route.key, name, now_ms),
            )


def as_values(region: str, found: list[StreamRow]) -> dict[str, Any]:
    """Returns plain values for JSON and YAML; unknown values are null."""
    return {
        "schema_version": SCHEMA_VERSION,
        "region": region,
        "streams": [
            {
                "route": row.route.name,
                "stream": row.name,
                "topics": list(row.stream.topics) if row.stream else None,
                "is_paused": row.stream is not None and row.stream.is_paused,
                "first_carrier": row.stream.first_carrier if row.stream else 0,
                "carriers": list(row.carriers),
                "limits": limits_of(row.stream) if row.stream else {},
                "matching": None if row.partitions is None else dict(row.partitions),
                "who": row.stream.who if row.stream else None,
                "why": row.stream.why if row.stream else None,
                "at": instant(row.stream.at_ms) if row.stream else None,
            }
            for row in found
        ],
    }


def as_text(found: list[StreamRow]) -> str:
    """Formats the streams as a table for people."""
    return table(HEADS, [_row(each) for each in found])


def matching_words(partitions: Mapping[str, int]) -> str:
    """Returns the first TOPICS_SHOWN_MAX topics by name, and the number of further ones."""
    names = sorted(partitions)
    more = len(names) - TOPICS_SHOWN_MAX
    shown = " ".join(names[:TOPICS_SHOWN_MAX]) or NONE
    return f"{shown} and {more} more" if more > 0 else shown


def _row(row: StreamRow) -> tuple[Any, ...]:
    known, stream = row.partitions, row.stream
    matching = None if known is None else matching_words(known)
    count = None if known is None else sum(known.values())
    carriers = _ranges(row.carriers) or NONE
    if stream is None:
        return row.route.name, row.name, "all others", matching, count, carriers, NONE, NONE, NONE
    return (
        row.route.name,
        f"{row.name} (paused)" if stream.is_paused else row.name,
        " ".join(stream.topics),
        matching,
        count,
        carriers,
        " ".join(f"{name}={it:g}" for name, it in limits_of(stream).items()) or NONE,
        stream.who,
        stream.why,
    )


def _by_stream(
    book: OrderLog, route: Route, carried: set[TopicPartition], now_ms: int
) -> dict[str, dict[str, int]]:
    stream_of = book.streams_of(route.key, (each.topic for each in carried), now_ms)
    found: dict[str, dict[str, int]] = {}
    for each in sorted(carried):
        topics = found.setdefault(stream_of[each.topic], {})
        topics[each.topic] = topics.get(each.topic, 0) + 1
    return found


def _ranges(numbers: tuple[int, ...]) -> str:
    """Formats 0, 1, 2 and 5 as "0-2 5"."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return " ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
