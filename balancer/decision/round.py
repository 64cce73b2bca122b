"""Round of a route: decides if the route is planned anew, and which partitions move.

The moves of a sticky plan show how well the route is balanced. A pause, a cool-down or a freeze
holds back voluntary moves, but not the plan itself: in every round all partitions have a carrier.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from balancer.decision.balance_alerts import RoundAlert, alerts_of
from balancer.decision.carriers import round_inputs
from balancer.decision.lag import Lag
from balancer.decision.placement import Placement, voluntary
from balancer.decision.settings import Limits, Rules
from balancer.decision.state import RoundState
from balancer.decision.triggered_plan import triggered_plan
from balancer.decision.triggers import Trigger
from balancer.decision.view import Orders, RoundView

__all__ = ["Decision", "Orders", "RoundState", "RoundView", "decide"]


@dataclass(frozen=True, slots=True)
class Decision:
    """Result of a round.

    Args:
        state: state for the next round; to be kept even when nothing is published.
        placement: placement to publish, as the generation of `state`; None without a change.
        triggers: triggers that were found, even if their moves are held back.
        alerts: alerts of the route.
        held: reason why only mandatory moves are made; None when all moves are allowed.
    """

    state: RoundState
    placement: Placement | None
    triggers: tuple[Trigger, ...]
    alerts: tuple[RoundAlert, ...]
    held: str | None


def decide(view: RoundView, limits: Limits, rules: Rules) -> Decision:
    """Decides a round; the same view gives the same decision, byte for byte.

    Raises ValueError that names the partition when a share is no valid load.
    """
    before = view.before
    # 1. What holds voluntary moves back.
    presence = view.presence
    freeze_reason = presence.freeze_reason
    held = _held(view, freeze_reason, rules)
    is_held, is_frozen = held is not None, freeze_reason is not None
    # 2. How many carriers there are, and what they may carry.
    kept = view.vanished if presence.keeps_vanished() else ()
    inputs = round_inputs(view, limits, kept=kept, is_frozen=is_frozen, is_held=is_held)
    # 3. Which events call for a plan, and the plan that answers them.
    lag = before.lag.observed(view.lag_seconds, rules, view.now_ms)
    is_blind = is_held and (is_frozen or view.degraded is not None)
    plan = triggered_plan(view, inputs, lag, limits, rules, is_blind=is_blind, is_held=is_held)
    # 4. A plan that changes nothing is not published.
    published, carriers = plan.placement, tuple(inputs.route.carriers)
    if published and (published.where, carriers) == (before.where, before.carriers):
        published = None
    # 5. What the next round has to know.
    state = replace(
        before,
        wanted=inputs.wanted,
        drifting_rounds=plan.drifting_rounds,
        lag=lag if is_held or plan.is_put_off else _answered(lag, plan.triggers, view.now_ms),
        off_peak_day=plan.off_peak_day,
        freeze=before.freeze.after(presence, view.now_ms),
    )
    if published:
        state = _moved(state, published, carriers, view.now_ms)
    # 6. What operators have to know.
    alerts = alerts_of(view, inputs, state, limits, rules, freeze_reason)
    return Decision(state, published, plan.triggers, alerts, held)


def _held(view: RoundView, freeze_reason: str | None, rules: Rules) -> str | None:
    """Returns why only mandatory moves are made; None when all moves are allowed.

    If loads are known, a manual plan overrides a pause, a freeze and a cool-down.
    """
    if view.degraded is not None:
        return f"loads are not known: {view.degraded}"
    if view.orders.by_hand is not None:
        return None
    if view.orders.paused:
        return "moves are paused"
    if freeze_reason is not None:
        return f"frozen: {freeze_reason}"
    moved_at_ms = view.before.moved_at_ms
    if moved_at_ms is None:
        return None
    until_ms = moved_at_ms + round(1000 * rules.cool_down_seconds)
    if view.now_ms >= until_ms:
        return None
    return f"cool-down until {datetime.fromtimestamp(until_ms / 1000, UTC):%H:%M:%S} UTC"


def _answered(lag: Lag, triggers: tuple[Trigger, ...], now_ms: int) -> Lag:
    if Trigger.LAG in triggers or Trigger.LAG_STAYS in triggers:
        return lag.planned(now_ms, is_full_plan=Trigger.LAG_STAYS in triggers)
    return lag


def _moved(
    state: RoundState, published: Placement, carriers: tuple[int, ...], now_ms: int
) -> RoundState:
    """Returns the state in which the published placement is active."""
    moved = bool(voluntary(published.moves))
    is_calmed = moved or len(carriers) < len(state.carriers)
    return replace(
        state,
        where=published.where,
        carriers=carriers,
        generation=state.generation + 1,
        moved_at_ms=now_ms if is_calmed else state.moved_at_ms,
        drifting_rounds=0 if moved else state.drifting_rounds,
    )
