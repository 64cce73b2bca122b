"""Status of feeds, as a value that every reader (command, JSON, console) shows.

Unknown is None, never 0. A sum with an unknown part is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from aggregator.intents.intent import Intent
from aggregator.intents.table_range import TableRange
from aggregator.loader.reports import BUFFERING, FeedPartition, LoaderReport
from aggregator.upsert.query_mark import TickTime
from replicator.config.feed_settings import ClickHouseFeed, Feed
from replicator.kafka.client.loss import LossKind
from replicator.notices.condition import Condition
from replicator.orders.feed_orders import FeedOrders
from replicator.orders.order_records import Freeze, RefreshSchema, SkipReplay
from tui.facts.anomaly import Anomaly
from tui.facts.part import REPORT_FRESH_SECONDS
from tui.facts.totals import largest

SCHEMA_VERSION = 2
"""Schema version of the JSON of `sluice aggregate status`."""
NO_INTENT = "no intent"
"""Custody of a partition that no loader has adopted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """State of a table, as a replica of its shard describes it.

    Args:
        parts: active parts of the partition of the table that has most.
        window_blocks: blocks that the table recognizes when they are repeated; 0 for a table that
            recognizes none.
        window_seconds_max: time for which it recognizes them; None for any time.
        blocks_per_second: blocks inserted per second lately, by all loaders together.
        has_coordinates: its columns identify each row.
    """

    parts: int
    window_blocks: int
    window_seconds_max: float | None
    blocks_per_second: float
    has_coordinates: bool
    window_seconds: float | None = None
    """Time for which a block is recognized at the present rate; None for any time.

    Worked out, whatever is passed.
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "window_seconds", self._window_seconds())

    def _window_seconds(self) -> float | None:
        by_blocks = (
            self.window_blocks / self.blocks_per_second if self.blocks_per_second > 0 else None
        )
        if not self.window_blocks:
            return 0.0
        known = [limit for limit in (by_blocks, self.window_seconds_max) if limit]
        return min(known, default=None)


@dataclass(frozen=True, slots=True)
class FeedFacts:
    """Facts read about one feed; a fact that could not be read is None, or has no entry.

    Args:
        partitions: partitions that the feed loads, by cluster that listed its topics.
        ends: last stable offsets, read after the intents.
        stale_clusters: clusters whose intents and ends were read too long ago to tell the lag.
        tables: by number of the shard.
        claims: newest tick that may be read, by upsert table; of the servers that tell.
    """

    feed: Feed
    partitions: Mapping[str, Sequence[FeedPartition]]
    intents: Mapping[str, Mapping[FeedPartition, Intent]] = field(default_factory=dict)
    """Intents by cluster that answered."""
    ends: Mapping[FeedPartition, int] = field(default_factory=dict)
    stale_clusters: frozenset[str] = frozenset()
    reports: Mapping[FeedPartition, LoaderReport] | None = None
    tables: Mapping[int, Mapping[str, TableState] | None] = field(default_factory=dict)
    claims: Mapping[str, TickTime] = field(default_factory=dict)
    orders: FeedOrders | None = None
    conditions: tuple[Condition, ...] | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockView:
    """Block of a table that may have been sent: offsets begin..end-1.

    Args:
        age_seconds: since it was sealed.
        window_used: part of the table's deduplication window that has passed since; 1 or more means
            that only the coordinate columns recognize the block.
    """

    table: str
    begin: int
    end: int
    records: int
    age_seconds: float
    window_used: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedPartitionView:
    """State of one partition of a feed.

    Args:
        shard: number of the shard that its topic goes to; None where the feed has none.
        mode: replay, consume or parked.
        committed: offset of the intent: every record below it is loaded.
        lag_records: offsets that are not known to be loaded; on compacted or transactional topics
            not all of them are records.
        lag_seconds: age of the records loaded last, when they were stored.
        dead_letters: since the partition was adopted; None if the intent is unknown.
        blocks: None if the intent is unknown.
        custody: virgin, held, released, parked or "no intent"; None if it is not known.
        frozen: who froze it, and why; None when it is not frozen as a whole.
        open_objects: objects that no intent names yet; None for a feed into tables, or if unknown.
        open_seconds: time since the first record of the oldest of them was read.
        intent_age_seconds: age of the oldest block that may have been sent; None without one, or if
            the intent is unknown. Worked out, whatever is passed.
        window_used: largest part of a deduplication window that has passed; None if one is unknown.
            Worked out, whatever is passed.
    """

    cluster: str
    topic: str
    partition: int
    shard: int | None
    mode: str | None
    committed: int | None
    end: int | None
    lag_records: int | None
    lag_seconds: float | None
    buffered_bytes: int | None
    rows_per_second: float | None
    dead_letters: int | None
    loader: int | None
    blocks: tuple[BlockView, ...] | None
    custody: str | None
    parked: str | None
    frozen: str | None
    open_objects: int | None = None
    open_seconds: float | None = None
    intent_age_seconds: float | None = None
    window_used: float | None = None

    def __post_init__(self) -> None:
        blocks = self.blocks or ()
        age_seconds = max((block.age_seconds for block in blocks), default=None)
        object.__setattr__(self, "intent_age_seconds", age_seconds)
        object.__setattr__(self, "window_used", largest(block.window_used for block in blocks))

    @property
    def is_name_taken(self) -> bool:
        """True if the partition is parked, as another content has the name of its next object."""
        return LossKind.OBJECT_TAKEN.value in (self.parked or "")

    @property
    def parked_count(self) -> int | None:
        """1 when it is parked, else 0; None when neither intent nor loader tell."""
        if self.parked is not None:
            return 1
        return None if self.custody is None and self.mode is None else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TableView:
    """State of one table of a shard."""

    table: str
    state: TableState


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardView:
    """State of one shard; `tables` is None when no replica answered."""

    number: int
    database: str
    tables: tuple[TableView, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpsertTickView:
    """Newest tick of an upsert table of a feed, as a replica of its shard tells.

    Args:
        tick: that may be read; 0: none yet. None: nobody told.
        age_seconds: of that tick; None without one.
        frozen: who stopped its ticks, and why; None: nobody did, as a whole.
    """

    table: str
    tick: int | None
    age_seconds: float | None
    frozen: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedView:
    """State of one feed.

    Args:
        unknown_clusters: clusters that did not list their topics.
        orders: None when they could not be read.
        conditions: reasons why something is not loaded; None when they could not be read.
        findings: last ones of the region's verifier about this feed, the newest first; None when
            nobody asked.
        kind: of its store: clickhouse or s3.
        upsert_tables: `sluice upsert status` tells more of them.
    """

    feed: str
    region: str
    shards: tuple[ShardView, ...]
    partitions: tuple[FeedPartitionView, ...]
    unknown_clusters: tuple[str, ...]
    orders: tuple[Freeze | RefreshSchema | SkipReplay, ...] | None
    problems: tuple[str, ...]
    conditions: tuple[Condition, ...] | None = None
    findings: tuple[Anomaly, ...] | None = None
    kind: str = "clickhouse"
    upsert_tables: tuple[UpsertTickView, ...] = ()

    @property
    def is_of_objects(self) -> bool:
        """True for a feed into S3."""
        return self.kind == "s3"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedStatus:
    """State of the selected feeds at one time, in Unix seconds."""

    taken_at: float
    feeds: tuple[FeedView, ...]
    problems: tuple[str, ...] = ()
    """Problems of all feeds, each once; worked out, whatever is passed."""
    schema_version: int = SCHEMA_VERSION

    def __post_init__(self) -> None:
        found = dict.fromkeys(text for feed in self.feeds for text in feed.problems)
        object.__setattr__(self, "problems", tuple(found))


def feed_status(facts: Iterable[FeedFacts], now_ms: int) -> FeedStatus:
    """Builds the status from the facts of each feed."""
    return FeedStatus(
        taken_at=now_ms / 1000, feeds=tuple(feed_view(each, now_ms) for each in facts)
    )


def feed_view(facts: FeedFacts, now_ms: int) -> FeedView:
    """Builds the view of one feed."""
    feed, orders = facts.feed, facts.orders
    listed = [partition for some in facts.partitions.values() for partition in some]
    return FeedView(
        feed=feed.name,
        region=feed.region,
        shards=tuple(
            ShardView(
                number=number,
                database=shard.database,
                tables=_tables(facts.tables.get(number), _own_names(feed, number)),
            )
            for number, shard in enumerate(feed.shards)
        ),
        partitions=tuple(partition_view(partition, facts, now_ms) for partition in sorted(listed)),
        unknown_clusters=tuple(
            str(cluster) for cluster in feed.clusters if cluster not in facts.partitions
        ),
        orders=None if orders is None else (*orders.freezes, *orders.refreshes, *orders.skips),
        problems=facts.problems,
        conditions=facts.conditions,
        kind=feed.kind,
        upsert_tables=tuple(_upsert_tables(facts, now_ms)),
    )


def _upsert_tables(facts: FeedFacts, now_ms: int) -> Iterator[UpsertTickView]:
    for name in (each.name for each in facts.feed.upsert_tables):
        claim = facts.claims.get(name)
        freeze = next(
            (
                each
                for each in (facts.orders.freezes if facts.orders else ())
                if not each.is_over(now_ms)
                and (each.cluster, each.topic, each.partition) == (None, None, None)
                and each.table in (None, name)
            ),
            None,
        )
        yield UpsertTickView(
            table=name,
            tick=claim.tick if claim else None,
            age_seconds=max(0, now_ms - claim.time_ms) / 1000 if claim and claim.tick else None,
            frozen=f"by {freeze.who}: {freeze.why}" if freeze else None,
        )


def conditions_of(feed: Feed, conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Returns the conditions of a region that are about a feed, or about all of its feeds."""
    aggregator = f"aggregate {feed.region}"
    return tuple(
        each
        for each in conditions
        if each.feed == feed.name
        or (not each.feed and each.who == aggregator and each.cluster in ("", *feed.clusters))
    )


def partition_view(partition: FeedPartition, facts: FeedFacts, now_ms: int) -> FeedPartitionView:
    """Builds the view of one partition."""
    intent = facts.intents.get(partition.cluster, {}).get(partition)
    report = (facts.reports or {}).get(partition)
    if report is not None and now_ms - report.at_ms > REPORT_FRESH_SECONDS * 1000:
        report = None
    shard = facts.feed.shard_number(partition.topic)
    end = _source_end(partition, facts, report)
    parked = report.parked if report else None
    if intent is not None and intent.parked:
        parked = str(intent.parked)
    return FeedPartitionView(
        **partition._asdict(),
        shard=shard,
        mode=report.mode if report else None,
        committed=intent.offset if intent else None,
        end=end,
        lag_records=_lag_records(partition, facts, intent, report),
        lag_seconds=report.lag_seconds if report else None,
        buffered_bytes=report.buffered_bytes if report else None,
        rows_per_second=report.rows_per_second if report else None,
        dead_letters=intent.dead_letters if intent else None,
        loader=report.loader if report else None,
        blocks=_blocks(intent, report, facts.tables.get(-1 if shard is None else shard), now_ms),
        custody="parked" if parked else _custody(partition, facts, intent),
        parked=parked,
        frozen=_frozen(partition, facts.orders, now_ms),
        open_objects=report.open_objects if report else None,
        open_seconds=report.open_seconds if report else None,
    )


def _source_end(
    partition: FeedPartition, facts: FeedFacts, report: LoaderReport | None
) -> int | None:
    """Returns the last stable offset by whoever saw the source later: its log, or the loader."""
    seen = (facts.ends.get(partition), report.source_end if report else None)
    return max((end for end in seen if end is not None), default=None)


def _lag_records(
    partition: FeedPartition,
    facts: FeedFacts,
    intent: Intent | None,
    report: LoaderReport | None,
) -> int | None:
    """Returns the offsets that are not known to be loaded; None without a fresh word on both ends.

    The intent is the truth, and older than a fresh report.
    """
    end = _source_end(partition, facts, report)
    is_stale = partition.cluster in facts.stale_clusters
    if is_stale and (report is None or report.source_end is None):
        return None
    loaded_to = max((each.offset for each in (intent, report) if each is not None), default=None)
    return None if end is None or loaded_to is None else max(0, end - loaded_to)


def _custody(partition: FeedPartition, facts: FeedFacts, intent: Intent | None) -> str | None:
    if intent is not None:
        return intent.custody.value
    return NO_INTENT if partition.cluster in facts.intents else None


def _blocks(
    intent: Intent | None,
    report: LoaderReport | None,
    tables: Mapping[str, TableState] | None,
    now_ms: int,
) -> tuple[BlockView, ...] | None:
    if intent is None:
        return None
    return tuple(
        _block(table, block, (tables or {}).get(table), now_ms)
        for table, block in sorted(intent.blocks.items())
        if not _is_stored(table, block, report)
    )


def _is_stored(table: str, block: TableRange, report: LoaderReport | None) -> bool:
    """Returns True if a report that is newer than the block says that it is not being loaded.

    The intent names a block until the next intent is committed, which may take a minute.
    """
    if report is None or report.at_ms <= block.sealed_at_ms:
        return False
    state = report.tables.get(table)
    return state is None or state.state == BUFFERING


def _block(table: str, block: TableRange, state: TableState | None, now_ms: int) -> BlockView:
    age_seconds = max(0, now_ms - block.sealed_at_ms) / 1000
    used = None
    if state is not None:
        window = state.window_seconds
        used = 0.0 if window is None else age_seconds / window if window else 1.0
    return BlockView(
        table=table,
        begin=block.begin,
        end=block.end,
        records=block.records,
        age_seconds=age_seconds,
        window_used=used,
    )


def _own_names(feed: Feed, shard: int) -> frozenset[str]:
    """Returns the names of tables that upsert tables have for themselves: loaders load none."""
    return feed.upsert_names(shard) if isinstance(feed, ClickHouseFeed) else frozenset()


def _tables(
    states: Mapping[str, TableState] | None, own: frozenset[str]
) -> tuple[TableView, ...] | None:
    if states is None:
        return None
    return tuple(
        TableView(table=name, state=state)
        for name, state in sorted(states.items())
        if name not in own
    )


def _frozen(partition: FeedPartition, orders: FeedOrders | None, now_ms: int) -> str | None:
    freeze = orders.frozen(*partition, now_ms=now_ms) if orders else None
    return f"by {freeze.who}: {freeze.why}" if freeze else None
