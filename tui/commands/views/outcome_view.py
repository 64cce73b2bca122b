"""Outcomes of applied plans as text for people: what is done first, the offsets last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from replicator.groups.failover.outcome import GroupOutcome, Outcome
from tui.commands.plan_text import ROWS_MAX
from tui.commands.text import NONE, table


def outcome_text(outcome: Outcome, *, by_partition: bool) -> str:
    """Formats an outcome: what is done, what is not and why, then the offsets by partition."""
    parts = [_head(outcome), _groups_table(outcome.groups)]
    rows = list(_position_rows(outcome.groups))
    if rows and (by_partition or len(rows) <= ROWS_MAX):
        heads = ("GROUP", "TOPIC", "PARTITION", "BEFORE", "PLANNED", "NOW")
        parts.append(table(heads, rows))
    return "\n\n".join(part for part in parts if part)


def _head(outcome: Outcome) -> str:
    done, left = len(outcome.done), len(outcome.not_done)
    what = f"plan {outcome.plan_id}: {done} of {done + left} groups go on in {outcome.target}"
    if not outcome.is_known:
        return f"NOT KNOWN: {what} for certain"
    if not left:
        return f"DONE: {what}"
    return f"{'PARTLY' if done else 'NOT'} DONE: {what}"


def _groups_table(groups: Iterable[GroupOutcome]) -> str:
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
