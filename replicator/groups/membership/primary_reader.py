"""Reader of primary region records in places where others may write too; logs invalid ones once."""

from __future__ import annotations

import logging

from replicator.groups.membership.primary_region import PrimaryRegion, UnreadableRecord, decode
from replicator.runtime.report_once import ReportOnce

logger = logging.getLogger(__name__)


class PrimaryReader:
    def __init__(self, name: str) -> None:
        """`name` is the server's name for people."""
        self._name = name
        self._reports = ReportOnce()

    def read(self, text: str | bytes, where: str) -> PrimaryRegion | None:
        """Returns the record; None if it is unreadable, which is logged once for each reason."""
        try:
            return decode(text)
        except UnreadableRecord as unreadable:
            if self._reports.is_news(str(unreadable)):
                logger.warning(
                    "event=decision-unreadable %s: %s: %s; it is left out",
                    self._name,
                    where,
                    unreadable,
                )
            return None
