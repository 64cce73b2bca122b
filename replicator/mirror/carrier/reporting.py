"""Reporting of a carrier to Redis: rates, lag and counts, for operators and the balancer."""

from __future__ import annotations

import time

from replicator.mirror.carrier.pace import Pace
from replicator.mirror.carrier.pipelines import Pipelines
from replicator.mirror.carrier.progress_committer import ProgressCommitter
from replicator.mirror.carrier.receipt_book import ReceiptBook
from replicator.mirror.offset_map.offset_feed import OffsetFeed


class Reporting:
    """Reporter of one carrier session.

    Args:
        receipts: holds the counts of earlier sessions as well.
    """

    def __init__(
        self,
        *,
        pace: Pace,
        pipelines: Pipelines,
        committer: ProgressCommitter,
        receipts: ReceiptBook,
        feed: OffsetFeed,
    ):
        self._pace = pace
        self._pipelines = pipelines
        self._committer = committer
        self._receipts = receipts
        self._feed = feed

    async def report(self) -> None:
        """Reports all partitions as they are now, and the counts."""
        pipelines = self._pipelines.values()
        self._feed.report(self._pace.reports(pipelines, self._committer.parked, time.time()))
        self.count()

    def count(self) -> None:
        """Reports the counts so far; also called when the session has ended."""
        tally = self._receipts.tally
        self._feed.count(tally.id, tally.totals(self._receipts.carried(self._pipelines.values())))
