"""Schema findings: schemas of a feed by which records cannot be loaded. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from aggregator.formats.avro_schema import UnsupportedSchema, avro_type
from aggregator.formats.proto_messages import NoMessage, ProtoMessages
from replicator.config.feed_settings import ClickHouseFeed
from replicator.config.schema_folder import SchemaFolder
from tui.facts.feed_findings import Finding, ShardFacts


def schema_findings(facts: ShardFacts) -> Iterator[Finding]:
    """Yields the findings about the schemas for the tables of one shard."""
    feed = facts.feed
    if feed.schemas is None:
        return
    if feed.format == "avro":
        yield from _of_avro(feed, feed.schemas)
    elif feed.format == "protobuf":
        yield from _of_protobuf(facts, feed.schemas)


def _of_avro(feed: ClickHouseFeed, folder: SchemaFolder) -> Iterator[Finding]:
    for name, text in folder.files.items():
        try:
            avro_type(text)
        except UnsupportedSchema as error:
            yield Finding(f"feeds.{feed.name}.schemas", f"{name}: {error}")


def _of_protobuf(facts: ShardFacts, folder: SchemaFolder) -> Iterator[Finding]:
    messages = ProtoMessages(folder)
    # Otherwise they are all tables of the database, which other feeds may load.
    is_loaded = facts.feed.table_from == "topic" and facts.topics is not None
    for table in facts.tables:
        try:
            messages.of_table(table)
        except NoMessage as error:
            where = f"{facts.shard.database}.{table}"
            yield Finding(where, str(error), is_mistake=is_loaded)
