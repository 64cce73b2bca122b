"""Load of an upsert table: rows of few keys with versions, deletes, and records that are broken."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NamedTuple

from tests.replicator.batches.source_batches import Record
from tests.world.mirror.source_load import Sender

KEYS = 24
VERSIONS = 60
BROKEN = b"{broken"
OLD_MS = 86_400_000
"""Age of records that belong to the day before."""
SEND_COUNT_MAX, SENDS_PER_SECOND = 5, 0.8


class Told(NamedTuple):
    """Row that a record tells."""

    key: int
    version: int
    name: str
    is_delete: bool


@dataclass(slots=True)
class UpsertSender(Sender):
    """Producer for one partition."""

    old_share: float = 0.3
    old_ms: int = OLD_MS

    def _record(self, at: int, now: int) -> Record:
        number, dice = self.sent + at, self.dice
        row = {
            "id": dice.randrange(KEYS),
            "version": dice.randrange(VERSIONS),
            "name": f"{self.cluster.name} {self.place.partition} {number}",
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
    return Told(row["id"], row["version"], row["name"], bool(row["gone"]))
