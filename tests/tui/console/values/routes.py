"""Routes, topics and partitions: carried, behind, parked, unknown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tests.tui.console.values.times import REFUSED
from tui.facts.health import Health
from tui.facts.route_summary import topic_totals
from tui.facts.route_view import PartitionView, RouteView, TopicView
from tui.facts.totals import largest, total

PARKED = "parked: retention passed 1,196,301 to 1,198,112"
ROUTES = (("west", "east"), ("east", "west"), ("east", "east"), ("west", "west"))


def partition(topic: str, number: int, lag: int = 2) -> PartitionView:
    """Returns a partition that is carried; BEHIND with a lag of more than 1,000."""
    is_behind = lag > 1000
    end = 1_201_220 + number * 17
    return PartitionView(
        topic=topic,
        partition=number,
        source_end=end,
        mirrored_to=end - lag,
        lag_records=lag,
        lag_seconds=lag / 800.0,
        records_per_second=1210.0,
        bytes_per_second=141_000.0,
        carrier=number % 4,
        host=f"repl-{'abcd'[number % 4]}",
        custody="held",
        parked=None,
        source_high=end,
        written_lag_records=lag,
        written_lag_seconds=lag / 800.0,
        state=Health.BEHIND if is_behind else Health.OK,
        why=f"carrier {number % 4} has 0.97 of its time; orders-17 alone 0.84: add partitions"
        if is_behind
        else "",
        lag_per_second=-230.0 if is_behind else 0.0,
        drain_seconds=lag / 230.0 if is_behind else 0.0,
    )


def parked(topic: str, number: int) -> PartitionView:
    """Returns a parked partition."""
    return replace(
        partition(topic, number, lag=8697),
        custody="parked",
        parked=PARKED,
        state=Health.PARKED,
        why=f"{PARKED}; sluice accept-loss --route east>west --topic {topic}",
        lag_seconds=None,
        lag_per_second=None,
        drain_seconds=None,
        carrier=None,
        host=None,
        records_per_second=0.0,
        bytes_per_second=0.0,
    )


def unknown(topic: str, number: int) -> PartitionView:
    """Returns a partition of which only the entry is known."""
    return PartitionView(
        topic=topic,
        partition=number,
        source_end=None,
        mirrored_to=1_196_301,
        lag_records=None,
        lag_seconds=None,
        records_per_second=None,
        bytes_per_second=None,
        carrier=None,
        host=None,
        custody="held",
        parked=None,
        why=f"west regional does not answer: {REFUSED}, since 14:01:10",
    )


def topic(name: str, partitions: tuple[PartitionView, ...]) -> TopicView:
    """Returns a topic with the worst state of its partitions."""
    order = list(Health)
    worst = min(partitions, key=lambda each: order.index(each.state))
    return TopicView(
        topic=name,
        states=("mirrored",),
        notes=(),
        partitions=partitions,
        state=worst.state,
        why=worst.why,
        **topic_totals(partitions),
    )


def with_partitions(topic: TopicView, partitions: Iterable[PartitionView]) -> TopicView:
    """Returns a topic with other partitions, and their totals."""
    found = tuple(partitions)
    return replace(topic, partitions=found, **topic_totals(found))


def route(source: str, target: str, topics: tuple[TopicView, ...]) -> RouteView:
    """Returns a route with the totals of its topics."""
    found = [each for one in topics for each in one.partitions]
    order = list(Health)
    worst = min(topics, key=lambda each: order.index(each.state))
    lag = total(each.lag_records for each in found)
    rate = total(each.records_per_second for each in found)
    history = tuple(float(minute % 7) * (lag or 0) / 6 for minute in range(60))
    return RouteView(
        route=f"{source}>{target}",
        source=source,
        target=target,
        topics=topics,
        denied_topics=1,
        problems=(),
        state=worst.state,
        why=worst.why,
        lag_records=lag,
        lag_seconds=largest(each.lag_seconds for each in found),
        records_per_second=rate,
        bytes_per_second=total(each.bytes_per_second for each in found),
        parked_partitions=sum(one.parked_partitions for one in topics),
        lag_history=history,
        rate_history=tuple((rate or 0.0) * (0.5 + minute / 120) for minute in range(60)),
    )


def topics(count: int = 4) -> tuple[TopicView, ...]:
    """Returns small topics that are carried."""
    return tuple(
        topic(name, tuple(partition(name, number) for number in range(count)))
        for name in ("clicks", "orders", "trades")
    )
