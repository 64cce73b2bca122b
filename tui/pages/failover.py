"""Page of the failover plans that are saved on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tui.facts.counted import counted
from tui.facts.moments import iso_zulu_text
from tui.pages.ages import age_text
from tui.pages.figures import UNKNOWN, digits_cell, text_cell
from tui.pages.group import regions_of
from tui.pages.page import Action, Cell, Column, Page, Row, Section
from tui.pages.plan import PlanPage, apply_actions, moved_counts, seconds_left, state_of, validity
from tui.pages.plan_forms import plan_actions

if TYPE_CHECKING:
    from tui.facts.plan_summary import PlanSummary
    from tui.facts.snapshot import Snapshot

STATES = {
    "BROKEN": ("bad", 0.0),
    "PARTLY": ("warn", 1.0),
    "VALID": ("good", 2.0),
    "BLOCKED": ("warn", 3.0),
    "EXPIRED": ("dim", 4.0),
    "APPLIED": ("", 5.0),
}
COLUMNS = (
    Column(
        "STATE",
        7,
        "VALID: can be applied; BLOCKED by a check; EXPIRED; APPLIED: all its groups live where it "
        "moved them; PARTLY: some do; BROKEN: no readable plan",
    ),
    Column("PLAN", 20, "id, which begins with the time in UTC"),
    Column("WAY", 11, "region that the groups leave, and the one that they move to"),
    Column("GROUPS", 6, "number of groups", is_right=True, priority=2),
    Column("LEFT", 6, "time for which it can be applied", is_right=True, priority=1),
    Column("AGE", 9, "time since it was made", is_right=True, priority=3),
    Column("REASON", 12, "of the operator who made it", grows=True, priority=4),
    Column("MAPPED", 12, "positions with a known resume offset, of all", priority=5),
    Column("VERB", 10, "failover or switchover: the command that made it", priority=6),
    Column("ENDS", 20, "time from which it cannot be applied", priority=7, is_printed_only=True),
)


@dataclass(frozen=True, slots=True)
class FailoverPage(Page):
    """Saved plans, the newest first."""

    name = "failover"

    def title(self, snapshot: Snapshot) -> str:
        """Returns the number of plans."""
        count = (
            "not known" if snapshot.plans is None else counted(len(snapshot.plans), "saved plan")
        )
        return f"failover   {count} on this machine"

    def sections(self, snapshot: Snapshot, now: float) -> Sequence[Section]:
        """Returns the table of plans."""
        section = plans_section(snapshot.plans, moved_counts(snapshot), now)
        if snapshot.plans is None:
            return (section,)
        return (replace(section, empty=f"{section.empty}: plan one with a key below"),)

    def opened(self, snapshot: Snapshot, row: Row) -> Page | None:
        """Returns the page of a plan."""
        found = self._plan(snapshot, row)
        return None if found is None or found.broken else PlanPage(found.plan_id)

    def actions(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[Action]:
        """Returns new plans, and what can be done with the plan under the cursor."""
        regions = regions_of(snapshot)
        return (*plan_actions(regions), *apply_actions(self._plan(snapshot, row), now))

    def notes(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[str]:
        """Returns the reason of a plan, and its groups."""
        found = self._plan(snapshot, row)
        if found is None or found.broken:
            return ()
        return (f"{found.verb} {found.way}: {found.reason}", f"groups: {', '.join(found.groups)}")

    def _plan(self, snapshot: Snapshot, row: Row | None) -> PlanSummary | None:
        key = None if row is None else row.key
        return next((each for each in snapshot.plans or () if each.plan_id == key), None)


def plans_section(
    plans: Sequence[PlanSummary] | None, moved: Mapping[str, int] | None, now: float
) -> Section:
    """Returns the table of saved plans; of None it says that they are not known yet.

    Args:
        moved: by plan, the number of groups that live where they do by it; None: not known.
    """
    return Section(
        "plans",
        COLUMNS,
        [row_of(each, moved, now) for each in plans or ()],
        empty="saved plans are not known yet"
        if plans is None
        else "no plan is saved on this machine",
        sort=("AGE",),
    )


def row_of(plan: PlanSummary, moved: Mapping[str, int] | None, now: float) -> Row:
    """Returns the row of a plan."""
    state = state_of(plan, None if moved is None else moved.get(plan.plan_id, 0), now)
    tone, place = STATES[state]
    if plan.broken:
        known = {
            "STATE": Cell(state, tone, place),
            "PLAN": text_cell(plan.plan_id),
            "REASON": text_cell(plan.broken),
        }
        cells = tuple(known.get(column.title, text_cell(UNKNOWN)) for column in COLUMNS)
        return Row(plan.plan_id, cells, is_fault=True, why=plan.broken)
    age, left = now - plan.made_at_ms / 1000, seconds_left(plan, now)
    return Row(
        key=plan.plan_id,
        cells=(
            Cell(state, tone, place),
            text_cell(plan.plan_id, "bold"),
            text_cell(plan.way),
            digits_cell(len(plan.groups)),
            Cell(age_text(left), sort=left, full=f"{left:.0f} s")
            if left > 0
            else Cell("-", sort=0.0),
            Cell(age_text(age), sort=age, full=f"{age:.0f} s"),
            text_cell(plan.reason),
            Cell(f"{plan.mapped} of {plan.asked}", sort=plan.mapped),
            text_cell(plan.verb),
            text_cell(iso_zulu_text(plan.valid_until_ms)),
        ),
        is_fault=state in ("PARTLY", "BLOCKED"),
        why="" if state != "BLOCKED" else f"{validity(plan, now)}",
    )
