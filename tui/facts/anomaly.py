"""Anomaly: findings of a region's verifier about one committed entry, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

FEED = "feed "
ROUTE = "route "
TABLE = "table "
ENTRY_CHARACTERS_MAX = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifierFinding:
    """Finding of the verifier.

    Args:
        kind: such as gap or overlap; docs/verify.md describes all.
        weight: anomaly, accepted or unknown.
        begin, end: offsets begin..end-1 that it is about; None where it is about no range.
        table: None for findings about a whole partition.
    """

    kind: str
    weight: str
    text: str
    table: str | None = None
    begin: int | None = None
    end: int | None = None

    def __str__(self) -> str:
        table = f"table {self.table}: " if self.table else ""
        offsets = f" [{self.begin}, {self.end})" if self.begin is not None else ""
        return f"{self.kind}: {table}{self.text}{offsets}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Anomaly:
    """Findings about one entry, with the entry before it and itself as short texts.

    Args:
        region: region whose verifier found it.
        owner: "feed flights", "route west>east", or of an upsert table "table flights.status".
        at_ms: Unix time in milliseconds at which the entry was committed.
        before, after: None: there is no such entry.
    """

    region: str
    cluster: str
    owner: str
    topic: str
    partition: int
    at_ms: int
    findings: tuple[VerifierFinding, ...]
    before: str | None = None
    after: str | None = None

    @property
    def feed(self) -> str | None:
        """Feed whose entry it is, or that of the upsert table; None for a route's."""
        if self.owner.startswith(TABLE):
            return self.owner.removeprefix(TABLE).rpartition(".")[0]
        return self.owner.removeprefix(FEED) if self.owner.startswith(FEED) else None

    @property
    def route(self) -> str | None:
        """Route whose entry it is; None for one of a feed or table."""
        return self.owner.removeprefix(ROUTE) if self.owner.startswith(ROUTE) else None


def anomaly_of(region: str, row: Mapping[str, Any]) -> Anomaly:
    """Returns a row of the verifier's board as a value. Raises ValueError for another form."""
    try:
        return Anomaly(
            region=region,
            cluster=str(row["cluster"]),
            owner=str(row["of"]),
            topic=str(row["topic"]),
            partition=int(row["partition"]),
            at_ms=int(row["at_ms"]),
            findings=tuple(
                VerifierFinding(
                    kind=str(each["kind"]),
                    weight=str(each["weight"]),
                    text=str(each["text"]),
                    table=each.get("table"),
                    begin=each.get("begin"),
                    end=each.get("end"),
                )
                for each in row["findings"]
            ),
            before=_entry(row.get("before")),
            after=_entry(row.get("after")),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"a verifier's finding of another form: {error}") from error


def _entry(values: Mapping[str, Any] | None) -> str | None:
    if values is None:
        return None
    text = f"offset {values['offset']} at {values['at_ms']} ms: {values['metadata']}"
    return text if len(text) <= ENTRY_CHARACTERS_MAX else text[:ENTRY_CHARACTERS_MAX] + "..."
