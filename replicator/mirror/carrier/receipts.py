"""Receipts: the amount that one carrier shipped of one partition in one epoch.

Receipts are the rows of an epoch's Spark job. Progress never depends on them: it is in the ledger.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import pyarrow as pa

State = Literal["released", "unreleased", "parked"]
STATES: tuple[State, ...] = ("released", "unreleased", "parked")


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Figures of one partition of one route under one carrier, for one epoch.

    Offset ranges are half open. `source_begin` is where the carrier began, `source_end` the next
    source offset to carry; both are None if the carrier never held the partition. Target offsets
    are None if nothing was shipped. Times are unix seconds.
    """

    route: str
    """Name of the route, as in west>east."""
    topic: str
    partition: int
    carrier: int
    plan_version: int
    source_begin: int | None = None
    source_end: int | None = None
    target_begin: int | None = None
    target_end: int | None = None
    records: int = 0
    bytes: int = 0
    """Size of the record batches as they stand in the target's log."""
    batches_unopened: int = 0
    batches_opened: int = 0
    state: State = "unreleased"
    """released: all batches are acknowledged, and the next carrier continues at once. unreleased:
    the next carrier must take over. parked: stopped for `reason` until an operator decides."""
    reason: str = ""
    """Reason why the partition is or was parked, or could not be acquired; empty otherwise."""
    began_at: float
    ended_at: float = 0.0

    def __str__(self) -> str:
        """Returns the text for a log line."""
        shipped = "never held"
        if self.source_end is not None:
            shipped = f"[{self.source_begin}, {self.source_end}) {self.records} records"
        why = f": {self.reason}" if self.reason else ""
        return f"{self.route} {self.topic}-{self.partition} {shipped} {self.state}{why}"


TIME = pa.timestamp("us", tz="UTC")
SCHEMA = pa.schema(
    [
        ("route", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("carrier", pa.int32()),
        ("plan_version", pa.int64()),
        ("source_begin", pa.int64()),
        ("source_end", pa.int64()),
        ("target_begin", pa.int64()),
        ("target_end", pa.int64()),
        ("records", pa.int64()),
        ("bytes", pa.int64()),
        ("batches_unopened", pa.int64()),
        ("batches_opened", pa.int64()),
        ("state", pa.string()),
        ("reason", pa.string()),
        ("began_at", TIME),
        ("ended_at", TIME),
    ]
)


def to_arrow(receipts: Iterable[Receipt]) -> pa.RecordBatch:
    """Returns one row per receipt, with the column types of SCHEMA."""
    return pa.RecordBatch.from_pylist([_row(receipt) for receipt in receipts], schema=SCHEMA)


def from_arrow(rows: pa.RecordBatch | pa.Table) -> list[Receipt]:
    """Returns the receipts that `to_arrow` wrote."""
    return [_receipt(row) for row in rows.to_pylist()]


def _row(receipt: Receipt) -> dict[str, Any]:
    row = asdict(receipt)
    for name in ("began_at", "ended_at"):
        row[name] = datetime.fromtimestamp(row[name], UTC)
    return row


def _receipt(row: dict[str, Any]) -> Receipt:
    times = {name: row[name].timestamp() for name in ("began_at", "ended_at")}
    return Receipt(**{**row, **times})
