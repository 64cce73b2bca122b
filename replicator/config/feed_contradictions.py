"""Contradictions between feeds, and between feeds and the rest of a file, such as records that
would be loaded twice."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import re2

from replicator.config.balance_settings import clickhouse_address
from replicator.config.clickhouse_address import ClickHouseAddress
from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import (
    ANY_FEED,
    ANY_SHARD,
    FEED_NAME_CHARACTERS_MAX,
    OWN_TOPIC_PREFIXES,
    AggregatorSettings,
    ClickHouseFeed,
    Feed,
    Shard,
    cluster_name,
)
from replicator.config.mistakes import Mistake, contradictions_within
from replicator.config.object_feed import ANY_OBJECT_FEED, OPEN_PART, ObjectFeed, prefix_of
from replicator.config.settings import Table, re2_options

FEED_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]+")
REGION_OF_FEED_GROUPS = "feed"
"""Region whose ledger groups, sluice.feed.<target>.<n>, would be named like groups of a feed."""

Sources = Mapping[ClusterName, Collection[ClusterName]]
"""Aggregate cluster -> regional clusters that feed it by a route."""


@dataclass(frozen=True, slots=True)
class _Shard:
    """Readable values of a [[feeds.<name>.shards]] table, or of a feed into objects, which is one
    shard; patterns are None where unreadable."""

    where: str
    topics: tuple[str | None, ...]
    deny: frozenset[str | None]
    places: frozenset[tuple[str | int, ...]]
    """(host, port, database) of the replicas, or (endpoint, bucket, prefix) of the clusters."""
    is_bucket: bool


@dataclass(frozen=True, slots=True)
class _Feed:
    """Readable values of a [feeds.<name>] table; clusters are None where unreadable."""

    where: str
    clusters: tuple[ClusterName | None, ...]
    shards: tuple[_Shard, ...]


def feed_contradictions(
    feeds: Mapping[str, Mapping[str, Any]],
    aggregator: Mapping[str, Any],
    regions: Collection[str],
    sources: Sources,
) -> Iterator[tuple[str, str]]:
    """Yields (path, what is wrong) of feeds as written, however broken single values are."""
    if feeds and REGION_OF_FEED_GROUPS in regions:
        text = "this name is taken by the groups of feeds, sluice.feed.*; name the region otherwise"
        yield f"regions.{REGION_OF_FEED_GROUPS}", text
    read = [_read_feed(f"feeds.{name}", table) for name, table in feeds.items()]
    for name, table in feeds.items():
        if flaw := name_flaw(name):
            yield f"feeds.{name}", flaw
        yield from _unknown_region(f"feeds.{name}.region", table.get("region"), regions)
        yield from _beyond_the_aggregator(f"feeds.{name}", table, aggregator)
    for feed in read:
        yield from _clusters(feed, regions, sources)
        yield from _topics(feed)
    for one, other in combinations(read, 2):
        yield from _loaded_by_both(one, other, sources)


def contradictions_within_feeds(feeds: Mapping[str, Mapping[str, Any]]) -> Iterator[Mistake]:
    """Yields the contradictions among the sound values of feeds that also have unsound ones."""
    for name, feed in feeds.items():
        if _is_object_feed(feed):
            needed = {**ANY_FEED, **ANY_OBJECT_FEED, "shards": ()}
            yield from contradictions_within(f"feeds.{name}", ObjectFeed, feed, needed)
            continue
        yield from contradictions_within(f"feeds.{name}", ClickHouseFeed, feed, ANY_FEED)
        for number, shard in enumerate(_listed(feed.get("shards"))):
            where = f"feeds.{name}.shards[{number}]"
            yield from contradictions_within(where, Shard, shard, ANY_SHARD)


def written_feed(feed: Feed) -> dict[str, Any]:
    """Returns a feed as a table of tables, like that of a file."""
    return {**dict(feed), "shards": [dict(shard) for shard in feed.shards]}


def name_flaw(name: str) -> str | None:
    """Returns the flaw of a feed's name, or None."""
    if not FEED_NAME.fullmatch(name):
        return "a feed's name is lower-case letters, digits and -"
    if len(name) > FEED_NAME_CHARACTERS_MAX:
        return f"a feed's name has at most {FEED_NAME_CHARACTERS_MAX} characters"
    return None


def _unknown_region(where: str, name: Any, regions: Iterable[str]) -> Iterator[tuple[str, str]]:
    if isinstance(name, str) and name not in regions:
        yield where, f"no region {name!r}; known: {', '.join(sorted(regions))}"


def _beyond_the_aggregator(
    where: str, feed: Mapping[str, Any], aggregator: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    memory_mib = _number(aggregator, "memory_mib", AggregatorSettings)
    if _is_object_feed(feed):
        most = OPEN_PART * memory_mib
        if _number(feed, "part_mib", ObjectFeed) > most:
            text = f"must be {most:g} or less: open objects have half of aggregator.memory_mib"
            yield f"{where}.part_mib", text
        return
    block_mib = _number(feed, "block_mib", ClickHouseFeed)
    if block_mib > memory_mib:
        yield f"{where}.block_mib", f"must be aggregator.memory_mib ({memory_mib:g}) or less"
    reference_seconds = _number(feed, "reference_seconds", ClickHouseFeed)
    stale_seconds = _number(aggregator, "stale_seconds", AggregatorSettings)
    if reference_seconds >= stale_seconds:
        text = f"must be below aggregator.stale_seconds ({stale_seconds:g})"
        yield f"{where}.reference_seconds", text


def _clusters(feed: _Feed, regions: Collection[str], sources: Sources) -> Iterator[tuple[str, str]]:
    known = [(number, name) for number, name in enumerate(feed.clusters) if name is not None]
    for number, name in known:
        if name.region not in regions:
            text = (
                f"no region {name.region!r} in {str(name)!r}; known: {', '.join(sorted(regions))}"
            )
            yield f"{feed.where}.clusters[{number}]", text
    for (_, one), (number, other) in combinations(known, 2):
        if reason := same_records(one, other, sources):
            yield f"{feed.where}.clusters[{number}]", f"brings records twice: {reason}"


def _topics(feed: _Feed) -> Iterator[tuple[str, str]]:
    earlier: list[tuple[int, str]] = []
    for number, shard in enumerate(feed.shards):
        for at, pattern in enumerate(shard.topics):
            if pattern is None:
                continue
            where = f"{shard.where}.topics[{at}]"
            if pattern.replace("\\", "").startswith(OWN_TOPIC_PREFIXES):
                yield where, f"{pattern!r} means topics of Kafka or Sluice, which no feed loads"
            taken = [owner for owner, before in earlier if _is_taken(pattern, before)]
            if taken:
                yield where, f"shards[{taken[0]}] has the topics of {pattern!r} already"
        earlier += [(number, pattern) for pattern in shard.topics if pattern is not None]


def _loaded_by_both(one: _Feed, other: _Feed, sources: Sources) -> Iterator[tuple[str, str]]:
    reasons = (
        same_records(a, b, sources)
        for a in one.clusters
        for b in other.clusters
        if a is not None and b is not None
    )
    reason = next(filter(None, reasons), None)
    for before, shard in product(one.shards, other.shards):
        if not before.places & shard.places:
            continue
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


def _have_in_common(pattern: str | None, one: _Shard, other: _Shard) -> bool:
    """Returns True if both shards take a topic for certain.

    Args:
        pattern: of the other one.
    """
    denied = one.deny | other.deny
    if pattern is None or None in denied:
        return False
    # Of two lists that differ, each may deny all that the other one leaves.
    is_nested = one.deny <= other.deny or other.deny <= one.deny
    for topics in filter(None, one.topics):
        if _is_taken(pattern, topics):
            shared = pattern
        elif _is_taken(topics, pattern):
            shared = topics
        else:
            continue
        is_denied = any(_is_taken(shared, each) for each in filter(None, denied))
        if not is_denied and (is_nested or _topic_of(shared)):
            return True
    return False


def _is_taken(pattern: str, by: str) -> bool:
    """Returns True if the other pattern matches each topic of the first one for certain."""
    if pattern == by:
        return True
    topic = _topic_of(pattern)
    if topic is None:
        return False
    try:
        return bool(re2.fullmatch(by, topic, re2_options()))
    except re2.error:
        return False


def _topic_of(pattern: str) -> str | None:
    """Returns the topic that a pattern names; None if it names none, or several."""
    topic = re.sub(r"\\([._-])", r"\1", pattern)
    return topic if TOPIC_NAME.fullmatch(topic) else None


def _number(table: Mapping[str, Any], key: str, model: type[Table]) -> float:
    """Returns a number of a table; the default in place of anything else."""
    value = table.get(key)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    default: float = model.model_fields[key].default
    return default


def _read_feed(where: str, table: Mapping[str, Any]) -> _Feed:
    clusters = tuple(_cluster(name) for name in _listed(table.get("clusters")))
    if _is_object_feed(table):
        return _Feed(where, clusters, (_read_bucket(where, table, clusters),))
    nothing: Mapping[str, Any] = {"topics": ()}
    listed = _listed(table.get("shards"))
    shards = [shard if isinstance(shard, Mapping) else nothing for shard in listed]
    return _Feed(
        where,
        clusters,
        tuple(_read_shard(f"{where}.shards[{n}]", shard) for n, shard in enumerate(shards)),
    )


def _read_shard(where: str, table: Mapping[str, Any]) -> _Shard:
    database = table.get("database", Shard.model_fields["database"].default)
    addresses = [_address(each) for each in _listed(table.get("replicas"))]
    places = frozenset((each.host, each.port, str(database)) for each in addresses if each)
    return _Shard(where, _patterns(table, "topics", Shard), frozenset(), places, is_bucket=False)


def _read_bucket(
    where: str, table: Mapping[str, Any], clusters: Iterable[ClusterName | None]
) -> _Shard:
    endpoint, bucket = table.get("endpoint") or "", table.get("bucket")
    prefix = table.get("prefix", ObjectFeed.model_fields["prefix"].default)
    is_readable = all(isinstance(each, str) for each in (endpoint, bucket, prefix))
    places = frozenset(
        (str(endpoint), str(bucket), prefix_of(prefix, cluster))
        for cluster in clusters
        if cluster is not None and is_readable
    )
    topics, denied = (_patterns(table, key, ObjectFeed) for key in ("topics", "deny"))
    return _Shard(where, topics, frozenset(denied), places, is_bucket=True)


def _patterns(table: Mapping[str, Any], key: str, model: type[Table]) -> tuple[str | None, ...]:
    listed = _listed(table.get(key, model.model_fields[key].default))
    return tuple(each if isinstance(each, str) else None for each in listed)


def _is_object_feed(table: Mapping[str, Any]) -> bool:
    return table.get("kind") == "s3"


def _listed(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else ()


def _cluster(value: Any) -> ClusterName | None:
    try:
        name: ClusterName = cluster_name(value)
    except ValueError:
        return None
    return name


def _address(value: Any) -> ClickHouseAddress | None:
    try:
        address: ClickHouseAddress = clickhouse_address(value)
    except ValueError:
        return None
    return address
