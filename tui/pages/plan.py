"""Page of one saved failover plan: its checks, and where each group would resume."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tui.facts.counted import counted
from tui.pages.ages import age_text
from tui.pages.figures import (
    NONE,
    UNKNOWN,
    digits_cell,
    number_cell,
    offset_width,
    text_cell,
    whole,
)
from tui.pages.group import BASES
from tui.pages.page import Action, Cell, Column, Page, Row, Section

if TYPE_CHECKING:
    from tui.facts.plan_summary import PlanCheck, PlanPosition, PlanSummary
    from tui.facts.snapshot import Snapshot

NO_PLAN = "no plan under the cursor"
CHECKS_MIN = 4
"""Checks that are shown, the worst first; all of those that do not pass are."""
RESULTS = {"block": ("BLOCK", "bad", 0.0), "warn": ("WARN", "warn", 1.0), "pass": ("PASS", "", 2.0)}
CHECK_COLUMNS = (
    Column("RESULT", 6, "BLOCK holds back the groups that it names; WARN is for you to judge"),
    Column("CHECK", 15, "name"),
    Column("FOUND", 30, "what was found when the plan was made", grows=True),
)
BOUNDS = {"exact": "", "at most": "<=", "at least": ">="}


@dataclass(frozen=True, slots=True)
class PlanPage(Page):
    """Checks and positions of one plan."""

    plan_id: str

    name = "failover"

    def title(self, snapshot: Snapshot) -> str:
        """Returns id, way and number of groups."""
        plan = self._plan(snapshot)
        if plan is None:
            return f"failover > {self.plan_id}"
        return f"{plan.verb} > {plan.plan_id}   {plan.way}   {counted(len(plan.groups), 'group')}"

    def sections(self, snapshot: Snapshot, now: float) -> Sequence[Section]:
        """Returns the tables of checks and positions."""
        plan = self._plan(snapshot)
        if plan is None:
            gone = "the plan is no longer saved on this machine"
            return (Section("checks", CHECK_COLUMNS, (), empty=gone),)
        mapped = f"mapped {plan.mapped} of {plan.asked}, exactly {plan.exact}"
        return (
            replace(checks_section(plan), heading=heading_of(plan, moved_counts(snapshot), now)),
            replace(positions_section(plan), heading=mapped),
        )

    def actions(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[Action]:
        """Returns apply and verify."""
        return apply_actions(self._plan(snapshot), now)

    def notes(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[str]:
        """Returns the whole text of a check, or the remarks on a position, and the reason."""
        plan = self._plan(snapshot)
        if plan is None:
            return ()
        key = None if row is None else row.key
        found = next((each for each in plan.positions if position_key(each) == key), None)
        return (*(found.notes if found else ()), f"reason: {plan.reason}")

    def _plan(self, snapshot: Snapshot) -> PlanSummary | None:
        plans = snapshot.plans or ()
        return next((each for each in plans if each.plan_id == self.plan_id), None)


def checks_section(plan: PlanSummary) -> Section:
    """Returns the table of a plan's checks."""
    shown = sum(each.result != "pass" for each in plan.checks)
    return Section(
        "checks",
        CHECK_COLUMNS,
        [check_row(each) for each in plan.checks],
        empty="no check was made",
        sort=("RESULT",),
        rows_max=max(CHECKS_MIN, shown),
    )


def positions_section(plan: PlanSummary) -> Section:
    """Returns the table of a plan's positions."""
    too_many = f"{plan.positions_count} positions: `sluice failover show {plan.plan_id}`"
    return Section(
        "positions",
        position_columns(plan.positions),
        [position_row(each) for each in plan.positions],
        empty=too_many if plan.positions_count else "no position would be moved",
        sort=("GROUP", "TOPIC", "PART"),
    )


def apply_actions(plan: PlanSummary | None, now: float) -> tuple[Action, ...]:
    """Returns the actions on a plan: A applies it, V reads back what the target has of it."""
    plan_id = plan.plan_id if plan else ""
    verb = plan.verb if plan else "failover"
    way = plan.way if plan else ""
    why_off = NO_PLAN if plan is None else "it is no readable plan" if plan.broken else None
    blocked = None if plan is None or why_off else why_not_applied(plan, now)
    return (
        Action(
            "A",
            "apply",
            (verb, "apply", plan_id, "--confirm", way),
            confirmation=way or "no plan",
            why_off=why_off or blocked,
        ),
        Action("V", "verify", (verb, "verify", plan_id), why_off=why_off),
    )


def why_not_applied(plan: PlanSummary, now: float) -> str | None:
    """Returns why a plan cannot be applied; None when it can."""
    if plan.is_blocked:
        return f"blocked by {', '.join(blocks_of(plan))}: solve that, then plan again"
    if now >= plan.valid_until_ms / 1000:
        return "it has expired: make a new plan"
    return None


def blocks_of(plan: PlanSummary) -> list[str]:
    """Returns the names of the checks that block a plan."""
    return [each.name for each in plan.checks if each.result == "block"]


def verdict(plan: PlanSummary, now: float) -> str:
    """Returns whether a plan can be applied, to which of its groups, and else why not."""
    blocks = ", ".join(blocks_of(plan))
    if plan.is_blocked:
        return f"CANNOT BE APPLIED: blocked by {blocks}"
    if (left := seconds_left(plan, now)) <= 0:
        return f"CANNOT BE APPLIED: expired {age_text(-left)} ago; make a new plan"
    if plan.held_back:
        some = f"{len(plan.groups) - len(plan.held_back)} of {counted(len(plan.groups), 'group')}"
        # Not at the top: numpy and pydantic would be loaded before the first frame.
        from replicator.groups.planning.checks import named

        return f"CAN BE APPLIED to {some}: {named(plan.held_back)} blocked by {blocks}"
    return "CAN BE APPLIED"


def validity(plan: PlanSummary, now: float) -> str:
    """Returns the verdict, and for how long a plan can be applied."""
    found, left = verdict(plan, now), seconds_left(plan, now)
    is_over = plan.is_blocked or left <= 0
    return found if is_over else f"{found}, valid for another {age_text(left)}"


def seconds_left(plan: PlanSummary, now: float) -> float:
    """Returns the seconds until a plan expires; negative once it has."""
    return plan.valid_until_ms / 1000 - now


def state_of(plan: PlanSummary, moved: int | None, now: float) -> str:
    """Returns the state of a plan in one word.

    Args:
        moved: number of groups that live where they do by this plan; None: not known.
    """
    if plan.broken:
        return "BROKEN"
    if moved:
        return "APPLIED" if moved >= len(plan.groups) else "PARTLY"
    if plan.is_blocked:
        return "BLOCKED"
    return "VALID" if now < plan.valid_until_ms / 1000 else "EXPIRED"


def moved_counts(snapshot: Snapshot) -> Mapping[str, int] | None:
    """Returns, by plan, the number of groups that live where they do by it; None: not known."""
    if snapshot.groups is None:
        return None
    return Counter(each.plan_id for each in snapshot.groups if each.plan_id is not None)


def heading_of(plan: PlanSummary, moved: Mapping[str, int] | None, now: float) -> str:
    """Returns the verdict, the age of the copies, and how many groups it has moved."""
    parts = [validity(plan, now)]
    parts.append("copies of unknown age" if plan.age_ms is None else f"copies {copies_text(plan)}")
    count = UNKNOWN if moved is None else str(moved.get(plan.plan_id, 0))
    if count != "0":
        parts.append(f"moved {count} of {counted(len(plan.groups), 'group')}")
    return "   ".join(parts)


def copies_text(plan: PlanSummary) -> str:
    """Returns the age of the copies that a plan was made from."""
    return f"{age_text((plan.age_ms or 0) / 1000)} old"


def check_row(check: PlanCheck) -> Row:
    """Returns the row of a check."""
    text, tone, place = RESULTS.get(check.result, (check.result, "warn", 0.0))
    return Row(
        key=f"check {check.name}",
        cells=(Cell(text, tone, place), text_cell(check.name), text_cell(check.text)),
        is_fault=check.result != "pass",
        why=check.text,
    )


def position_columns(positions: Sequence[PlanPosition]) -> tuple[Column, ...]:
    """Returns the columns of positions, wide enough for their offsets."""
    committed = offset_width("COMMITTED", (each.committed for each in positions))
    basis = max([5, *(len(each.basis) for each in positions)])
    resume = offset_width("RESUME", (each.resume for each in positions))
    return (
        Column("GROUP", 12, "consumer group", grows=True),
        Column("TOPIC", 10, "topic"),
        Column("PART", 4, "partition", is_right=True),
        Column("COMMITTED", committed, "in the region that it leaves", is_right=True, priority=2),
        Column("RESUME", resume, "offset at which it goes on in the target", is_right=True),
        Column("BASIS", basis, "exact: the first unread record; floor: not past it", priority=1),
        Column("READ AGAIN", 10, "records read again; <= at most", is_right=True, priority=1),
        Column(
            "NOT REPLICATED", 14, "records not replicated; >= at least", is_right=True, priority=3
        ),
        Column("NOTES", 20, "remarks on the position", priority=4, is_printed_only=True),
    )


def position_key(position: PlanPosition) -> str:
    """Returns the key of a position's row."""
    return f"{position.group} {position.topic}-{position.partition}"


def position_row(position: PlanPosition) -> Row:
    """Returns the row of a position."""
    return Row(
        key=position_key(position),
        cells=(
            text_cell(position.group),
            text_cell(position.topic),
            digits_cell(position.partition),
            offset_cell(position.committed),
            offset_cell(position.resume, "bold"),
            text_cell(position.basis, BASES.get(position.basis, "bad")),
            count_cell(position.read_again, position.read_again_bound)
            if position.is_mapped
            else Cell(NONE),
            count_cell(position.not_replicated, position.not_replicated_bound),
            text_cell("; ".join(position.notes)),
        ),
        is_fault=position.basis not in BASES,
        topic=position.topic,
        group=position.group,
    )


def offset_cell(offset: int | None, tone: str = "") -> Cell:
    """Returns the cell of an offset; None: there is none."""
    return Cell(NONE) if offset is None else Cell(whole(offset), tone, offset, str(offset))


def count_cell(count: int | None, bound: str) -> Cell:
    """Returns the cell of a number of records with its bound."""
    cell = number_cell(bounded(count, bound), count)
    if count is None:
        return cell
    return replace(cell, full=str(count) if bound == "exact" else f"{bound} {count}")


def bounded(count: int | None, bound: str) -> str:
    """Returns a count with its bound: 3, <=3, >=0."""
    return f"{BOUNDS.get(bound, '')}{whole(count)}" if count is not None else UNKNOWN
