"""What one region knows to be decided about where groups live, and what is decided there now."""

from __future__ import annotations

from collections.abc import Iterable

from replicator.groups.primary_log import PrimaryLog
from replicator.groups.primary_region import PrimaryRegion, joined
from replicator.groups.primary_store import PrimaryStore


class RegionDecisions:
    """Of one region's own log and its Redis. Blocking."""

    def __init__(self, store: PrimaryStore, log: PrimaryLog) -> None:
        self._store = store
        self._log = log

    def all(self) -> dict[str, PrimaryRegion]:
        """By group, the record that counts of both.

        Redis alone may have been flushed, and the log alone has only what was decided here. Whoever
        decides without one of them may give a generation that was given before, and be overruled.

        Raises StoreUnreachable, AdminError or LogUnreadable.
        """
        told = self._store.all(), self._log.read()
        return joined(record for records in told for record in records.values())

    def record(self, new: Iterable[PrimaryRegion], known: Iterable[PrimaryRegion] = ()) -> None:
        """Records `new` where it lasts, then in Redis with `known`, where everybody looks.

        Raises:
            AdminError: nothing was recorded; or, WriteUnknown, perhaps.
            StoreUnreachable: it is recorded, and `sluice offsets` tells Redis once it is back.
        """
        wanted = list(new)
        if wanted:
            self._log.write(wanted)
        self._store.write([*wanted, *known])
