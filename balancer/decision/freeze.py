"""When so much is gone at once that it is sooner a fault of what looks than the truth."""

from __future__ import annotations

from dataclasses import dataclass

from balancer.decision.rules import Rules


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """How much there still is of what there was.

    Args:
        partitions, measured: that are carried, and of these the measured ones.
        was_measured: whether enough of them have ever been.
        placed, vanished: partitions that the last plan has, and of these the ones that are gone.
        vanished_seconds: for how long too many are.
        reporting, silent: carriers that should report, and of these the ones that do not.
    """

    partitions: int = 0
    measured: int = 0
    was_measured: bool = False
    placed: int = 0
    vanished: int = 0
    vanished_seconds: float = 0
    reporting: int = 0
    silent: int = 0

    def is_measured(self, rules: Rules) -> bool:
        """Whether enough partitions are."""
        return self.measured >= rules.measured_part_min * self.partitions

    def has_vanished(self, rules: Rules) -> bool:
        """Whether too many partitions have, however long ago."""
        return self.vanished > rules.vanished_part_max * self.placed

    def keeps_vanished(self, rules: Rules) -> bool:
        """Whether those that are gone are not believed to be."""
        return self.has_vanished(rules) and self.vanished_seconds < rules.frozen_seconds_max


def frozen(presence: Presence, rules: Rules) -> str | None:
    """Why nothing moves that need not, and no carrier is taken away; None: there is no reason."""
    reasons = []
    if presence.keeps_vanished(rules):
        reasons.append(f"{presence.vanished} of {presence.placed} partitions are gone at once")
    if presence.silent > rules.vanished_part_max * presence.reporting:
        reasons.append(f"{presence.silent} of {presence.reporting} carriers are silent")
    if presence.was_measured and not presence.is_measured(rules):
        reasons.append(f"only {presence.measured} of {presence.partitions} partitions are measured")
    return "; ".join(reasons) or None


@dataclass(frozen=True, slots=True)
class Freeze:
    """What is remembered of it; the times in milliseconds since 1970.

    Args:
        since_ms: None where nothing is frozen.
        vanished_since_ms: since when too many partitions are gone; None where they are not.
        was_measured: whether enough partitions have ever been measured.
    """

    since_ms: int | None = None
    vanished_since_ms: int | None = None
    was_measured: bool = False

    def after(self, presence: Presence, rules: Rules, now_ms: int) -> Freeze:
        """With what a round has found."""
        since_ms = now_ms if self.since_ms is None else self.since_ms
        vanished_ms = now_ms if self.vanished_since_ms is None else self.vanished_since_ms
        return Freeze(
            since_ms if frozen(presence, rules) else None,
            vanished_ms if presence.keeps_vanished(rules) else None,
            self.was_measured or (presence.partitions > 0 and presence.is_measured(rules)),
        )

    def seconds(self, now_ms: int) -> float:
        """For how long it has been frozen."""
        return 0.0 if self.since_ms is None else (now_ms - self.since_ms) / 1000

    def vanished_seconds(self, now_ms: int) -> float:
        """For how long too many partitions have been gone, if they still are."""
        return 0.0 if self.vanished_since_ms is None else (now_ms - self.vanished_since_ms) / 1000
