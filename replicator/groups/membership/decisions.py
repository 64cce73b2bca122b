"""Decisions about primary regions: those that one region knows, and new ones recorded there."""

from __future__ import annotations

from collections.abc import Iterable

from replicator.groups.membership.primary_log import PrimaryLog
from replicator.groups.membership.primary_region import PrimaryRegion, joined
from replicator.groups.membership.primary_store import PrimaryStore


class RegionDecisions:
    """Decisions in one region's own log and its Redis. Blocking."""

    def __init__(self, store: PrimaryStore, log: PrimaryLog) -> None:
        self._store = store
        self._log = log

    def all(self) -> dict[str, PrimaryRegion]:
        """Returns, by group, the record that counts of both.

        Redis alone may have been flushed, and the log alone has only what was decided in this
        region. A decision made without one of them may repeat a generation, and be overruled.

        Raises StoreUnreachable, AdminError or LogUnreadable.
        """
        sources = self._store.all(), self._log.read()
        return joined(record for records in sources for record in records.values())

    def record(self, new: Iterable[PrimaryRegion], known: Iterable[PrimaryRegion] = ()) -> None:
        """Records `new` in the log, then `new` and `known` in Redis, where all readers look.

        Raises:
            AdminError: nothing was recorded; for WriteUnknown, perhaps.
            StoreUnreachable: `new` is in the log, and `sluice offsets` copies it to Redis once that
                answers.
        """
        wanted = list(new)
        if wanted:
            self._log.write(wanted)
        self._store.write([*wanted, *known])
