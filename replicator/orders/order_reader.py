"""Reader of the records of the topic sluice.balance, whoever has written them."""

from __future__ import annotations

import logging

from replicator.orders.flaws import flaw
from replicator.orders.order_log import KeyedRecord
from replicator.orders.order_records import AnyRecord, UnreadableRecord, decode, key_of
from replicator.runtime.report_once import ReportOnce

logger = logging.getLogger(__name__)


class FlawedRecord(ValueError):
    """The driver or the balancer could not apply the record. Correct it as the text says."""


class OrderReader:
    """Reader of keys and values. Logs unreadable and flawed records, and leaves them out."""

    def __init__(self) -> None:
        self._reports = ReportOnce()

    def read(self, key: object, value: bytes | None, where: str) -> KeyedRecord | None:
        """Returns a record by its key; None for one that is left out.

        Args:
            where: place of the record in the topic, for the log.
        """
        if not isinstance(key, bytes):
            return None
        if value is None:
            return key, None
        try:
            return key, checked(key, decode(value))
        except UnreadableRecord as unreadable:
            if self._reports.is_news(str(unreadable)):
                logger.warning("event=order-unreadable %s: %s; it is left out", where, unreadable)
        except FlawedRecord as flawed:
            if self._reports.is_news(str(flawed)):
                logger.warning("event=order-flawed %s: %s; it is left out", where, flawed)
        return None


def checked(key: bytes, record: AnyRecord) -> AnyRecord:
    """Returns the record. Raises FlawedRecord if it has a flaw."""
    own = key_of(record)
    wrong = flaw(record) if key == own else "its key belongs to another record"
    if wrong:
        raise FlawedRecord(f"{own.decode()} written by {record.who!r}: {wrong}")
    return record
