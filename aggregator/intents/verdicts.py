"""Verdicts: anomalies between consecutive intents of a partition. Pure.

Source: eBay's Aggregator Runtime Verifier, with half-open ranges and markers. A table that an
intent does not name counts as the marker at the intent's offset. Ranges that are told elsewhere are
not compared: the objects themselves are (`sluice verify check --objects`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from aggregator.intents.intent import Intent
from aggregator.intents.table_range import Manifest, TableRange


class Anomaly(StrEnum):
    """Kind of anomaly between two consecutive intents."""

    BACKWARD = "backward"
    """A block lies before one that was formed earlier: its records may be loaded twice."""
    OVERLAP = "overlap"
    """A block shares offsets with one that was formed earlier."""
    GAP = "gap"
    """Records between two blocks were neither loaded nor set aside."""
    SURPLUS = "surplus"
    """At a forced flush more records were loaded than the partition has."""


@dataclass(frozen=True, slots=True)
class Finding:
    """An anomaly, with the offsets begin..end-1 that it is about.

    Args:
        table: None for anomalies of the whole partition.
    """

    anomaly: Anomaly
    begin: int
    end: int
    table: str | None = None

    def __str__(self) -> str:
        where = f"{self.table}: " if self.table else ""
        return f"{self.anomaly.value}: {where}offsets [{self.begin}, {self.end})"


def between(before: Intent, after: Intent) -> Iterator[Finding]:
    """Yields the anomalies of an intent that follows another one of the same partition."""
    for table in sorted(before.tables.keys() | after.tables.keys()):
        if not (before.is_known(table) and after.is_known(table)):
            continue
        finding = _of_table(table, before.range_of(table), after.range_of(table))
        if finding:
            yield finding
    if after.offset < before.offset:
        yield Finding(Anomaly.BACKWARD, after.offset, before.offset)
    finding = _gap(before, after)
    if finding:
        yield finding


def within(intent: Intent) -> Finding | None:
    """Returns the anomaly at a forced flush, or in an intent of objects; None for others."""
    end = intent.position if intent.position is not None else intent.up_to
    if end is None:
        return None
    accounted = intent.reference + intent.count + intent.open_records + intent.holes
    if accounted < end:
        return Finding(Anomaly.GAP, intent.reference, end)
    if accounted > end:
        return Finding(Anomaly.SURPLUS, intent.reference, end)
    return None


def _of_table(table: str, before: TableRange, after: TableRange) -> Finding | None:
    is_again = replace(after, sealed_at_ms=before.sealed_at_ms) == before
    if isinstance(after, Manifest):
        # The same range under the same name, also if another library made other bytes of it.
        is_again = (after.begin, after.end) == (before.begin, before.end)
    if is_again or after.begin >= before.end:
        return None
    anomaly = Anomaly.BACKWARD if after.end <= before.begin else Anomaly.OVERLAP
    # Everything of the table below before.end was sent, and everything from a marker on will be.
    end = before.end if after.is_marker else min(before.end, after.end)
    return Finding(anomaly, after.begin, end, table)


def _gap(before: Intent, after: Intent) -> Finding | None:
    """Returns the gap between what was sealed and the offset below which all is loaded.

    Sound at every intent, complete only at a forced flush, and in intents of objects (`within`).
    """
    if after.position is not None:
        # A loader that takes over counts from the offset on, and later on from nowhere else.
        begin, end = sorted((before.offset, after.reference))
        is_own = after.reference in (before.reference, before.offset)
        return None if is_own else Finding(Anomaly.GAP, begin, end)
    if before.up_to is not None and _balance(before) == _balance(after):
        # The next holder commits the intent of a forced flush as its own.
        return None
    reference, count = before.reference, before.count
    if before.up_to is not None:
        reference, count = before.up_to, 0
    if after.reference != reference:
        # A reference moves only at a forced flush, to its up_to.
        begin, end = sorted((reference, after.reference))
        return Finding(Anomaly.GAP, begin, end)
    accounted = reference + count + after.holes
    if accounted < after.offset:
        return Finding(Anomaly.GAP, accounted, after.offset)
    return None


def _balance(intent: Intent) -> tuple[int, int, int, int | None]:
    return intent.reference, intent.count, intent.holes, intent.up_to
