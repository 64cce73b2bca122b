"""Snapshot of the whole replication, as a value that every reader (table, JSON, screen) shows.

Unknown is None, never 0. A sum with an unknown part is unknown; the number of partitions with
unknown lag stands beside it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from balancer.plan import TopicPartition
from replicator.config.topology import Route
from replicator.mirror.ledger.entry import Custody, Entry
from replicator.mirror.ledger.sightings import lag_at_most, stable_ends
from replicator.mirror.offset_map.reports import PartitionReport
from replicator.mirror.topics.topic_plan import State, TopicPlan
from replicator.notices.condition import Condition
from replicator.notices.daemon_card import DaemonCard

Number = TypeVar("Number", int, float)

SCHEMA_VERSION = 2
# A carrier reports about once a second. An older report says nothing about now.
REPORT_FRESH_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Notices:
    """Notices of a region's daemons and carriers: reasons why something is not carried, the oldest
    first, and cards of the daemons that run."""

    conditions: tuple[Condition, ...] = ()
    daemons: tuple[DaemonCard, ...] = ()


@dataclass(frozen=True, slots=True)
class RouteFacts:
    """Facts read about one route; a fact that could not be read is None, with a problem."""

    route: Route
    entries: Mapping[TopicPartition, Entry] | None
    source_ends: Mapping[TopicPartition, int] | None
    """Last stable offsets of the source, where mirroring has to stop; read after the entries."""
    reports: Mapping[TopicPartition, PartitionReport] | None = None
    unreadable: Mapping[TopicPartition, str] = field(default_factory=dict)
    """Ledger entries that exist and cannot be decoded, with the reason."""
    is_target_known: bool = True
    """True when the target listed its topics."""
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionView:
    """State of one partition of a route."""

    topic: str
    partition: int
    source_end: int | None
    mirrored_to: int | None
    """Next source offset to mirror; every record before it is in the target."""
    lag_records: int | None
    """Lag in source offsets; on compacted or transactional sources not all of them are records."""
    lag_seconds: float | None
    records_per_second: float | None
    bytes_per_second: float | None
    carrier: int | None
    host: str | None
    """Host on which the carrier runs."""
    custody: str | None
    """virgin, held, released, parked or unreadable; None when no ledger entry is known."""
    parked: str | None
    """Reason why the partition waits for an operator; None when it does not."""
    source_high: int | None = None
    """High watermark of the source, as the carrier saw it."""
    written_lag_records: int | None = None
    """Lag against the high watermark, so records of open transactions count as well."""
    written_lag_seconds: float | None = None
    open_transaction_seconds: float | None = None
    """Time for which records have waited for the end of a transaction of the source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicView:
    """State of one topic of a route. A total is None when it is unknown for any partition."""

    topic: str
    states: tuple[str, ...]
    """States of the topic; empty when the target did not list its topics."""
    notes: tuple[str, ...]
    partitions: tuple[PartitionView, ...]

    @property
    def lag_records(self) -> int | None:
        return total(partition.lag_records for partition in self.partitions)

    @property
    def lag_seconds(self) -> float | None:
        return largest(partition.lag_seconds for partition in self.partitions)

    @property
    def open_transaction_seconds(self) -> float | None:
        return largest(partition.open_transaction_seconds for partition in self.partitions)

    @property
    def records_per_second(self) -> float | None:
        return total(partition.records_per_second for partition in self.partitions)

    @property
    def unknown_partitions(self) -> int:
        return sum(partition.lag_records is None for partition in self.partitions)

    @property
    def parked_partitions(self) -> int:
        return sum(partition.parked is not None for partition in self.partitions)


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteView:
    """State of one route; `topics` is None when the source did not list its topics."""

    route: str
    target: str
    topics: tuple[TopicView, ...] | None
    denied_topics: int
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """State of the selected routes at one time."""

    taken_at: float
    """Unix seconds."""
    routes: tuple[RouteView, ...]
    notices: Mapping[str, Notices] = field(default_factory=dict)
    """Notices by target region, of those whose Redis answers."""
    schema_version: int = SCHEMA_VERSION

    @property
    def problems(self) -> tuple[str, ...]:
        """Problems of all routes, each once.

        An unreachable cluster is a problem of every route that needs it.
        """
        return tuple(dict.fromkeys(text for route in self.routes for text in route.problems))


def snapshot(
    facts: Sequence[RouteFacts],
    plans: Mapping[str, TopicPlan],
    notices: Mapping[str, Notices],
    now: float,
) -> Snapshot:
    """Builds a snapshot from the facts of each route.

    Args:
        plans: topic plan of each target region.
        notices: of each target region whose Redis answers.
        now: Unix seconds.
    """
    routes = (route_view(found, plans[found.route.target], now) for found in facts)
    return Snapshot(taken_at=now, routes=tuple(routes), notices=notices)


def route_view(facts: RouteFacts, plan: TopicPlan, now: float) -> RouteView:
    topics: list[TopicView] = []
    denied, known = 0, known_partitions(facts)
    for status in plan.topics:
        if facts.route not in status.routes:
            continue
        if State.DENIED in status.states:
            denied += 1
            continue
        notes = status.notes if facts.is_target_known else ()
        topics.append(
            TopicView(
                topic=status.topic,
                states=tuple(str(note.state) for note in notes),
                notes=tuple(note.text for note in notes if note.text),
                partitions=tuple(
                    partition_view(partition, facts, now)
                    for partition in known.get(status.topic, ())
                ),
            )
        )
    return RouteView(
        route=facts.route.name,
        target=facts.route.target,
        topics=None if facts.route in plan.unknown else tuple(topics),
        denied_topics=denied,
        problems=facts.problems,
    )


def known_partitions(facts: RouteFacts) -> dict[str, list[TopicPartition]]:
    """Returns the partitions of each topic that the source or the ledger knows, in order."""
    known: set[TopicPartition] = set()
    for found in (facts.source_ends, facts.entries, facts.unreadable):
        known.update(found or ())
    by_topic: dict[str, list[TopicPartition]] = {}
    for partition in sorted(known):
        by_topic.setdefault(partition.topic, []).append(partition)
    return by_topic


def partition_view(partition: TopicPartition, facts: RouteFacts, now: float) -> PartitionView:
    entry = (facts.entries or {}).get(partition)
    end = (facts.source_ends or {}).get(partition)
    report = (facts.reports or {}).get(partition)
    if report is not None and now - report.at > REPORT_FRESH_SECONDS:
        report = None
    mirrored_to = next_source_offset(entry, report)
    reason = facts.unreadable.get(partition) or parked_reason(entry, report)
    lag = max(0, end - mirrored_to) if end is not None and mirrored_to is not None else None
    return PartitionView(
        topic=partition.topic,
        partition=partition.partition,
        source_end=end,
        mirrored_to=mirrored_to,
        lag_records=lag,
        lag_seconds=0.0 if lag == 0 else lag_seconds(entry, report, mirrored_to, end, now),
        records_per_second=report.records_per_second if report else None,
        bytes_per_second=report.bytes_per_second if report else None,
        carrier=report.carrier if report else None,
        host=report.host if report else None,
        custody=custody_of(entry, reason, is_readable=partition not in facts.unreadable),
        parked=reason,
        source_high=report.source_high if report else None,
        written_lag_records=report.written_lag_records if report else None,
        written_lag_seconds=report.written_lag_seconds if report else None,
        open_transaction_seconds=report.open_transaction_seconds if report else None,
    )


def lag_seconds(
    entry: Entry | None,
    report: PartitionReport | None,
    mirrored_to: int | None,
    end: int | None,
    now: float,
) -> float | None:
    """Returns the lag that the carrier reports or, without a report, the lag by the ledger entry.

    A report is missing when no carrier has the partition or Redis is unreachable. The lag by the
    ledger entry may be too high by the age of the entry, about a minute (decision 0021).
    """
    if report is not None and report.lag_seconds is not None:
        return report.lag_seconds
    if entry is None or mirrored_to is None or end is None:
        return None
    return lag_at_most(stable_ends(entry.seen), mirrored_to, end, round(now * 1000))


def next_source_offset(entry: Entry | None, report: PartitionReport | None) -> int | None:
    """Returns the next source offset to mirror; None when it is not known.

    The entry is the truth but a few seconds old; a fresh report may be further on.
    """
    known = [entry.source_offset] if entry and entry.custody is not Custody.VIRGIN else []
    if report is not None and report.mirrored_to is not None:
        known.append(report.mirrored_to)
    return max(known, default=None)


def parked_reason(entry: Entry | None, report: PartitionReport | None) -> str | None:
    """Returns the reason why a partition is parked; None when it is not.

    The carrier's report is used when the carrier could no longer write the reason into the entry.
    """
    if entry is not None and entry.parked is not None:
        return str(entry.parked)
    return (report.parked or None) if report is not None else None


def custody_of(entry: Entry | None, parked: str | None, is_readable: bool) -> str | None:
    if not is_readable:
        return "unreadable"
    if parked is not None:
        return "parked"
    return entry.custody.value if entry is not None else None


def total(parts: Iterable[Number | None]) -> Number | None:
    """Returns the sum; None when a part is unknown, or when there are no parts."""
    found = list(parts)
    known = [part for part in found if part is not None]
    return sum(known[1:], known[0]) if known and len(known) == len(found) else None


def largest(parts: Iterable[float | None]) -> float | None:
    """Returns the largest part; None when a part is unknown, or when there are no parts."""
    found = list(parts)
    known = [part for part in found if part is not None]
    return max(known) if known and len(known) == len(found) else None


def custody_counts(topic: TopicView) -> str:
    """Returns the number of partitions in each custody: "3 held, 1 parked"."""
    counts = Counter(partition.custody or "no entry" for partition in topic.partitions)
    return ", ".join(f"{count} {custody}" for custody, count in sorted(counts.items()))
