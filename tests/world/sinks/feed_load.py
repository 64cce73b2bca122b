"""Load of a feed: JSON records of several tables, and records that cannot be loaded."""

from __future__ import annotations

import json
from dataclasses import dataclass

from tests.replicator.batches.source_batches import Record
from tests.world.mirror.source_load import Sender

TABLES = ("flights", "delays")
HEADER = "table"
BROKEN = b"{broken"
"""Begin of values that are no JSON."""


@dataclass(frozen=True, slots=True)
class ExpectedRows:
    """Destination of one record: rows of a table, or a dead letter.

    Args:
        table: that the record names.
        rows: id and name of each row; empty for a dead letter.
        value: of a record that becomes a dead letter.
    """

    table: str
    rows: tuple[tuple[int, str], ...] = ()
    value: bytes | None = None

    @property
    def is_dead(self) -> bool:
        return not self.rows


@dataclass(slots=True)
class FeedSender(Sender):
    """Producer of a feed's records for one partition."""

    def _record(self, at: int, now: int) -> Record:
        number, dice = self.sent + at, self.dice
        table = dice.choices([*TABLES, "nowhere", ""], [60, 36, 2, 2])[0]
        headers = ((HEADER, table.encode()),) if table else ()
        rows = [
            {"id": number, "name": f"näme {number}-{row}"} for row in range(dice.choice([1, 1, 2]))
        ]
        value = json.dumps(rows if len(rows) > 1 else rows[0]).encode()
        if dice.random() < 0.03:
            value = BROKEN + value
        return Record(at, now, b"k%d" % number, value, headers)


def wanted(record: Record) -> ExpectedRows:
    """Returns the destination of a record, by a rule of its own."""
    table = dict(record.headers).get(HEADER, b"") or b""
    value = record.value or b""
    if table.decode() not in TABLES or value.startswith(BROKEN):
        return ExpectedRows(table.decode(), value=record.value)
    found = json.loads(value)
    rows = found if isinstance(found, list) else [found]
    return ExpectedRows(table.decode(), tuple((row["id"], row["name"]) for row in rows))
