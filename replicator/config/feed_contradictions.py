"""Contradictions between feeds, and between feeds and the rest of a file, such as records that
would be loaded twice."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import (
    FEED_NAME_CHARACTERS_MAX,
    OWN_TOPIC_PREFIXES,
    AggregatorSettings,
    ClickHouseFeed,
    Feed,
)
from replicator.config.object_feed import OPEN_PART, ObjectFeed
from replicator.config.topic_patterns import is_taken, topic_of

FEED_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
REGION_OF_FEED_GROUPS = "feed"
"""Region whose ledger groups, sluice.feed.<target>.<n>, would be named like groups of a feed."""

Sources = Mapping[ClusterName, Collection[ClusterName]]
"""Aggregate cluster -> regional clusters that feed it by a route."""


@dataclass(frozen=True, slots=True)
class _Shard:
    """Topics of a [[feeds.<name>.shards]] table and their places, or those of a feed into objects,
    which is one shard. Topics of upsert tables are denied: they are in tables of other names."""

    where: str
    topics: tuple[str, ...]
    deny: frozenset[str]
    places: frozenset[tuple[str | int, ...]]
    """(host, port, database) of the replicas, or (endpoint, bucket, prefix) of the clusters."""
    is_bucket: bool


def feed_contradictions(
    feeds: Mapping[str, Feed],
    aggregator: AggregatorSettings,
    regions: Collection[str],
    sources: Sources,
) -> Iterator[tuple[str, str]]:
    """Yields (path, what is wrong) between feeds, and between feeds and the rest of a file."""
    if feeds and REGION_OF_FEED_GROUPS in regions:
        text = "this name is taken by the groups of feeds, sluice.feed.*; name the region otherwise"
        yield f"regions.{REGION_OF_FEED_GROUPS}", text
    shards = {name: _shards_of(f"feeds.{name}", feed) for name, feed in feeds.items()}
    for name, feed in feeds.items():
        where = f"feeds.{name}"
        if flaw := name_flaw(name):
            yield where, flaw
        if feed.region not in regions:
            yield f"{where}.region", f"no region {feed.region!r}; known: {_listed(regions)}"
        yield from _beyond_the_aggregator(where, feed, aggregator)
        yield from _clusters(where, feed.clusters, regions, sources)
        yield from _topics(shards[name])
    for one, other in combinations(feeds, 2):
        reason = _reason(feeds[one], feeds[other], sources)
        for before, shard in product(shards[one], shards[other]):
            yield from _loaded_by_both(before, shard, reason)
        yield from _tables_of_both(feeds[one], feeds[other], shards)


def name_flaw(name: str) -> str | None:
    """Returns the flaw of a feed's name, or None."""
    if not FEED_NAME.fullmatch(name):
        return "a feed's name is lower-case letters, digits and -"
    if len(name) > FEED_NAME_CHARACTERS_MAX:
        return f"a feed's name has at most {FEED_NAME_CHARACTERS_MAX} characters"
    return None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _shards_of(where: str, feed: Feed) -> tuple[_Shard, ...]:
    if isinstance(feed, ObjectFeed):
        at = (feed.endpoint or "", feed.bucket)
        prefixes = frozenset((*at, feed.prefix_of(cluster)) for cluster in feed.clusters)
        return (_Shard(where, feed.topics, frozenset(feed.deny), prefixes, is_bucket=True),)
    return tuple(
        _Shard(
            f"{where}.shards[{number}]",
            shard.topics,
            frozenset(pattern for table in feed.upsert_tables for pattern in table.patterns),
            frozenset((each.host, each.port, shard.database) for each in shard.replicas),
            is_bucket=False,
        )
        for number, shard in enumerate(feed.shards)
    )


def _beyond_the_aggregator(
    where: str, feed: Feed, aggregator: AggregatorSettings
) -> Iterator[tuple[str, str]]:
    memory_mib, stale_seconds = aggregator.memory_mib, aggregator.stale_seconds
    if isinstance(feed, ObjectFeed) and feed.part_mib > (most := OPEN_PART * memory_mib):
        text = f"must be {most:g} or less: open objects have half of aggregator.memory_mib"
        yield f"{where}.part_mib", text
    if not isinstance(feed, ClickHouseFeed):
        return
    if feed.block_mib > memory_mib:
        yield f"{where}.block_mib", f"must be aggregator.memory_mib ({memory_mib:g}) or less"
    if feed.reference_seconds >= stale_seconds:
        text = f"must be below aggregator.stale_seconds ({stale_seconds:g})"
        yield f"{where}.reference_seconds", text


def _clusters(
    where: str, clusters: Sequence[ClusterName], regions: Collection[str], sources: Sources
) -> Iterator[tuple[str, str]]:
    for number, name in enumerate(clusters):
        if name.region not in regions:
            text = f"no region {name.region!r} in {str(name)!r}; known: {_listed(regions)}"
            yield f"{where}.clusters[{number}]", text
    for one, (number, other) in combinations(enumerate(clusters), 2):
        if reason := same_records(one[1], other, sources):
            yield f"{where}.clusters[{number}]", f"brings records twice: {reason}"


def _topics(shards: Iterable[_Shard]) -> Iterator[tuple[str, str]]:
    earlier: list[tuple[int, str]] = []
    for number, shard in enumerate(shards):
        for at, pattern in enumerate(shard.topics):
            where = f"{shard.where}.topics[{at}]"
            if pattern.replace("\\", "").startswith(OWN_TOPIC_PREFIXES):
                yield where, f"{pattern!r} means topics of Kafka or Sluice, which no feed loads"
            taken = [owner for owner, before in earlier if is_taken(pattern, before)]
            if taken:
                yield where, f"shards[{taken[0]}] has the topics of {pattern!r} already"
        earlier += [(number, pattern) for pattern in shard.topics]


def _reason(one: Feed, other: Feed, sources: Sources) -> str | None:
    """Returns how two feeds come to read the same records; None if they do not."""
    pairs = product(one.clusters, other.clusters)
    return next(filter(None, (same_records(*pair, sources) for pair in pairs)), None)


def _loaded_by_both(before: _Shard, shard: _Shard, reason: str | None) -> Iterator[tuple[str, str]]:
    if not before.places & shard.places:
        return
    for at, pattern in enumerate(shard.topics):
        if not _have_in_common(pattern, before, shard):
            continue
        if shard.is_bucket:
            text = (
                f"{before.where} writes {pattern!r} below the same prefix, where objects of "
                "both would have the same names"
            )
            yield f"{shard.where}.topics[{at}]", text
        elif reason is not None:
            text = (
                f"{before.where} loads {pattern!r} into the same database, where each "
                f"record would be twice: {reason}"
            )
            yield f"{shard.where}.topics[{at}]", text


def _tables_of_both(
    one: Feed, other: Feed, shards: Mapping[str, tuple[_Shard, ...]]
) -> Iterator[tuple[str, str]]:
    """Yields the upsert tables of two feeds that are one table of the store, and those of either
    that a topic of the other one names."""
    pairs = ((one, other), (other, one))
    for feed, beside in pairs:
        if not isinstance(feed, ClickHouseFeed) or not isinstance(beside, ClickHouseFeed):
            return
        for table in feed.upsert_tables:
            own = shards[feed.name][feed.shard_number_of(table)]
            where = f"feeds.{feed.name}.tables.{table.name}"
            same = beside.tables.get(table.name)
            if same is not None and same.is_upsert:
                theirs = shards[beside.name][beside.shard_number_of(same)]
                if feed is other and own.places & theirs.places:
                    text = f"feeds.{beside.name} keeps a table of this name in the same database"
                    yield where, f"{text}; name yours otherwise"
                continue
            if beside.table_from == "header" and any(
                own.places & each.places for each in shards[beside.name]
            ):
                text = f"records of feeds.{beside.name} name their tables in the same database, "
                yield where, text + f"and could name {table.name}__rows; use another database"
            for loaded in shards[beside.name]:
                named = table.name in map(topic_of, loaded.topics)
                if named and beside.takes(table.name) and own.places & loaded.places:
                    text = (
                        f"{loaded.where} loads the topic {table.name!r} into a table of this name"
                    )
                    yield where, f"{text} in the same database; name yours otherwise"


def same_records(one: ClusterName, other: ClusterName, sources: Sources) -> str | None:
    """Returns how two clusters come to hold the same records; None if they do not."""
    if one == other:
        return f"both are {one}"
    if one.role == other.role == "aggregate":
        return f"{one} and {other} hold the same records"
    for aggregate, regional in ((one, other), (other, one)):
        if regional in sources.get(aggregate, ()):
            return f"{regional} feeds {aggregate}"
    return None


def _have_in_common(pattern: str, one: _Shard, other: _Shard) -> bool:
    """Returns True if both shards take a topic for certain.

    Args:
        pattern: of the other one.
    """
    denied = one.deny | other.deny
    # Of two lists that differ, each may deny all that the other one leaves.
    is_nested = one.deny <= other.deny or other.deny <= one.deny
    for topics in one.topics:
        if is_taken(pattern, topics):
            shared = pattern
        elif is_taken(topics, pattern):
            shared = topics
        else:
            continue
        is_denied = any(is_taken(shared, each) for each in denied)
        if not is_denied and (is_nested or topic_of(shared)):
            return True
    return False
