"""Servers of one shard of a feed, as `sluice aggregate` connects to them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from replicator.clickhouse.errors import ClientSetup
from replicator.clickhouse.server import ClickHouse
from replicator.config.feed_settings import Feed
from replicator.config.security import read_secret


@dataclass(frozen=True, slots=True)
class ShardServers:
    """Servers of one shard of a feed, as the configuration names them."""

    feed: Feed
    number: int
    timeout_seconds: float

    def servers(self) -> list[ClickHouse]:
        """Returns the replicas in the order in which loaders try them."""
        shard = self.feed.shards[self.number]
        where = f"feeds.{self.feed.name}.shards[{self.number}]"
        return [
            ClickHouse(
                replace(address, database=shard.database),
                ClientSetup(f"{where}.replicas", f"{where}.password_file"),
                meanwhile="the state of its tables is unknown",
                password=read_secret(shard.password_file) if shard.password_file else "",
                ca_file=shard.ca_file,
                timeout_seconds=self.timeout_seconds,
            )
            for address in shard.replicas
        ]
