"""Plans as text for people: the verdict first, details last."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from replicator.groups.planning.checks import named
from tui.commands.text import NONE, joined, table
from tui.facts.counted import counted
from tui.facts.moments import utc_text

if TYPE_CHECKING:
    from replicator.groups.planning.plan import Check, Count, GroupPlan, Move, Plan

ROWS_MAX = 40
"""Maximum number of positions to list by default; a plan with more is shown by group."""


def plan_text(
    plan: Plan, now_ms: int, *, by_partition: bool, config: str = "", is_saved: bool = True
) -> str:
    """Formats everything a person needs to decide on a plan.

    Args:
        config: --config option for the command that is suggested next; may be empty.
        is_saved: False when the plan could not be saved; no command is suggested then.
    """
    rows = sum(len(each.moves) for each in plan.groups)
    parts = [head(plan, now_ms), checks_table(plan.checks)]
    if by_partition or rows <= ROWS_MAX:
        parts.append(moves_table(plan))
    else:
        parts.append(groups_table(plan.groups))
        parts.append(f"{rows} positions; --partitions shows each of them")
    parts.append(next_step(plan, now_ms, config, is_saved=is_saved))
    return "\n\n".join(part for part in parts if part)


def head(plan: Plan, now_ms: int) -> str:
    whole = plan.completeness
    age = "of unknown age" if plan.age_ms is None else f"{plan.age_ms / 1000:.1f} s old"
    lines = [
        ("plan", f"{plan.id}: {verb(plan)} of {counted(len(plan.groups), 'group')}, {way(plan)}"),
        ("reason", plan.reason),
        ("made", f"{utc_text(plan.created_at_ms)}, {validity(plan, now_ms)}"),
        ("mapped", f"{whole.mapped} of {whole.asked} positions, exactly {whole.exact}"),
        ("copies", age),
    ]
    return joined([verdict(plan, now_ms), *(f"  {name:<7} {text}" for name, text in lines)])


def verdict(plan: Plan, now_ms: int) -> str:
    names = ", ".join(check.name for check in plan.blocks)
    if plan.is_blocked:
        return f"CANNOT BE APPLIED: blocked by {names}"
    if plan.is_expired(now_ms):
        return "CANNOT BE APPLIED: expired; make a new plan"
    if held_back := plan.held_back:
        some = f"{len(plan.groups) - len(held_back)} of {counted(len(plan.groups), 'group')}"
        return f"CAN BE APPLIED to {some}: {named(held_back)} blocked by {names}"
    return "CAN BE APPLIED"


def verb(plan: Plan) -> str:
    return "switchover" if plan.is_planned else "failover"


def way(plan: Plan) -> str:
    """Returns SOURCE:TARGET, the text that --confirm requires."""
    return f"{plan.source}:{plan.target}"


def validity(plan: Plan, now_ms: int) -> str:
    left_seconds = (plan.expires_at_ms - now_ms) // 1000
    if left_seconds <= 0:
        return f"expired {-left_seconds} s ago"
    return f"valid for another {left_seconds} s, until {utc_text(plan.expires_at_ms)}"


def checks_table(checks: Sequence[Check]) -> str:
    return table(("CHECK", "", "FOUND"), [(it.name, it.level.value, it.text) for it in checks])


def next_step(plan: Plan, now_ms: int, config: str, *, is_saved: bool) -> str:
    if plan.is_blocked:
        return "Nothing was changed. Solve what blocks it, then plan again."
    if plan.is_expired(now_ms):
        return f"It was made to be applied within minutes. Whether it was: {verify(plan, config)}"
    if not is_saved:
        return "Nothing was changed. It could not be saved, so it cannot be applied."
    left = named(plan.held_back)
    what = f"To do it, and leave {left} where it is" if left else "To do it"
    return (
        f"Nothing was changed. {what}:\n"
        f"  sluice {verb(plan)} apply {plan.id}{config} --confirm {way(plan)}"
    )


def verify(plan: Plan, config: str) -> str:
    return f"sluice {verb(plan)} verify {plan.id}{config}"


def moves_table(plan: Plan) -> str:
    heads = ("GROUP", "TOPIC", "PARTITION", "COMMITTED", "RESUME", "BASIS", "READ AGAIN")
    rows = [
        (
            group,
            move.topic,
            move.partition,
            NONE if move.committed is None else move.committed,
            NONE if move.resume is None else move.resume,
            move.basis_or_case,
            read_again(move),
            None if move.not_replicated is None else str(move.not_replicated),
            "; ".join(move.notes),
        )
        for group, move in plan.moves()
    ]
    return table((*heads, "NOT REPLICATED", "NOTES"), rows) if rows else ""


def read_again(move: Move) -> str | None:
    if not move.is_mapped:
        return NONE
    return None if move.read_again is None else str(move.read_again)


def groups_table(groups: Iterable[GroupPlan]) -> str:
    heads = ("GROUP", "LIVES IN", "POSITIONS", "EXACT", "FLOOR", "OTHER", "READ AGAIN", "GONE")
    return table(heads, [group_row(each) for each in groups])


def group_row(group: GroupPlan) -> tuple[object, ...]:
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
