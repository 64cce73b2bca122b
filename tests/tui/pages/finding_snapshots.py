"""Snapshot with alerts in every state, and a feed with everything that can be on its page."""

from __future__ import annotations

from dataclasses import replace

from replicator.notices.condition import Condition
from replicator.orders.order_records import Freeze
from tests.tui.console.snapshots import MINUTE_MS, NOW_MS, alerts, feed, lagging
from tests.tui.facts.test_anomaly import anomaly
from tui.facts.alert import Alert, AlertState, Level
from tui.facts.feed_status import BlockView, FeedView, ShardView
from tui.facts.snapshot import Snapshot

PARKED = Alert(
    key="parked/ticks/west aggregate/orders/",
    region="west",
    level=Level.PAGE,
    state=AlertState.OPEN,
    kind="parked",
    text="parked: feed ticks orders-1: a record is too large",
    since_ms=NOW_MS - 3 * MINUTE_MS,
    about=("feed ticks",),
    feed="ticks",
    cluster="west aggregate",
    topic="orders",
    partition=1,
    rows=("orders-1: a record is too large",),
    command=(
        *("aggregate", "accept-loss", "--feed", "ticks", "--cluster", "west aggregate"),
        *("--topic", "orders", "--partition", "1"),
    ),
)
SILENCED = replace(
    PARKED,
    key="copies/west",
    state=AlertState.SILENCED,
    kind="copies",
    text="copies in west are 90 s old",
    about=("west",),
    feed=None,
    who="bob@ops",
    why="moving",
    until_ms=NOW_MS + 30 * MINUTE_MS,
    rows=(),
    command=("offsets", "show", "--region", "west"),
)
RESOLVED = replace(
    SILENCED,
    key="server/west regional",
    state=AlertState.RESOLVED,
    kind="server",
    text="west regional does not answer: connection refused",
    who=None,
    why=None,
    until_ms=None,
    ended_ms=NOW_MS - MINUTE_MS,
    command=(),
)
OLD = BlockView(table="o", begin=100, end=500, records=400, age_seconds=400.0, window_used=0.7)


def busy_feed() -> FeedView:
    """Returns a feed with blocks, a freeze, a shard that is away, conditions, and verdicts."""
    found = feed()
    loaded, stuck = found.partitions
    (finding,) = anomaly().findings
    accepted = replace(finding, kind="loss", weight="accepted", text="accepted by bob@ops")
    return replace(
        found,
        shards=(*found.shards, ShardView(number=1, database="ticks", tables=None)),
        partitions=(
            replace(loaded, blocks=(OLD,), mode="replay", lag_seconds=90.0),
            stuck,
            replace(loaded, partition=2, frozen="by ann@ops: merge"),
            replace(loaded, partition=3, mode=None, lag_records=None, blocks=None),
            replace(loaded, partition=4),
        ),
        orders=(Freeze(route="ticks", at_ms=1, who="ann@ops", why="merge", topic="orders"),),
        conditions=(
            Condition(
                kind="waiting",
                who="loader 1 of ticks in west aggregate",
                text="no intent yet",
                since_ms=NOW_MS,
                feed="ticks",
                cluster="west aggregate",
                topic="orders",
                partition=4,
            ),
        ),
        findings=(
            anomaly(of="feed ticks", topic="orders", at_ms=NOW_MS - MINUTE_MS),
            replace(anomaly(at_ms=NOW_MS - 9 * MINUTE_MS), findings=(accepted,)),
        ),
        problems=("ticks shard 1: no answer",),
    )


def findings() -> Snapshot:
    """Returns a snapshot with all of these."""
    return replace(lagging(), alerts=(PARKED, *alerts(), SILENCED, RESOLVED), feeds=(busy_feed(),))
