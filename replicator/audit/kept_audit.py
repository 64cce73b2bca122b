"""Kept audit: the verdict of one audit of a route, as it is kept for the console."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass

from pydantic import TypeAdapter

from replicator.audit.verdict import Row, Verdict

ROWS_MAX = 50
EXAMPLES_MAX = 2

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRow:
    """Partition of an audit that is not clean.

    Args:
        partition: None: the whole topic.
        examples: offsets of the first differences.
        doubts: reasons why offsets could not be compared, and how many.
    """

    topic: str
    partition: int | None
    verdict: str
    missing: int = 0
    surplus: int = 0
    changed: int = 0
    examples: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAudit:
    """Verdict of one audit of a route.

    Args:
        at_ms, since_ms, until_ms: of the audit and of its window, Unix time in milliseconds.
        by: depth: offsets, count or bytes.
        counts: number of partitions by verdict.
        problems: of the whole audit: servers that could not be reached.
        rows: those that are not clean, the worst first, ROWS_MAX at most.
    """

    route: str
    at_ms: int
    since_ms: int
    until_ms: int
    by: str
    who: str
    counts: Mapping[str, int]
    problems: tuple[str, ...] = ()
    rows: tuple[KeptRow, ...] = ()

    @property
    def worst(self) -> Verdict | None:
        """The worst verdict; None where nothing was compared."""
        return next((each for each in Verdict if self.counts.get(each.value)), None)

    @property
    def is_clean(self) -> bool:
        """True when records were compared, all could be, and all are equal."""
        return self.worst in CLEAN

    def to_json(self) -> str:
        """Returns the verdict as compact JSON."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @staticmethod
    def from_json(text: str | bytes) -> KeptAudit:
        """Parses a verdict; fields of later versions are left out. Raises ValueError."""
        return PARSER.validate_json(text)


CLEAN = (Verdict.BEHIND, Verdict.EQUAL)
PARSER = TypeAdapter(KeptAudit)


def readable(texts: Iterable[str | bytes]) -> Iterator[KeptAudit]:
    """Yields the verdicts that can be read; those of another version are left out, and logged."""
    for text in texts:
        try:
            yield KeptAudit.from_json(text)
        except ValueError as error:
            # A console asks every ten seconds.
            log.debug("event=audit-unreadable %s", error)


def kept_rows(rows: Iterable[Row]) -> tuple[KeptRow, ...]:
    """Returns the rows that are not clean, the worst first, ROWS_MAX at most."""
    order = {each: place for place, each in enumerate(Verdict)}
    found = sorted(
        (row for row in rows if row.verdict not in CLEAN), key=lambda row: order[row.verdict]
    )
    return tuple(
        KeptRow(
            topic=row.topic,
            partition=row.partition,
            verdict=row.verdict.value,
            missing=row.counted.missing,
            surplus=row.counted.surplus,
            changed=row.counted.changed,
            examples=row.counted.examples[:EXAMPLES_MAX],
            doubts=tuple(f"{count} {why}" for why, count in row.counted.doubts.items()),
        )
        for row in found[:ROWS_MAX]
    )


def counts_of(rows: list[Row]) -> dict[str, int]:
    """Returns the number of rows by verdict, the worst first."""
    found = [row.verdict for row in rows]
    return {each.value: found.count(each) for each in Verdict if each in found}
