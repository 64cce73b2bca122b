"""Finding: a fault in the history of committed entries, or a part of it that cannot be judged."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """Kind of finding. The first four come from the verdicts on intents."""

    BACKWARD = "backward"
    """A block, or the offset below which all is loaded, lies before one that was named earlier."""
    OVERLAP = "overlap"
    """A block shares offsets with one that was formed earlier."""
    GAP = "gap"
    """Records were neither loaded nor set aside."""
    SURPLUS = "surplus"
    """At a forced flush more records were loaded than the partition has."""
    UNREADABLE = "unreadable"
    """An entry cannot be read."""
    VANISHED = "vanished"
    """An entry was deleted although its partition has one."""
    RESTARTED = "restarted"
    """The entry of a partition that was never begun stands in place of one that was."""
    TURNED_BACK = "turned-back"
    """A number that only grows went back: source or target offset, accepted losses."""
    EPOCH = "epoch"
    """The producer epoch of a transactional id went back: a fenced holder has written."""
    SEQUENCE = "sequence"
    """A producer's sequence went back, or ran ahead of the source offsets."""
    CUSTODY = "custody"
    """A partition was released by another producer than its holder, or went on while parked."""
    TOPIC = "topic"
    """The entry is about another topic of the same name."""
    STALE = "stale"
    """A held partition's entry was not renewed."""
    LOSS = "loss"
    """An operator accepted a loss."""
    UNSEEN = "unseen"
    """The entry before is not known, so that this one cannot be judged."""


class Weight(StrEnum):
    """Meaning of a finding for the operator."""

    ANOMALY = "anomaly"
    ACCEPTED = "accepted"
    """An operator accepted it, or deleted the topic."""
    UNKNOWN = "unknown"
    """Evidence is missing. Never to be taken for right."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Finding about one entry of a partition.

    Args:
        begin, end: offsets begin..end-1 that it is about; None where it is about no range.
        table: None for findings about the whole partition.
    """

    kind: Kind
    text: str
    weight: Weight = Weight.ANOMALY
    begin: int | None = None
    end: int | None = None
    table: str | None = None

    def __str__(self) -> str:
        table = f"table {self.table}: " if self.table else ""
        offsets = f" [{self.begin}, {self.end})" if self.begin is not None else ""
        return f"{table}{self.text}{offsets}"
