"""Output of a snapshot: text for people, and plain values for JSON and YAML."""

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from replicator.notices.condition import Condition, Kind
from tui.cli.views.table import joined, table
from tui.state.snapshot import RouteView, Snapshot, TopicView, custody_counts

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


def as_values(snapshot: Snapshot) -> dict[str, Any]:
    """Returns the whole snapshot as plain values, down to the partitions."""
    return {
        "schema_version": snapshot.schema_version,
        "taken_at": datetime.fromtimestamp(snapshot.taken_at, UTC).isoformat(timespec="seconds"),
        "problems": list(snapshot.problems),
        "routes": [
            {
                "route": route.route,
                "denied_topics": route.denied_topics,
                "problems": list(route.problems),
                "topics": None
                if route.topics is None
                else [topic_values(topic) for topic in route.topics],
            }
            for route in snapshot.routes
        ],
        "notices": {
            region: {
                "conditions": [asdict(each) for each in notices.conditions],
                "daemons": [asdict(each) for each in notices.daemons],
            }
            for region, notices in snapshot.notices.items()
        },
    }


def topic_values(topic: TopicView) -> dict[str, Any]:
    return {
        "topic": topic.topic,
        "states": list(topic.states),
        "notes": list(topic.notes),
        "lag_records": topic.lag_records,
        "lag_seconds": topic.lag_seconds,
        "open_transaction_seconds": topic.open_transaction_seconds,
        "records_per_second": topic.records_per_second,
        "unknown_partitions": topic.unknown_partitions,
        "parked_partitions": topic.parked_partitions,
        "partitions": [
            {key: value for key, value in asdict(partition).items() if key != "topic"}
            for partition in topic.partitions
        ],
    }


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
                    partition.custody or "no entry",
                )


def remarks(snapshot: Snapshot) -> Iterator[str]:
    """Yields conditions, parked partitions and long open transactions, then notes, then problems.

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
    for notices in snapshot.notices.values():
        for each in notices.conditions:
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


def condition_line(condition: Condition) -> str:
    """Returns a condition as a line: what it is about, since when it holds, who says so."""
    topic, partition = condition.topic, condition.partition
    place = topic if partition is None else f"{topic}-{partition}"
    about = " ".join(filter(None, (condition.route, condition.feed, condition.cluster, place)))
    since = datetime.fromtimestamp(condition.since_ms / 1000, UTC).isoformat(timespec="seconds")
    told = ": ".join(filter(None, (condition.kind, about, condition.text)))
    return f"{told} (since {since}, says {condition.who})"
