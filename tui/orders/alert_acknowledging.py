"""Acknowledging, silencing and reopening of alerts by an operator."""

from __future__ import annotations

from dataclasses import dataclass

from replicator.config.topology import Region
from replicator.notices.acknowledgement import Acknowledgement
from replicator.notices.acknowledgement_store import AcknowledgementStore
from tui.facts.alert import KEY_BEGINNINGS
from tui.orders.operator_events import note_event

KEY_CHARACTERS_MAX = 1000


class BadKey(ValueError):
    """The text is no key of an alert. `sluice alerts list` shows the keys."""


def check_key(key: str) -> None:
    """Raises BadKey for a text that no alert can have as its key."""
    kind, slash, rest = key.partition("/")
    if kind not in KEY_BEGINNINGS or not slash or not rest or len(key) > KEY_CHARACTERS_MAX:
        known = ", ".join(f"{each}/" for each in KEY_BEGINNINGS)
        raise BadKey(f"{key!r} is no key of an alert; keys begin with {known}")


@dataclass(frozen=True, slots=True)
class Acknowledging:
    """Acknowledging in one region's Redis. Blocking.

    Args:
        who: the operator, as user@host.
    """

    region: Region
    who: str
    timeout_seconds: float

    def put(
        self,
        key: str,
        why: str,
        now_ms: int,
        until_ms: int | None = None,
        extent: int | None = None,
    ) -> Acknowledgement:
        """Acknowledges an alert, or silences it until a time. Raises StoreUnreachable.

        Args:
            extent: the alert's, up to which it is acknowledged.
        """
        given = Acknowledgement(
            key=key, who=self.who, why=why, at_ms=now_ms, until_ms=until_ms, extent=extent
        )
        with self._store() as store:
            store.put(given)
        result = "acknowledged" if until_ms is None else "silenced"
        note_event(self.region, "alert", self.who, f"{key}: {why}", result)
        return given

    def withdraw(self, key: str) -> bool:
        """Opens an alert again; returns False if nobody had acknowledged or silenced it.

        Raises StoreUnreachable.
        """
        with self._store() as store:
            is_withdrawn = store.withdraw(key)
        if is_withdrawn:
            note_event(self.region, "alert", self.who, key, "reopened")
        return is_withdrawn

    def _store(self) -> AcknowledgementStore:
        return AcknowledgementStore(
            self.region.redis_url(), self.region.name, timeout_seconds=self.timeout_seconds
        )
