"""Freeze of a route: so much is gone at once that a fault of the observation is more likely."""

from __future__ import annotations

from dataclasses import dataclass

MEASURED_PART_MIN = 0.8
"""Part of the partitions; the route freezes when fewer are measured, after as many once were."""
VANISHED_PART_MAX = 0.4
"""Part of the carriers or partitions; the route freezes when more carriers are silent, or when more
partitions are gone at once."""
FROZEN_SECONDS_MAX = 1800
"""Time after which partitions that are gone count as deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """Counts of partitions and carriers that are still present.

    Args:
        partitions, measured: partitions that are carried, and how many of them are measured.
        was_measured: True when enough partitions were measured at least once.
        placed, vanished: partitions of the last plan, and how many of them are gone.
        vanished_seconds: time for which too many partitions have been gone.
        reporting, silent: carriers that should report, and how many of them do not.
    """

    partitions: int = 0
    measured: int = 0
    was_measured: bool = False
    placed: int = 0
    vanished: int = 0
    vanished_seconds: float = 0
    reporting: int = 0
    silent: int = 0

    def is_measured(self) -> bool:
        """Returns True when enough partitions are measured."""
        return self.measured >= MEASURED_PART_MIN * self.partitions

    def has_vanished(self) -> bool:
        """Returns True when too many partitions are gone, for however long."""
        return self.vanished > VANISHED_PART_MAX * self.placed

    def keeps_vanished(self) -> bool:
        """Returns True while the vanished partitions are not believed to be deleted."""
        return self.has_vanished() and self.vanished_seconds < FROZEN_SECONDS_MAX

    @property
    def freeze_reason(self) -> str | None:
        """Reason why the route is frozen; None when it is not.

        A frozen route makes mandatory moves only, and loses no carrier.
        """
        reasons = []
        if self.keeps_vanished():
            reasons.append(f"{self.vanished} of {self.placed} partitions are gone at once")
        if self.silent > VANISHED_PART_MAX * self.reporting:
            reasons.append(f"{self.silent} of {self.reporting} carriers are silent")
        if self.was_measured and not self.is_measured():
            reasons.append(f"only {self.measured} of {self.partitions} partitions are measured")
        return "; ".join(reasons) or None


@dataclass(frozen=True, slots=True)
class Freeze:
    """State of the freeze between rounds; times in milliseconds since 1970.

    Args:
        since_ms: start of the freeze; None when the route is not frozen.
        vanished_since_ms: time since which too many partitions are gone; None when they are not, or
            when they are believed to be deleted.
        was_measured: True when enough partitions were measured at least once.
    """

    since_ms: int | None = None
    vanished_since_ms: int | None = None
    was_measured: bool = False

    def after(self, presence: Presence, now_ms: int) -> Freeze:
        """Returns the state after a round that found this presence."""
        since_ms = now_ms if self.since_ms is None else self.since_ms
        vanished_ms = now_ms if self.vanished_since_ms is None else self.vanished_since_ms
        return Freeze(
            since_ms if presence.freeze_reason else None,
            vanished_ms if presence.keeps_vanished() else None,
            self.was_measured or (presence.partitions > 0 and presence.is_measured()),
        )

    def shifted(self, by_ms: int) -> Freeze:
        """Returns the same freeze with all times so much later."""
        times = (self.since_ms, self.vanished_since_ms)
        since_ms, vanished_ms = (None if each is None else each + by_ms for each in times)
        return Freeze(since_ms, vanished_ms, self.was_measured)

    def seconds(self, now_ms: int) -> float:
        """Returns how long the route has been frozen."""
        return 0.0 if self.since_ms is None else (now_ms - self.since_ms) / 1000

    def vanished_seconds(self, now_ms: int) -> float:
        """Returns how long too many partitions have been gone; 0 when they are not."""
        return 0.0 if self.vanished_since_ms is None else (now_ms - self.vanished_since_ms) / 1000
