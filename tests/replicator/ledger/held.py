"""A ledger entry for tests: each says only what its claim is about."""

from dataclasses import replace
from typing import Any

from replicator.ledger.entry import Custody, Entry

HELD = Entry(
    custody=Custody.HELD,
    source_offset=0,
    target_offset=0,
    producer_id=1,
    epoch=0,
    sequence=0,
    transactional_id="sluice.west.east.0",
)


def held(**changes: Any) -> Entry:
    """Of a writer who began; what differs is given by name."""
    return replace(HELD, **changes)
