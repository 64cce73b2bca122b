"""Load of a feed: JSON records of several tables, and records that cannot be loaded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.replicator.batches.source_batches import Record
from tests.world.mirror.source_load import Sender
from tests.world.sinks.letter_view import Content

TABLES = ("flights", "delays")
MANY_TABLES = (*TABLES, "gates", "crews", "fares", "bags")
"""Tables of a feed of which most stand still."""
HEADER = "table"
BROKEN = b"{broken"
"""Begin of values that are no JSON."""
POISON, FATAL = b'{"poison"', b'{"fatal"'
"""Begins of values at which decoders, and loaders, fail where the course says so."""


@dataclass(frozen=True, slots=True)
class ExpectedRows:
    """Destination of one record: rows of a table, or a dead letter.

    Args:
        table: that the record names.
        rows: id and name of each row; empty for a dead letter.
        content: key and value of a record that becomes a dead letter.
        is_fatal: its loader fails at it.
    """

    table: str
    rows: tuple[tuple[int, str], ...] = ()
    content: Content = (None, None)
    is_fatal: bool = False

    @property
    def is_dead(self) -> bool:
        return not self.rows


@dataclass(slots=True)
class FeedSender(Sender):
    """Producer of a feed's records for one partition."""

    weights: Mapping[str, int] = field(default_factory=lambda: {"flights": 60, "delays": 36})
    """Tables of the records, with their shares."""
    filling: int = 0
    """Characters by which each row is longer."""

    def _record(self, at: int, now: int) -> Record:
        number, dice = self.sent + at, self.dice
        names, weights = list(self.weights), list(self.weights.values())
        table = dice.choices([*names, "nowhere", ""], [*weights, 2, 2])[0]
        headers = ((HEADER, table.encode()),) if table else ()
        filling = "-" * self.filling
        rows = [
            {"id": number, "name": f"näme {number}-{row}{filling}"}
            for row in range(dice.choice([1, 1, 2]))
        ]
        value = json.dumps(rows if len(rows) > 1 else rows[0]).encode()
        if dice.random() < 0.03:
            value = BROKEN + value
        return Record(at, now, b"k%d" % number, value, headers)


def wanted(record: Record) -> ExpectedRows:
    """Returns the destination of a record, by a rule of its own."""
    table = dict(record.headers).get(HEADER, b"") or b""
    value = record.value or b""
    if table.decode() not in MANY_TABLES or value.startswith((BROKEN, POISON)):
        return ExpectedRows(table.decode(), content=(record.key, record.value))
    found = json.loads(value)
    rows = found if isinstance(found, list) else [found]
    is_fatal = value.startswith(FATAL)
    expected = tuple((row["id"], row["name"]) for row in rows)
    return ExpectedRows(table.decode(), expected, is_fatal=is_fatal)
