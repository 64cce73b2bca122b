"""Reports what a carrier does: rates, lag and counts, to Redis, for people and for the balancer."""

from __future__ import annotations

import time

from replicator.carrier.lanes import Lanes
from replicator.carrier.pace import Pace
from replicator.carrier.receipt_book import ReceiptBook
from replicator.carrier.scribe import Scribe
from replicator.offsets.offset_feed import OffsetFeed


class Reporting:
    """One stint's.

    Args:
        book: has the counts of the stints before this one.
    """

    def __init__(
        self, *, pace: Pace, lanes: Lanes, scribe: Scribe, book: ReceiptBook, feed: OffsetFeed
    ):
        self._pace = pace
        self._lanes = lanes
        self._scribe = scribe
        self._book = book
        self._feed = feed

    async def report(self) -> None:
        """All partitions as they are now."""
        lanes = self._lanes.values()
        self._feed.report(self._pace.reports(lanes, self._scribe.parked, time.time()))
        self.count()

    def count(self) -> None:
        """All that was counted so far; also once the stint has ended."""
        tally = self._book.tally
        self._feed.count(tally.id, tally.totals(self._book.carried(self._lanes.values())))
