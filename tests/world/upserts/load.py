"""Load of an upsert table: rows of few keys with versions, deletes, and records that are broken."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NamedTuple

from tests.replicator.batches.source_batches import Record
from tests.world.mirror.source_load import Sender

VERSIONS = 60
BROKEN = b"{broken"
SEND_COUNT_MAX, SENDS_PER_SECOND = 5, 0.8


class Told(NamedTuple):
    """Row that a record tells.

    Args:
        at_ms: timestamp of the record.
    """

    key: int
    version: int
    name: str
    is_delete: bool
    at_ms: int


@dataclass(slots=True)
class UpsertSender(Sender):
    """Producer for one partition."""

    keys: int = 24
    old_range_ms: tuple[int, int] = (0, 0)
    """Ages of old records, of which each batch draws one."""

    async def _batch(self, count: int, is_transactional: bool) -> list[bytes]:
        least, most = self.old_range_ms
        self.old_ms = self.dice.randint(least, most) if least < most else least
        return await super(UpsertSender, self)._batch(count, is_transactional)

    def _record(self, at: int, now: int) -> Record:
        number, dice = self.sent + at, self.dice
        row = {
            "id": dice.randrange(self.keys),
            "version": dice.randrange(VERSIONS),
            "name": f"{self.cluster.name} {self.place.partition} {number} at {now}",
            "gone": int(dice.random() < 0.15),
        }
        value = json.dumps(row).encode()
        if dice.random() < 0.03:
            value = BROKEN + value
        return Record(at, now, b"k%d" % number, value)


def told(value: bytes) -> Told | None:
    """Returns the row of a record; None for one that becomes a dead letter."""
    if value.startswith(BROKEN):
        return None
    row = json.loads(value)
    at_ms = int(row["name"].rpartition(" ")[2])
    return Told(row["id"], row["version"], row["name"], bool(row["gone"]), at_ms)
