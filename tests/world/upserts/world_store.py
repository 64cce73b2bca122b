"""Store of the world that is played now, for parts of the product that make their own."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from aggregator.store.shard_store import ShardStore
from aggregator.upsert import row_task
from replicator.config.feed_settings import ClickHouseFeed
from replicator.config.upsert_table import UpsertTable
from tests.world.sinks.client import clickhouse_of
from tests.world.sinks.server import Server

PLAYED: dict[str, Any] = {}


def begin(servers: Mapping[str, Server], seed: int) -> None:
    """Leads all stores that are made from now on to some servers."""
    PLAYED.update(servers=servers, dice=random.Random(f"{seed} spark"), began={})


def began_at(checkpoint: Path) -> float:
    """Returns the time at which a checkpoint's state was read from the store; 0: not yet."""
    found: float = PLAYED["began"].get(checkpoint, 0.0)
    return found


def dice() -> random.Random:
    found: random.Random = PLAYED["dice"]
    return found


def make_store(*args: Any, **more: Any) -> ShardStore:
    """Returns a store whose servers are those of this world."""
    return ShardStore(*args, make_server=clickhouse_of(PLAYED["servers"]), **more)


def store_of(feed: ClickHouseFeed, table: UpsertTable, **more: Any) -> ShardStore:
    """Returns the shard of a table, in this world."""
    return _store_of(feed, table, **more, make=make_store)


_store_of = partial(row_task.store_of)
