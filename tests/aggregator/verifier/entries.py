"""Entries for tests of the verifier, and their commits."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from aggregator.intents import intent
from aggregator.intents.intent import Intent
from aggregator.intents.table_range import TableRange
from replicator.kafka.client.custody import Custody
from replicator.kafka.client.loss import Loss, LossKind
from replicator.kafka.protocol.commit_record import Commit
from replicator.mirror.ledger import entry
from replicator.mirror.ledger.entry import Entry

TOPIC_ID = UUID(int=1)
LOSS = Loss(LossKind.RETENTION_PASSED, 5, 9)


def held(**fields: Any) -> Intent:
    """Returns an intent that a loader holds, with nothing in flight."""
    return Intent(
        **{
            "custody": Custody.HELD,
            "offset": 10,
            "reference": 0,
            "count": 10,
            "producer_id": 7,
            "epoch": 3,
            "transactional_id": "sluice.feed.flights.0",
            "topic_id": TOPIC_ID,
            **fields,
        }
    )


def adopted(**fields: Any) -> Intent:
    """Returns the first intent of a partition."""
    return held(
        **{
            "custody": Custody.RELEASED,
            "offset": 0,
            "count": 0,
            "producer_id": -1,
            "epoch": -1,
            "transactional_id": "sluice.feed.flights.free",
            **fields,
        }
    )


def block(begin: int, end: int) -> dict[str, TableRange]:
    return {"flights": TableRange(begin, end, end - begin, "abcd", 1_000)}


def carried(**fields: Any) -> Entry:
    """Returns a ledger entry that a carrier holds."""
    return Entry(
        **{
            "custody": Custody.HELD,
            "source_offset": 100,
            "target_offset": 200,
            "producer_id": 7,
            "epoch": 3,
            "sequence": 50,
            "transactional_id": "sluice.west.east.0",
            "source_topic": TOPIC_ID,
            "target_topic": UUID(int=2),
            **fields,
        }
    )


def commit(value: Intent | Entry, at_ms: int = 1_000) -> Commit:
    """Returns the commit of an entry as a broker keeps it."""
    encode: Any = intent.encode if isinstance(value, Intent) else entry.encode
    return Commit(*encode(value), at_ms)
