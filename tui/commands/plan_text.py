"""Plans, the list of them, and outcomes as text for people: the verdict first, details last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from replicator.groups.planning.checks import named
from tui.commands.text import joined, page_text, section_text, table
from tui.facts.counted import counted
from tui.facts.moments import utc_text
from tui.facts.plan_summary import PlanList, PlanSummary, plan_summary
from tui.pages.failover import plans_section
from tui.pages.figures import NONE
from tui.pages.plan import checks_section, positions_section, verdict

if TYPE_CHECKING:
    from replicator.groups.failover.outcome import GroupOutcome, Outcome
    from replicator.groups.planning.failover_plan import Count, GroupPlan, Plan

ROWS_MAX = 40
"""Maximum number of positions to list by default; a plan with more is shown by group."""
LISTED_TITLES = (
    "PLAN",
    "VERB",
    "WAY",
    "GROUPS",
    "AGE",
    "STATE",
    "LEFT",
    "ENDS",
    "MAPPED",
    "REASON",
)
CHECK_TITLES = ("CHECK", "RESULT", "FOUND")
GROUP_HEADS = ("GROUP", "LIVES IN", "POSITIONS", "EXACT", "FLOOR", "OTHER", "READ AGAIN", "GONE")


def plans_text(found: PlanList, now: float) -> str:
    """Formats the saved plans, and files that are no readable plans, as a table."""
    return page_text([plans_section(found.plans, None, now).only(LISTED_TITLES)])


def plan_text(
    plan: Plan, now_ms: int, *, by_partition: bool, config: str = "", is_saved: bool = True
) -> str:
    """Formats everything a person needs to decide on a plan.

    Args:
        config: --config option for the command that is suggested next; may be empty.
        is_saved: False when the plan could not be saved; no command is suggested then.
    """
    shown = plan_summary(plan)
    parts = [_head(shown, now_ms)]
    if shown.checks:
        parts.append(section_text(checks_section(shown).only(CHECK_TITLES)))
    if by_partition or shown.positions_count <= ROWS_MAX:
        parts.append(section_text(positions_section(shown)))
    else:
        parts.append(table(GROUP_HEADS, map(_group_row, plan.groups)))
        parts.append(f"{shown.positions_count} positions; --partitions shows each of them")
    parts.append(_next_step(shown, now_ms, config, is_saved=is_saved))
    return "\n\n".join(parts)


def _head(plan: PlanSummary, now_ms: int) -> str:
    age = "of unknown age" if plan.age_ms is None else f"{plan.age_ms / 1000:.1f} s old"
    groups = counted(len(plan.groups), "group")
    lines = [
        ("plan", f"{plan.plan_id}: {plan.verb} of {groups}, {plan.way}"),
        ("reason", plan.reason),
        ("made", f"{utc_text(plan.made_at_ms)}, {_time_left(plan, now_ms)}"),
        ("mapped", f"{plan.mapped} of {plan.asked} positions, exactly {plan.exact}"),
        ("copies", age),
    ]
    first = verdict(plan, now_ms / 1000)
    return joined([first, *(f"  {name:<7} {text}" for name, text in lines)])


def _time_left(plan: PlanSummary, now_ms: int) -> str:
    left_seconds = (plan.valid_until_ms - now_ms) // 1000
    if left_seconds <= 0:
        return f"expired {-left_seconds} s ago"
    return f"valid for another {left_seconds} s, until {utc_text(plan.valid_until_ms)}"


def _next_step(plan: PlanSummary, now_ms: int, config: str, *, is_saved: bool) -> str:
    if plan.is_blocked:
        return "Nothing was changed. Solve what blocks it, then plan again."
    if now_ms >= plan.valid_until_ms:
        verify = f"sluice {plan.verb} verify {plan.plan_id}{config}"
        return f"It was made to be applied within minutes. Whether it was: {verify}"
    if not is_saved:
        return "Nothing was changed. It could not be saved, so it cannot be applied."
    left = named(plan.held_back)
    what = f"To do it, and leave {left} where it is" if left else "To do it"
    return (
        f"Nothing was changed. {what}:\n"
        f"  sluice {plan.verb} apply {plan.plan_id}{config} --confirm {plan.way}"
    )


def _group_row(group: GroupPlan) -> tuple[object, ...]:
    moves = [move for move in group.moves if move.is_mapped]
    exact = sum(move.basis == "exact" for move in moves)
    return (
        group.group,
        group.primary_region or NONE,
        len(group.moves),
        exact,
        len(moves) - exact,
        len(group.moves) - len(moves),
        total(move.read_again for move in moves),
        sum(move.retention_took for move in moves),
    )


def total(counts: Iterable[Count | None]) -> str | None:
    """Returns the sum, after "at most" unless all counts are exact; None when one is unknown."""
    found = list(counts)
    known = [count for count in found if count is not None]
    if len(known) < len(found):
        return None
    bound = "" if all(count.bound == "exact" for count in known) else "at most "
    return f"{bound}{sum(count.records for count in known)}"


def outcome_text(outcome: Outcome, *, by_partition: bool) -> str:
    """Formats an outcome: what is done, what is not and why, then the offsets by partition."""
    parts = [_outcome_head(outcome), _outcome_table(outcome.groups)]
    rows = list(_position_rows(outcome.groups))
    if rows and (by_partition or len(rows) <= ROWS_MAX):
        heads = ("GROUP", "TOPIC", "PARTITION", "BEFORE", "PLANNED", "NOW")
        parts.append(table(heads, rows))
    return "\n\n".join(part for part in parts if part)


def _outcome_head(outcome: Outcome) -> str:
    done, left = len(outcome.done), len(outcome.not_done)
    what = f"plan {outcome.plan_id}: {done} of {done + left} groups go on in {outcome.target}"
    if not outcome.is_known:
        return f"NOT KNOWN: {what} for certain"
    if not left:
        return f"DONE: {what}"
    return f"{'PARTLY' if done else 'NOT'} DONE: {what}"


def _outcome_table(groups: Iterable[GroupOutcome]) -> str:
    """Formats the groups as a table; groups that are not done come first."""
    ordered = sorted(groups, key=lambda each: (each.state.is_done, each.group))
    return table(
        ("GROUP", "IS", "POSITIONS", "WHY"),
        [(it.group, it.state.value, len(it.positions), it.why) for it in ordered],
    )


def _position_rows(groups: Iterable[GroupOutcome]) -> Iterator[tuple[object, ...]]:
    for each in groups:
        known = each.state.value != "unknown"
        for at in each.positions:
            before = NONE if at.before is None else at.before
            after = NONE if known and at.after is None else at.after
            yield each.group, at.topic, at.partition, before, at.resume, after


def advice(outcome: Outcome) -> list[str]:
    """Returns lines that say what to do about groups that were not moved."""
    lines = []
    held_back = set(outcome.not_done) & outcome.held_back - set(outcome.overtaken)
    if set(outcome.not_done) - set(outcome.overtaken) - held_back:
        lines.append("mend what is named, then apply the plan again: it goes on where it ended")
    if held_back:
        counted = f"left where they are: {len(held_back)} of {len(outcome.groups)} groups"
        lines.append(f"{counted}: solve what blocks them, and make a new plan for them")
    if outcome.overtaken:
        counted = f"overtaken: {len(outcome.overtaken)} of {len(outcome.groups)} groups"
        lines.append(
            f"{counted}, which this plan does not finish any more: if they are not where they "
            "should be, make a new plan for them"
        )
    return lines
