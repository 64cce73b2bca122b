"""Reads records of primary regions where others may have written too; says once what is not one."""

from __future__ import annotations

import logging

from replicator.groups.primary_region import PrimaryRegion, UnreadableRecord, decode

logger = logging.getLogger(__name__)


class PrimaryReader:
    def __init__(self, name: str) -> None:
        """`name` of the server, for people."""
        self._name = name
        self._said: set[str] = set()

    def read(self, text: str | bytes, where: str) -> PrimaryRegion | None:
        """None where it cannot be read, which is said once for each reason."""
        try:
            return decode(text)
        except UnreadableRecord as unreadable:
            if str(unreadable) not in self._said:
                self._said.add(str(unreadable))
                logger.warning(
                    "event=decision-unreadable %s: %s: %s; it is left out",
                    self._name,
                    where,
                    unreadable,
                )
            return None
