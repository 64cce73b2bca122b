"""Refused records: what is counted and logged of records that became dead letters."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from aggregator.loader.counters import RECORDS_REFUSED
from aggregator.loader.loader_assignment import LoaderAssignment
from aggregator.loader.loader_counts import LoaderCounts
from aggregator.tables.decoded import DeadRecord
from balancer.topic_partition import TopicPartition
from replicator.runtime.report_once import ReportOnce

log = logging.getLogger(__name__)


@dataclass(eq=False)
class RefusedRecords:
    """Records of a loader that became dead letters."""

    assignment: LoaderAssignment
    loader_counts: LoaderCounts
    _reports: ReportOnce = field(init=False, default_factory=ReportOnce)

    def note(
        self, place: TopicPartition, table: str, dead: Sequence[DeadRecord], *, has_table: bool
    ) -> None:
        """Counts records of one block, and logs them if their reason is news.

        Args:
            table: that the records name; empty: none.
            has_table: the table exists.
        """
        if not dead:
            return
        wrong = "record" if has_table else "table" if table else "header"
        # A producer may name any number of tables that do not exist.
        known = table if has_table else ""
        self.loader_counts.add(RECORDS_REFUSED, place.topic, known, wrong, amount=len(dead))
        if self._reports.is_news((place, table), dead[0].reason):
            log.warning(
                "event=dead-letters %s %s-%d table=%s records=%d such as offset %d: %s",
                self.assignment.log_fields,
                *place,
                table,
                len(dead),
                dead[0].offset,
                dead[0].reason,
            )
