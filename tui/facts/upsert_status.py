"""Status of upsert tables: their ticks, input partitions and servers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from tui.facts.part import each_once

if TYPE_CHECKING:
    from aggregator.upsert.claims import TickRow
    from aggregator.upsert.tick import Tick
    from replicator.config.feed_settings import ClickHouseFeed
    from replicator.config.upsert_table import UpsertTable
    from replicator.orders.feed_orders import FeedOrders

SCHEMA_VERSION = 1


class LogPlace(NamedTuple):
    """Partition of a topic, as its cluster lists it."""

    cluster: str
    topic: str
    topic_id: UUID
    partition: int


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """Answer of one server of a table's shard.

    Args:
        claim: newest one that it has; None: none.
        settled: newest settle point at which it was counted, at or behind the horizon.
        oldest: tick that may be read.
        is_whole: it had every part of the table that was committed when it was asked.
        unsettled: ends of rows behind its settle point.
        rows: stored, those that ended included.
        bytes: of all tables that keep the upsert table.
        horizon: that is published; 0: none.
    """

    claim: TickRow | None
    settled: TickRow | None
    oldest: int
    is_whole: bool
    unsettled: int
    rows: int
    bytes: int
    horizon: int = 0


@dataclass(frozen=True, slots=True)
class UpsertFacts:
    """Facts about one upsert table, as servers answered.

    Args:
        tick: newest one in the ledger; None: there is none, or nobody told.
        ends: of the logs, as far as their clusters tell.
        orders: about the feed; None: nobody told.
        servers: by address; None for one that did not answer.
    """

    feed: ClickHouseFeed
    table: UpsertTable
    tick: Tick | None
    is_tick_known: bool
    ends: Mapping[LogPlace, int]
    unknown_clusters: tuple[str, ...]
    orders: FeedOrders | None
    servers: Mapping[str, ServerAnswer | None]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UpsertPartitionView:
    """State of one input partition.

    Args:
        lane: number by which ticks and events name it; None: no tick has it yet.
        next_offset: first offset that no tick took.
        end: of the log.
        stopped: why no tick takes anything of it.
        frozen: who ordered that no tick takes anything of it, and why.
    """

    cluster: str
    topic: str
    partition: int
    lane: int | None
    next_offset: int | None
    end: int | None
    lag: int | None
    stopped: str | None = None
    frozen: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpsertServerView:
    """State of one server; None is what is not known.

    Args:
        claimed: newest tick of which the server knows that it may be read.
        settled: newest settle point at which it was counted.
        is_whole: it lacks no part that was committed.
    """

    server: str
    claimed: int | None = None
    settled: int | None = None
    is_whole: bool | None = None
    rows: int | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpsertTableView:
    """State of one upsert table; None is what is not known.

    Args:
        tick: newest one that is cut.
        claimed: newest one that may be read; `rows`, `events`, `expired` and `letters` are its.
        claimed_age_seconds: since the time of that tick.
        settled: newest settle point of all servers that answer.
        oldest: tick that may be read.
        unsettled_events: ends of rows that a query reads beside the rows.
        are_ends_lost: no server that answers has the ends of rows that queries need.
        lag: offsets that no tick took, of all partitions whose ends are known; None while a
            partition with records is in no tick yet.
        are_orders_known: partitions say whether they are frozen.
    """

    feed: str
    table: str
    database: str
    home: str
    generation: int | None
    tick: int | None
    claimed: int | None
    claimed_age_seconds: float | None
    rows: int | None
    events: int | None
    expired: int | None
    letters: int | None
    settled: int | None
    settled_age_seconds: float | None
    oldest: int | None
    unsettled_events: int | None
    are_ends_lost: bool
    lag: int | None
    are_orders_known: bool
    partitions: tuple[UpsertPartitionView, ...]
    servers: tuple[UpsertServerView, ...]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UpsertStatus:
    """State of the selected upsert tables at one time, in Unix seconds."""

    taken_at: float
    tables: tuple[UpsertTableView, ...]
    problems: tuple[str, ...] = field(init=False, default=())
    """Problems of all tables, each once."""
    schema_version: int = SCHEMA_VERSION

    def __post_init__(self) -> None:
        found = each_once(text for table in self.tables for text in table.problems)
        object.__setattr__(self, "problems", found)


def upsert_status(facts: Iterable[UpsertFacts], now_ms: int) -> UpsertStatus:
    """Builds the status from the facts of each table."""
    tables = tuple(table_view(each, now_ms) for each in facts)
    return UpsertStatus(taken_at=now_ms / 1000, tables=tables)


def table_view(facts: UpsertFacts, now_ms: int) -> UpsertTableView:
    """Builds the view of one table."""
    answers = [each for each in facts.servers.values() if each is not None]
    claim = max((each.claim for each in answers if each.claim), key=_tick, default=None)
    points = [each.settled for each in answers if each.settled is not None]
    # A server without a settle point has settled nothing.
    are_all = len(points) == len(answers)
    settled = min(points, key=_tick, default=None) if are_all else None
    partitions = tuple(sorted(_partitions(facts, now_ms), key=_place))
    lags = [each.lag for each in partitions if each.lag is not None]
    # Nobody told where the log of a partition begins that no tick has yet.
    are_begun = all(each.lane is not None or each.lag == 0 for each in partitions)
    is_lag_known = facts.is_tick_known and not facts.unknown_clusters and are_begun
    return UpsertTableView(
        feed=facts.feed.name,
        table=facts.table.name,
        database=facts.feed.shard_of_table(facts.table).database,
        home=str(facts.feed.home_of(facts.table)),
        generation=facts.tick.generation if facts.tick else None,
        tick=_known(facts.tick.number if facts.tick else 0, facts.is_tick_known),
        claimed=_known(claim.tick if claim else 0, bool(answers)),
        claimed_age_seconds=_age_seconds(claim, now_ms),
        rows=claim.rows if claim else None,
        events=claim.events if claim else None,
        expired=claim.expired if claim else None,
        letters=claim.letters if claim else None,
        settled=_known(settled.tick if settled else 0, bool(answers)),
        settled_age_seconds=_age_seconds(settled, now_ms),
        oldest=max((each.oldest for each in answers), default=None),
        unsettled_events=max((each.unsettled for each in answers), default=None),
        are_ends_lost=bool(answers)
        and all(each.settled is None and each.horizon > 0 for each in answers),
        lag=sum(lags) if is_lag_known else None,
        are_orders_known=facts.orders is not None,
        partitions=partitions,
        servers=tuple(_server(name, each) for name, each in facts.servers.items()),
        problems=facts.problems,
    )


def _partitions(facts: UpsertFacts, now_ms: int) -> Iterator[UpsertPartitionView]:
    """Yields the partitions of the newest tick, and those that the clusters have beside them."""
    tick = facts.tick
    stops = {stop.lane: stop for stop in tick.stops} if tick else {}
    seen = set()
    for number, lane in enumerate(tick.lanes if tick else ()):
        assert tick is not None
        place = LogPlace(*lane)
        seen.add(place)
        next_offset, end = tick.ranges[number].end, facts.ends.get(place)
        stop = stops.get(number)
        yield UpsertPartitionView(
            cluster=lane.cluster,
            topic=lane.topic,
            partition=lane.partition,
            lane=number,
            next_offset=next_offset,
            end=end,
            lag=None if end is None else max(0, end - next_offset),
            stopped=None if stop is None else str(stop.loss),
            frozen=_frozen(facts, place, now_ms),
        )
    for place, end in facts.ends.items():
        if place not in seen:
            yield UpsertPartitionView(
                cluster=place.cluster,
                topic=place.topic,
                partition=place.partition,
                lane=None,
                next_offset=None,
                end=end,
                lag=None if end else 0,
                frozen=_frozen(facts, place, now_ms),
            )


def _frozen(facts: UpsertFacts, place: LogPlace, now_ms: int) -> str | None:
    freeze = facts.orders and facts.orders.frozen(
        place.cluster, place.topic, place.partition, facts.table.name, now_ms=now_ms
    )
    return f"by {freeze.who}: {freeze.why}" if freeze else None


def _server(name: str, answer: ServerAnswer | None) -> UpsertServerView:
    if answer is None:
        return UpsertServerView(server=name)
    return UpsertServerView(
        server=name,
        claimed=answer.claim.tick if answer.claim else 0,
        settled=answer.settled.tick if answer.settled else 0,
        is_whole=answer.is_whole,
        rows=answer.rows,
        bytes=answer.bytes,
    )


def _place(partition: UpsertPartitionView) -> tuple[str, str, int, int]:
    lane = -1 if partition.lane is None else partition.lane
    return partition.cluster, partition.topic, partition.partition, lane


def _tick(row: TickRow) -> int:
    return row.tick


def _known(value: int, is_known: bool) -> int | None:
    return value if is_known else None


def _age_seconds(row: TickRow | None, now_ms: int) -> float | None:
    return None if row is None else max(0, now_ms - row.time_ms) / 1000
