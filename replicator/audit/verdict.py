"""Verdict of an audit on a partition or a topic, from its counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum

from replicator.audit.record_counts import RecordCounts


class Verdict(StrEnum):
    """Verdict, the worst first: the first that holds counts."""

    MISSING = "missing"
    """The ledger has passed source records that are not in the target."""
    SURPLUS = "surplus"
    """The target has records that readers of the source do not see, or has one twice."""
    CHANGED = "changed"
    """Records are in their places, and are not the same."""
    INCOMPLETE = "incomplete"
    """No difference was found, and not everything could be compared."""
    BEHIND = "behind"
    """All that the ledger has passed is equal, and it has not passed everything."""
    EQUAL = "equal"

    @property
    def is_difference(self) -> bool:
        return self in (Verdict.MISSING, Verdict.SURPLUS, Verdict.CHANGED)


def verdict(counted: RecordCounts) -> Verdict:
    """Returns the verdict; never EQUAL where anything could not be compared."""
    if counted.missing:
        return Verdict.MISSING
    if counted.surplus:
        return Verdict.SURPLUS
    if counted.changed:
        return Verdict.CHANGED
    if counted.doubts:
        return Verdict.INCOMPLETE
    return Verdict.BEHIND if counted.behind or counted.held_back else Verdict.EQUAL


@dataclass(frozen=True, slots=True)
class Row:
    """Line of the answer; `partition` None: the whole topic."""

    route: str
    topic: str
    partition: int | None
    counted: RecordCounts = field(default_factory=RecordCounts)

    @property
    def verdict(self) -> Verdict:
        return verdict(self.counted)


def by_topic(rows: Iterable[Row]) -> list[Row]:
    """Returns a row for each topic of each route, in the order of its first partition.

    Examples and notes get the number of their partition.
    """
    found: dict[tuple[str, str], RecordCounts] = {}
    for row in rows:
        topic = row.route, row.topic
        found[topic] = found.get(topic, RecordCounts()) + _named(row)
    return [Row(*topic, None, counted) for topic, counted in found.items()]


def _named(row: Row) -> RecordCounts:
    def named(texts: Iterable[str]) -> tuple[str, ...]:
        return tuple(f"partition {row.partition}: {text}" for text in texts)

    counted = row.counted
    return replace(counted, examples=named(counted.examples), notes=named(counted.notes))
