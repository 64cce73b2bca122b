"""Check that a plan may still be applied, by comparing it with a fresh plan.

Either the plan is written as it was confirmed, or nothing is (decision 0011). A fresh plan skips no
record, so a planned position that is not beyond the fresh one skips none either. If the group has
read on in the source since, it reads those records again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from balancer.topic_partition import TopicPartition
from replicator.groups.planning.checks import named
from replicator.groups.planning.failover_plan import Case, Check, Level, Move, Plan
from replicator.groups.planning.knowledge import Choice, LogRange, Request

MOVING = frozenset({Case.MOVES, Case.CHOSEN})


class PlanStale(Exception):
    """The plan is too old, or things have changed since. Nothing was changed; make a new plan."""


class Refused(Exception):
    """A check forbids the plan. Nothing was changed; solve what the check names."""

    def __init__(self, checks: Collection[Check]) -> None:
        self.checks = tuple(checks)
        super().__init__("; ".join(f"{check.name}: {check.text}" for check in self.checks))


@dataclass(frozen=True, slots=True)
class Recheck:
    """Reasons against applying a plan now; none when both fields are empty."""

    blocks: tuple[Check, ...] = ()
    stale: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Change since the plan was made -> the groups that it is about."""

    def raise_if_any(self, plan_id: str) -> None:
        """Raises Refused, else PlanStale: what blocks this plan would block a new one as well."""
        if self.blocks:
            raise Refused(self.blocks)
        if self.stale:
            reasons = "; ".join(f"{what}: {named(who)}" for what, who in self.stale.items())
            raise PlanStale(f"plan {plan_id} is stale: {reasons}; make a new plan")


def request_of(plan: Plan, groups: Collection[str]) -> Request:
    """Returns the request that the plan was made for, for some of its groups."""
    return Request(
        source=plan.source,
        target=plan.target,
        reason=plan.reason,
        groups=frozenset(groups),
        topics=None if plan.topics is None else frozenset(plan.topics),
        is_planned=plan.is_planned,
        choices={group: Choice(at) for group, at in plan.choices.items() if group in groups},
        may_go_back=frozenset(plan.may_go_back),
    )


def recheck(plan: Plan, fresh: Plan, logs: Mapping[TopicPartition, LogRange | None]) -> Recheck:
    """Compares a fresh plan, made for the same request, with the confirmed plan.

    Args:
        fresh: may have fewer groups: those that are still to be moved.
        logs: of the target, as they are now.
    """
    then = {each.group: each for each in plan.groups}
    stale: dict[str, set[str]] = defaultdict(set)
    back: set[str] = set()
    if None not in (plan.target_cluster_id, fresh.target_cluster_id) and (
        plan.target_cluster_id != fresh.target_cluster_id
    ):
        stale[f"it was made for another cluster than today's in {plan.target}"].update(then)
    for now in fresh.groups:
        before = then[now.group]
        if now.generation != before.generation:
            stale["its primary region was decided anew since"].add(now.group)
        moves = {each.topic_partition: each for each in before.moves}
        for move in now.moves:
            partition = move.topic_partition
            planned = moves.pop(partition, None)
            if changed := _changed(plan, planned, move, logs.get(partition)):
                stale[changed].add(now.group)
            elif planned and _goes_back(planned, move):
                back.add(now.group)
        if any(planned.resume is not None for planned in moves.values()):
            stale[f"its commits in {plan.source} are gone"].add(now.group)
    blocks = [check for check in fresh.blocks if check.name != "progress"]
    if unnamed := back - set(plan.may_go_back):
        text = f"has committed beyond the planned offset in {plan.target}: {named(unnamed)}"
        blocks.append(Check("progress", Level.BLOCK, text, tuple(sorted(unnamed))))
    return Recheck(tuple(blocks), {what: frozenset(who) for what, who in stale.items()})


def _changed(plan: Plan, then: Move | None, now: Move, log: LogRange | None) -> str:
    """Returns what has changed about a position; empty if the planned position is still right."""
    if now.case is Case.UNKNOWN:
        return ""  # The check "basis" reports this, and blocks.
    if then is None or then.case is not now.case:
        return f"another case in {now.topic}-{now.partition} ({now.case})"
    if then.case not in MOVING or then.resume is None:
        return ""
    if log is None or not log.start <= then.resume <= log.end:
        return f"{plan.target} no longer holds the planned offset"
    if now.resume is None or now.resume < then.resume:
        return f"went back in {plan.source}, or less is known of its progress"
    if any(now.vector.get(region, 0) < offset for region, offset in then.vector.items()):
        # The planned vector would have the group skip records that are unread by today's knowledge.
        return f"the planned vector is ahead of what was read in {now.topic}-{now.partition}"
    if plan.is_planned and now.committed != then.committed:
        return f"read on in {plan.source}"
    return ""


def _goes_back(then: Move, now: Move) -> bool:
    if then.resume is None or now.target_committed is None:
        return False
    return then.resume < now.target_committed
