"""What an audit says of a partition or a topic, from what was counted there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum

from replicator.audit.tally import Tally


class Verdict(StrEnum):
    """The first that holds, from the worst on."""

    MISSING = "missing"
    """Records of the source are not in the target, though the ledger has passed them."""
    SURPLUS = "surplus"
    """Records are in the target that readers of the source do not see, or see once."""
    CHANGED = "changed"
    """Records are in their places, and are not the same."""
    INCOMPLETE = "incomplete"
    """No difference was found in what could be compared, and not all of it could be."""
    BEHIND = "behind"
    """All that the ledger has passed is equal, and there is more that it has not."""
    EQUAL = "equal"

    @property
    def is_difference(self) -> bool:
        return self in (Verdict.MISSING, Verdict.SURPLUS, Verdict.CHANGED)


def verdict(counted: Tally) -> Verdict:
    """Never equal where anything could not be compared."""
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
    """One line of the answer; `partition` None: the whole topic."""

    route: str
    topic: str
    partition: int | None
    counted: Tally = field(default_factory=Tally)

    @property
    def verdict(self) -> Verdict:
        return verdict(self.counted)


def by_topic(rows: Iterable[Row]) -> list[Row]:
    """A row for each topic of each route, in the order of its first partition.

    What is said of a partition is said with its number.
    """
    found: dict[tuple[str, str], Tally] = {}
    for row in rows:
        place = row.route, row.topic
        found[place] = found.get(place, Tally()) + _named(row)
    return [Row(*place, None, counted) for place, counted in found.items()]


def _named(row: Row) -> Tally:
    def named(texts: Iterable[str]) -> tuple[str, ...]:
        return tuple(f"partition {row.partition}: {text}" for text in texts)

    counted = row.counted
    return replace(counted, examples=named(counted.examples), notes=named(counted.notes))
