"""Findings of `sluice aggregate check` about upsert tables: types of their columns, their topics,
and what was loaded by append before. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from aggregator.tables.column_type import UnsupportedType, column_type
from aggregator.upsert.upsert_schema import store_tables
from tui.facts.feed_findings import Finding

if TYPE_CHECKING:
    from aggregator.intents.intent import Intent
    from aggregator.loader.reports import FeedPartition
    from aggregator.upsert.table_creation import TableCreation
    from replicator.config.feed_settings import Feed
    from replicator.config.upsert_table import UpsertTable


def where(feed: Feed, table: UpsertTable) -> str:
    """Returns the path of a table in the configuration."""
    return f"feeds.{feed.name}.tables.{table.name}"


def type_findings(feed: Feed) -> Iterator[Finding]:
    """Yields the columns of upsert tables whose types cannot be loaded. No server is needed."""
    for table in feed.upsert_tables:
        for name, kind in table.columns.items():
            try:
                column_type(kind)
            except UnsupportedType as error:
                yield Finding(f"{where(feed, table)}.columns.{name}", str(error))


def topic_findings(feed: Feed, topics: Iterable[str] | None) -> Iterator[Finding]:
    """Yields what is wrong with the topics of a feed's upsert tables.

    Args:
        topics: names of all topics of its clusters; None if a cluster did not list its own.
    """
    tables = feed.upsert_tables
    listed = sorted(topics or ())
    for table in tables:
        if topics is not None and not any(feed.upsert_table(each) == table for each in listed):
            text = "no cluster has a topic of it"
            yield Finding(where(feed, table), text, is_mistake=False)
    for topic in listed:
        takers = [table for table in tables if table.takes(topic)]
        if len(takers) > 1 and feed.upsert_table(topic) is not None:
            names = ", ".join(table.name for table in takers[1:])
            text = f"has the topic {topic}, whose records {names} would have as well: narrow one"
            yield Finding(where(feed, takers[0]), text)
        for table in tables:
            if topic in table.store_names and feed.takes(topic):
                text = (
                    f"loaders load the topic {topic} into a table of its name: name one otherwise"
                )
                yield Finding(where(feed, table), text)


def resting_findings(feed: Feed, intents: Mapping[FeedPartition, Intent]) -> Iterator[Finding]:
    """Yields the topics of upsert tables that were loaded by append before.

    Args:
        intents: of partitions of these topics; the feed's loaders have left them.
    """
    for topic in sorted({each.topic for each in intents}):
        table = feed.upsert_table(topic)
        if table is None:
            continue
        own = [intent for each, intent in intents.items() if each.topic == topic]
        text = (
            f"the topic {topic} was appended to a table before: {_counted(len(own), 'intent')} "
            "of it rest, until they expire, and no loader renews them"
        )
        blocks = sum(len(intent.blocks) for intent in own)
        if blocks:
            text += (
                f". {_counted(blocks, 'block')} may not be stored there, and nobody sends them "
                "again: take the upsert table out, let the loaders catch up, freeze the topic, "
                "and put the table back"
            )
        yield Finding(where(feed, table), text, is_mistake=bool(blocks))


def store_findings(
    table: UpsertTable,
    database: str,
    servers: Iterable[str],
    look: TableCreation,
    silent: Collection[str],
) -> Iterator[Finding]:
    """Yields how the store's tables of an upsert table differ from its settings.

    Args:
        servers: all of the table's shard.
        look: result of a creation that changed nothing.
        silent: servers of which it is known that they do not answer.
    """
    for each in look.mistakes:
        place = f"{database}.{each.table}" if each.table else each.server
        yield Finding(place, f"{each.text} (on {each.server})" if each.table else each.text)
    for each in look.failures:
        if each.server not in silent:
            yield Finding(
                each.server, f"the tables of {table.name} cannot be looked at: {each.text}"
            )
    for each in look.abandoned:
        yield Finding(f"{database}.{each.table}", each.text, is_mistake=False)
    is_known = {(each.server, each.table) for each in look.mistakes} | set(look.present)
    is_unseen = {each.server for each in (*look.failures, *look.mistakes) if not each.table}
    names = (*(each.name for each in store_tables(table)), table.name)
    for server in servers:
        missing = [name for name in names if (server, name) not in is_known]
        if missing and server not in is_unseen:
            verb = "is" if len(missing) == 1 else "are"
            text = f"{', '.join(missing)} of {database} {verb} missing, or of other settings"
            yield Finding(server, f"{text}: run `sluice upsert create`")


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
