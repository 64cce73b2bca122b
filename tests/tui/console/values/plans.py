"""Saved plans."""

from __future__ import annotations

from tests.tui.console.values.times import NOW_MS
from tui.facts.plan_summary import PlanCheck, PlanPosition, PlanSummary


def plan_summary() -> PlanSummary:
    """Returns a saved plan that can be applied."""
    return PlanSummary(
        plan_id="20261121-143639-f1fd",
        source="west",
        target="east",
        reason="west lost power",
        made_at_ms=NOW_MS - 28_000,
        valid_until_ms=NOW_MS + 272_000,
        is_blocked=False,
        groups=("billing", "fraud"),
        checks=(
            PlanCheck(name="age", result="pass", text="copies 0.2 s old"),
            PlanCheck(name="map", result="warn", text="1 position by the floor"),
        ),
        positions=(
            PlanPosition(
                group="billing",
                topic="trades",
                partition=0,
                committed=43,
                resume=40,
                basis="floor",
                read_again=3,
                read_again_bound="at most",
                not_replicated=0,
                not_replicated_bound="at least",
            ),
        ),
        positions_count=1,
        age_ms=200,
        asked=1,
        mapped=1,
    )
