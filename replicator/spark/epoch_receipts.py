"""Receipts of each epoch: reported in the log, and kept in the folder of receipts."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from replicator.spark.receipts_folder import ReceiptsFolder

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)


class EpochReceipts:
    """Receipts of the epochs of one region.

    Args:
        schema: columns of the files; a time `ended_at` is among them.
        report: logs the receipts of an epoch.
    """

    def __init__(
        self, folder: ReceiptsFolder, schema: pa.Schema, report: Callable[[pa.Table, int], None]
    ):
        self._folder = folder
        self._schema = schema
        self._report = report

    def keep(self, rows: pa.Table, epoch: int) -> None:
        """Reports and keeps the receipts of an epoch. Receipts are for people: a full disk must
        not stop the tasks, so a failure is only logged."""
        if not rows.num_rows:
            return
        self._report(rows, epoch)
        try:
            self._folder.add(rows.cast(self._schema))
        except Exception:
            log.exception("event=receipts-lost epoch=%d receipts=%d", epoch, rows.num_rows)
