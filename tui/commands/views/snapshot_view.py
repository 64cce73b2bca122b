"""Output of a snapshot as text for people; its JSON is the snapshot itself (snapshot_json.py)."""

from collections.abc import Iterator
from typing import Any

from replicator.notices.condition import Kind
from tui.commands.text import joined, table
from tui.commands.views.condition_view import condition_line
from tui.facts.route_view import RouteView, custody_counts
from tui.facts.snapshot import Snapshot

TOPIC_HEADS = ("ROUTE", "TOPIC", "PARTS", "LAG", "LAG S", "RECORDS/S", "CUSTODY", "STATE")
OPEN_TRANSACTION_SECONDS = 60.0
"""Records that wait longer for the end of a source transaction get a remark."""
PARTITION_HEADS = (
    "ROUTE",
    "TOPIC",
    "PART",
    "SOURCE END",
    "MIRRORED TO",
    "LAG",
    "LAG S",
    "RECORDS/S",
    "BYTES/S",
    "CARRIER",
    "CUSTODY",
)


def as_text(snapshot: Snapshot, by_partition: bool = False) -> str:
    """Formats topics, or partitions, as a table, with the remarks below it."""
    if by_partition:
        parts = [table(PARTITION_HEADS, list(partition_rows(snapshot)))]
    else:
        parts = [table(TOPIC_HEADS, [row for r in snapshot.routes for row in topic_rows(r)])]
    if lines := joined(remarks(snapshot)):
        parts.append(lines)
    return "\n\n".join(parts)


def topic_rows(route: RouteView) -> Iterator[tuple[Any, ...]]:
    if route.topics is None:
        yield (route.route, None, None, None, None, None, None, None)
        return
    for topic in route.topics:
        yield (
            route.route,
            topic.topic,
            len(topic.partitions) or None,
            topic.lag_records,
            topic.lag_seconds,
            topic.records_per_second,
            custody_counts(topic) or None,
            ", ".join(topic.states) or None,
        )


def partition_rows(snapshot: Snapshot) -> Iterator[tuple[Any, ...]]:
    for route in snapshot.routes:
        if route.topics is None:
            yield (route.route, *([None] * (len(PARTITION_HEADS) - 1)))
        for topic in route.topics or ():
            for partition in topic.partitions:
                yield (
                    route.route,
                    topic.topic,
                    partition.partition,
                    partition.source_end,
                    partition.mirrored_to,
                    partition.lag_records,
                    partition.lag_seconds,
                    partition.records_per_second,
                    partition.bytes_per_second,
                    partition.carrier,
                    partition.custody,
                )


def remarks(snapshot: Snapshot) -> Iterator[str]:
    """Yields missing daemons, conditions, parked partitions, open transactions, notes, problems.

    A note or problem that several routes share is yielded once.
    """
    topics = [(route, topic) for route in snapshot.routes for topic in route.topics or ()]
    # Where ledger or reports could be read, partitions tell themselves that they are parked.
    told = {
        (Kind.PARKED.value, route.route, topic.topic, partition.partition)
        for route, topic in topics
        for partition in topic.partitions
        if partition.parked is not None
    }
    for region in snapshot.regions:
        for daemon in region.daemons:
            if daemon.state == "missing":
                name = f"sluice {daemon.role} of {region.region}"
                yield f"missing: {name}: the region's Redis knows of none"
    for each in snapshot.conditions:
        if (each.kind, each.route, each.topic, each.partition) not in told:
            yield condition_line(each)
    for route, topic in topics:
        for partition in topic.partitions:
            name = f"{route.route} {topic.topic}-{partition.partition}"
            if partition.parked is not None:
                yield f"parked: {name}: {partition.parked}"
            if (partition.open_transaction_seconds or 0) > OPEN_TRANSACTION_SECONDS:
                yield (
                    f"open transaction: {name}: records from source offset "
                    f"{partition.source_end} on have waited "
                    f"{partition.open_transaction_seconds:.0f} s for its end"
                )
    notes = (
        f"note: {topic.topic} in {route.target}: {note}"
        for route, topic in topics
        for note in topic.notes
    )
    yield from dict.fromkeys(notes)
    for problem in snapshot.problems:
        yield f"problem: {problem}"
