"""Causes of alerts in conditions and in parked partitions: one for each kind, route and topic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from replicator.kafka.client.loss import LossKind
from replicator.notices.condition import Condition, Kind
from tui.facts.alert import Level
from tui.facts.alert_cause import ROWS_MAX, Cause, notices_in
from tui.facts.counted import counted
from tui.facts.server_causes import names_of, region_of, server_of, silent_servers
from tui.facts.snapshot import Snapshot

PAGES = frozenset(
    {
        Kind.CARRIER_WAITS,
        Kind.LOADER_WAITS,
        Kind.CARRIER_FAILED,
        Kind.LOADER_FAILED,
        Kind.FEED_REFUSED,
        Kind.UPSERT_FAILED,
        Kind.UPSERT_LANE_STOPPED,
        Kind.UPSERT_ENDS_LOST,
    }
)
"""Kinds of conditions about everything that a carrier or a loader has, a feed in a cluster, or an
upsert table."""


class _Place(NamedTuple):
    """Topic of a route, or of a feed in one cluster; "" where there is none."""

    route: str
    feed: str
    cluster: str
    topic: str


@dataclass(slots=True)
class _Parked:
    """Parked partitions of one place, with reasons and times."""

    region: str
    reasons: dict[int, str] = field(default_factory=dict)
    since_ms: dict[int, int] = field(default_factory=dict)

    def those(self, *, taken: bool) -> _Parked:
        """Returns those that are parked for the name of an object, or the others."""
        reasons = {at: text for at, text in self.reasons.items() if _is_taken(text) == taken}
        times = {at: since_ms for at, since_ms in self.since_ms.items() if at in reasons}
        return _Parked(self.region, reasons, times)


def condition_causes(snapshot: Snapshot) -> Iterator[Cause]:
    """Yields a cause for all conditions of one kind, route or feed, and topic.

    Left out are those about a server, and parked partitions: others tell them.
    """
    names, silent = names_of(snapshot.regions), silent_servers(snapshot)
    groups: dict[tuple[str, str, str, str], list[Condition]] = {}
    for each in snapshot.conditions:
        if each.kind != Kind.PARKED and server_of(each, names) not in silent:
            groups.setdefault((each.kind, _owner(each), each.feed, each.topic), []).append(each)
    for found in groups.values():
        yield _condition_cause(found, snapshot)


def _owner(condition: Condition) -> str:
    """Returns the route or feed of a condition, or the cluster where it has none."""
    return condition.route or condition.feed or condition.cluster


def _condition_cause(found: Sequence[Condition], snapshot: Snapshot) -> Cause:
    first, count, region = found[0], len(found), region_of(found[0], snapshot)
    since_ms = min(each.since_ms for each in found)
    place = " ".join(filter(None, (first.route, first.feed and f"feed {first.feed}", first.topic)))
    text = f"{first.kind}: {_whole(place, first)}: {first.text}"
    if count > 1:
        text = f"{first.kind}: {place or first.who}: {_several(first, count)}, such as {first.text}"
    return Cause(
        key=f"condition/{first.kind}/{_owner(first)}/{first.topic}/",
        region=region,
        level=Level.PAGE if first.kind in PAGES else Level.WARN,
        kind="condition",
        text=text,
        about=_about(first.route, first.feed),
        route=first.route or None,
        feed=first.feed or None,
        cluster=first.cluster or None,
        topic=first.topic or None,
        partition=first.partition if count == 1 else None,
        since_ms=since_ms,
        news_ms=since_ms,
        rows=tuple(f"{_whole(each.topic, each)}: {each.text}" for each in found[:ROWS_MAX]),
        sources=(notices_in(region),),
    )


def _several(first: Condition, count: int) -> str:
    if first.topic:
        return counted(count, "partition")
    return f"{count} times" if first.carrier is None else counted(count, "carrier")


def _whole(place: str, condition: Condition) -> str:
    if condition.partition is None:
        return place or condition.cluster or condition.who
    return f"{place}-{condition.partition}"


def parked_causes(snapshot: Snapshot) -> Iterator[Cause]:
    """Yields a cause for all partitions of one topic of a route or a feed that are parked and have
    the same way out."""
    found: dict[_Place, _Parked] = {}
    for place, partition, reason, region in _parked(snapshot):
        parked = found.setdefault(place, _Parked(region))
        parked.reasons.setdefault(partition, reason)
    for each in snapshot.conditions:
        if each.kind == Kind.PARKED and each.partition is not None:
            # The place of a route's partition has no cluster.
            cluster = each.cluster if each.feed else ""
            place = _Place(each.route, each.feed, cluster, each.topic)
            parked = found.setdefault(place, _Parked(region_of(each, snapshot)))
            parked.reasons.setdefault(each.partition, each.text)
            parked.since_ms.setdefault(each.partition, each.since_ms)
    for place, parked in found.items():
        for taken in (False, True):
            those = parked.those(taken=taken)
            if those.reasons:
                yield _parked_cause(place, those, taken=taken)


def _parked(snapshot: Snapshot) -> Iterator[tuple[_Place, int, str, str]]:
    """Yields each parked partition that ledgers, intents or reports tell, with its region."""
    for route in snapshot.routes:
        for topic in route.topics or ():
            for part in topic.partitions:
                if part.parked is not None:
                    place = _Place(route.route, "", "", part.topic)
                    yield place, part.partition, part.parked, route.target
    for feed in snapshot.feeds:
        for each in feed.partitions:
            if each.parked is not None:
                place = _Place("", feed.feed, each.cluster, each.topic)
                yield place, each.partition, each.parked, feed.region


def _parked_cause(place: _Place, parked: _Parked, *, taken: bool) -> Cause:
    numbers, topic = sorted(parked.reasons), place.topic
    one = numbers[0] if len(numbers) == 1 else None
    name = f"{place.route or f'feed {place.feed}'} {topic}"
    reason = parked.reasons[numbers[0]].removeprefix("parked: ")
    text = f"parked: {name}-{numbers[0]}: {reason}"
    if one is None:
        text = f"parked: {name}: {counted(len(numbers), 'partition')}, such as {reason}"
    return Cause(
        key="/".join(["parked", *filter(None, place), *(["taken"] if taken else []), ""]),
        region=parked.region,
        level=Level.PAGE,
        kind="parked",
        text=text,
        about=_about(place.route, place.feed),
        route=place.route or None,
        feed=place.feed or None,
        cluster=place.cluster or None,
        topic=topic,
        partition=one,
        since_ms=min(parked.since_ms.values(), default=None),
        news_ms=max(parked.since_ms.values(), default=None),
        rows=tuple(_parked_row(place, n, parked.reasons[n]) for n in numbers[:ROWS_MAX]),
        command=_way_out(place, one, taken=taken),
        sources=(notices_in(parked.region),),
    )


def _parked_row(place: _Place, number: int, reason: str) -> str:
    text = f"{place.topic}-{number}: {reason}"
    if not _is_taken(reason):
        return text
    options = f"--feed {place.feed} --topic {place.topic} --partition {number}"
    return f"{text}; `sluice aggregate objects {options}` lists those written"


def _way_out(place: _Place, partition: int | None, *, taken: bool) -> tuple[str, ...]:
    """Returns the command that shows the parked partitions, and with --yes accepts the loss; of
    objects whose names are taken the one that shows both contents, and with --confirm overwrites.
    """
    words = ["accept-loss", "--route", place.route]
    if place.feed:
        # Accepting a loss only parks the partition again while the name is taken.
        command = "overwrite" if taken else "accept-loss"
        words = ["aggregate", command, "--feed", place.feed, "--cluster", place.cluster]
    words += ["--topic", place.topic]
    return (*words, "--partition", str(partition)) if partition is not None else tuple(words)


def _is_taken(reason: str) -> bool:
    return LossKind.OBJECT_TAKEN.value in reason


def _about(route: str, feed: str) -> tuple[str, ...]:
    return tuple(filter(None, (route, feed and f"feed {feed}")))
