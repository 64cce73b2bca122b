"""Reporting of a carrier to Redis: rates, lag and counts, for operators and the balancer."""

from __future__ import annotations

import time
from dataclasses import dataclass

from replicator.mirror.carrier.pace import Pace
from replicator.mirror.carrier.pipelines import Pipelines
from replicator.mirror.carrier.progress_committer import ProgressCommitter
from replicator.mirror.carrier.receipt_book import ReceiptBook
from replicator.mirror.offset_map.offset_feed import OffsetFeed


@dataclass(eq=False)
class Reporting:
    """Reporter of one carrier session.

    Args:
        receipts: holds the counts of earlier sessions as well.
    """

    pace: Pace
    pipelines: Pipelines
    committer: ProgressCommitter
    receipts: ReceiptBook
    feed: OffsetFeed

    async def report(self) -> None:
        """Reports all partitions as they are now, and the counts."""
        pipelines = self.pipelines.values()
        self.feed.report(self.pace.reports(pipelines, self.committer.parked, time.time()))
        self.count()

    def count(self) -> None:
        """Reports the counts so far; also called when the session has ended."""
        tally = self.receipts.tally
        self.feed.count(tally.id, tally.totals(self.receipts.carried(self.pipelines.values())))
