"""Settings of a [feeds.<name>] table of any kind: the kind says which keys it has."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Discriminator, Tag

from replicator.config.feed_settings import ClickHouseFeed
from replicator.config.mistakes import KIND
from replicator.config.object_feed import ObjectFeed


def _kind_of(table: Any) -> str:
    """Returns the tag of a feed's kind."""
    default = "clickhouse"
    is_table = isinstance(table, Mapping)
    kind = table.get("kind", default) if is_table else getattr(table, "kind", default)
    return f"{KIND}{kind}"


AnyFeed = Annotated[
    Annotated[ClickHouseFeed, Tag(f"{KIND}clickhouse")] | Annotated[ObjectFeed, Tag(f"{KIND}s3")],
    Discriminator(_kind_of),
]
