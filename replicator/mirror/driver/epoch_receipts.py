"""Receipts of each epoch: logged in one line, and kept in the folder of receipts."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from replicator.mirror.carrier.receipts import STATES, Receipt, from_arrow
from replicator.mirror.driver.receipts_folder import ReceiptsFolder

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)


class EpochReceipts:
    """Receipts of the epochs of one region."""

    def __init__(self, folder: ReceiptsFolder):
        self._folder = folder

    def keep(self, rows: pa.Table, epoch: int) -> None:
        """Logs and keeps the receipts of an epoch. Receipts are for people: a full disk must not
        stop the carriers, so a failure is only logged."""
        receipts = from_arrow(rows)
        if not receipts:
            return
        log.info("event=epoch-over epoch=%d %s", epoch, summary(receipts))
        for receipt in receipts:
            if receipt.state == "parked":
                log.error("event=is-parked %s", receipt)
        try:
            self._folder.add(receipts)
        except Exception:
            log.exception("event=receipts-lost epoch=%d receipts=%d", epoch, len(receipts))


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
