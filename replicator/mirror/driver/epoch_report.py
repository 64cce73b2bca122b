"""Report of each epoch: a line that sums it up, and a line for each parked partition."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from replicator.mirror.carrier.receipts import STATES, Receipt, from_arrow

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)


def report(rows: pa.Table, epoch: int) -> None:
    """Logs the receipts of an epoch."""
    receipts = from_arrow(rows)
    log.info("event=epoch-over epoch=%d %s", epoch, summary(receipts))
    for receipt in receipts:
        if receipt.state == "parked":
            log.error("event=is-parked %s", receipt)


def summary(receipts: Sequence[Receipt]) -> str:
    """Returns a line that sums up one epoch."""
    states = Counter(receipt.state for receipt in receipts)
    seconds = max(r.ended_at for r in receipts) - min(r.began_at for r in receipts)
    totals: dict[str, float] = {
        "plan": max(receipt.plan_version for receipt in receipts),
        "records": sum(receipt.records for receipt in receipts),
        "bytes": sum(receipt.bytes for receipt in receipts),
        "unopened": sum(receipt.batches_unopened for receipt in receipts),
        "opened": sum(receipt.batches_opened for receipt in receipts),
        "partitions": len(receipts),
        **{state: states[state] for state in STATES if states[state]},
        "seconds": round(seconds, 1),
    }
    return " ".join(f"{name}={value}" for name, value in totals.items())
