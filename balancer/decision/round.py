"""Round of a route: decides if the route is planned anew, and which partitions move.

The moves of a sticky plan show how well the route is balanced. A pause, a cool-down or a freeze
holds back voluntary moves, but not the plan itself: in every round all partitions have a carrier.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from balancer.decision import alerts
from balancer.decision.alerts import Alert
from balancer.decision.cap import voluntary
from balancer.decision.freeze import Presence, frozen
from balancer.decision.ground import Ground, ground
from balancer.decision.limits import Limits
from balancer.decision.loads import loads
from balancer.decision.monitor import Lag
from balancer.decision.occasion import occasion
from balancer.decision.placement import Placement
from balancer.decision.round_view import Orders, RoundView
from balancer.decision.rules import Rules
from balancer.decision.standing import Standing
from balancer.decision.triggers import Trigger
from balancer.plan import TopicPartition

__all__ = ["Decision", "Orders", "RoundView", "Standing", "decide"]


@dataclass(frozen=True, slots=True)
class Decision:
    """Result of a round.

    Args:
        standing: state for the next round; to be kept even when nothing is published.
        placement: placement to publish, as the generation of `standing`; None without a change.
        triggers: triggers that were found, even if their moves are held back.
        alerts: alerts of the route.
        held: reason why only mandatory moves are made; None when all moves are allowed.
    """

    standing: Standing
    placement: Placement | None
    triggers: tuple[Trigger, ...]
    alerts: tuple[Alert, ...]
    held: str | None


def decide(view: RoundView, limits: Limits, rules: Rules) -> Decision:
    """Decides a round; the same view gives the same decision, byte for byte.

    Raises ValueError that names the partition when a share is no valid load.
    """
    before = view.standing or Standing()
    presence = _presence(view, before)
    frozen_for = frozen(presence)
    held = _held(view, before, frozen_for, rules)
    found = ground(
        view,
        limits,
        kept=_vanished(view, before) if presence.keeps_vanished() else (),
        is_frozen=frozen_for is not None,
        is_held=held is not None,
    )
    lag = before.lag.observed(view.lag_seconds, rules, view.now_ms)
    is_blind = held is not None and (frozen_for is not None or view.degraded is not None)
    done = occasion(view, found, lag, limits, rules, is_blind=is_blind, is_held=held is not None)
    published = done.placement
    carriers = tuple(found.route.carriers)
    if published and before.carriers == carriers and published.where == before.where:
        published = None
    standing = replace(
        before,
        wanted=found.wanted,
        drifting_rounds=done.drifting_rounds,
        lag=lag if held or done.is_put_off else _answered(lag, done.triggers, view.now_ms),
        off_peak_day=done.off_peak_day,
        freeze=before.freeze.after(presence, view.now_ms),
    )
    if published:
        standing = _moved(standing, published, carriers, view.now_ms)
    return Decision(
        standing,
        published,
        done.triggers,
        _alerts(view, limits, rules, found, standing, frozen_for),
        held,
    )


def _presence(view: RoundView, before: Standing) -> Presence:
    # New partitions cannot have been measured yet.
    known = view.partitions & before.where.keys() if before.where else view.partitions
    reporting = set(before.where.values())
    return Presence(
        partitions=len(known),
        measured=len(known & view.measured),
        # While nothing can be measured, the alert for unknown loads says so already.
        was_measured=before.freeze.was_measured and view.degraded is None,
        placed=len(before.where),
        vanished=len(_vanished(view, before)),
        vanished_seconds=before.freeze.vanished_seconds(view.now_ms),
        reporting=len(reporting),
        silent=len(reporting & view.silent),
    )


def _vanished(view: RoundView, before: Standing) -> Set[TopicPartition]:
    return before.where.keys() - view.partitions - view.withdrawn


def _held(view: RoundView, before: Standing, frozen_for: str | None, rules: Rules) -> str | None:
    """Returns why only mandatory moves are made; None when all moves are allowed.

    If loads are known, a manual plan overrides a pause, a freeze and a cool-down.
    """
    if view.degraded is not None:
        return f"loads are not known: {view.degraded}"
    if view.orders.by_hand is not None:
        return None
    if view.orders.paused:
        return "moves are paused"
    if frozen_for is not None:
        return f"frozen: {frozen_for}"
    if before.moved_at_ms is None:
        return None
    until_ms = before.moved_at_ms + round(1000 * rules.cool_down_seconds)
    if view.now_ms >= until_ms:
        return None
    return f"cool-down until {datetime.fromtimestamp(until_ms / 1000, UTC):%H:%M:%S} UTC"


def _answered(lag: Lag, triggers: tuple[Trigger, ...], now_ms: int) -> Lag:
    if Trigger.LAG in triggers or Trigger.LAG_STAYS in triggers:
        return lag.planned(now_ms, is_all_anew=Trigger.LAG_STAYS in triggers)
    return lag


def _moved(
    standing: Standing, published: Placement, carriers: tuple[int, ...], now_ms: int
) -> Standing:
    """Returns the state in which the published placement is active."""
    moved = bool(voluntary(published.moves))
    is_calmed = moved or len(carriers) < len(standing.carriers)
    return replace(
        standing,
        where=published.where,
        carriers=carriers,
        generation=standing.generation + 1,
        moved_at_ms=now_ms if is_calmed else standing.moved_at_ms,
        drifting_rounds=0 if moved else standing.drifting_rounds,
    )


def _alerts(
    view: RoundView,
    limits: Limits,
    rules: Rules,
    found: Ground,
    standing: Standing,
    frozen_for: str | None,
) -> tuple[Alert, ...]:
    shares, first = found.route.shares, view.first_carrier
    counts = Counter({first + at: n for at, n in Counter(standing.where.values()).items()})
    pins = {each: first + at for each, at in found.impossible.items()}
    excluded = {first + at: why for at, why in view.orders.excluded.items()}
    given = [
        *alerts.degraded(view.degraded),
        *alerts.frozen(frozen_for, standing.freeze.seconds(view.now_ms)),
        *alerts.executors_fewer(view.slots, len(counts), view.carriers_elsewhere),
        *alerts.lagging(standing.lag.lagging(rules, view.now_ms), view.lag_seconds),
        *alerts.doubted(view.doubts, shares),
        *alerts.pins_impossible(pins, excluded),
        *alerts.homeless(counts, limits),
    ]
    if view.degraded is None:
        by_carrier = loads(standing.where, shares, standing.carriers)
        overloaded = {
            first + at: load
            for at, load in by_carrier.items()
            if load > 1 and counts[first + at] > 1
        }
        given += alerts.hot_partitions(shares, limits.threshold)
        given += alerts.resize(found.wanted, overloaded, view.slots, view.carriers_elsewhere)
    return tuple(given)
