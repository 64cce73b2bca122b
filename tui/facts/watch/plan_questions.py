"""Question for the saved plans of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from replicator.config.topology import Appliance
from replicator.groups.failover.plan_files import PlanFiles, PlanMissing, PlanNotKept
from replicator.groups.planning.plan import BrokenPlan, Count, GroupPlan, Move, Plan, UnknownPlan
from replicator.runtime.store_errors import StoreUnreachable
from tui.facts.part import THIS_MACHINE
from tui.facts.plan_summary import PlanCheck, PlanPosition, PlanSummary
from tui.facts.watch.question import Answers, Key, Question
from tui.facts.watch.saved_plans import plan_folder

CADENCE_SECONDS = 2.0
"""A new plan is applied soon after it was made, and an older one must not stand in its place."""
PLANS_MAX = 100
"""Newest plans that are shown; files are kept for ever, and `sluice failover list` has them all."""
POSITIONS_MAX = 10_000
"""Positions that are kept of all plans together, the newest first. A plan of 500 groups of 64 has
32 000."""

PLANS_KEY = Key(THIS_MACHINE, "saved plans")


def plan_questions(appliance: Appliance) -> list[Question]:
    """Returns the question for saved plans; no server is asked."""
    watch = PlanWatch(plan_folder(appliance))
    return [Question(key=PLANS_KEY, cadence_seconds=CADENCE_SECONDS, ask=watch.read)]


def plan_fields(answers: Answers, now: float) -> dict[str, object]:
    """Returns the snapshot's field `plans`."""
    return {"plans": answers.value(PLANS_KEY)}


class PlanWatch:
    """Watch of a folder of plans. A file is read again only once it has changed.

    Args:
        load: loads a plan by its id; by default that of PlanFiles.
        plans_max: newest plans that are read.
        positions_max: positions that are kept of all of them.
    """

    def __init__(
        self,
        folder: Path,
        load: Callable[[str], Plan] | None = None,
        plans_max: int = PLANS_MAX,
        positions_max: int = POSITIONS_MAX,
    ) -> None:
        self._folder = folder
        self._plans_max, self._positions_max = plans_max, positions_max
        self._load = load or PlanFiles(folder).load
        self._known: dict[str, tuple[tuple[int, int], PlanSummary]] = {}

    def read(self) -> tuple[PlanSummary, ...]:
        """Returns the newest plans, oldest first. Raises StoreUnreachable."""
        try:
            found = list(self._newest())
        except (OSError, PlanNotKept) as error:
            raise StoreUnreachable(f"saved plans: {error}") from error
        self._known = {name: (stamp, summary) for name, stamp, summary in found}
        return tuple(summary for _, _, summary in reversed(found))

    def _newest(self) -> Iterator[tuple[str, tuple[int, int], PlanSummary]]:
        left = self._positions_max
        names = sorted((path.stem for path in self._folder.glob("*.json")), reverse=True)
        for name in names[: self._plans_max]:
            try:
                status = (self._folder / f"{name}.json").stat()
                stamp = status.st_mtime_ns, status.st_size
                summary = self._summary(name, stamp, left)
            except (FileNotFoundError, PlanMissing):
                continue  # removed meanwhile
            left -= len(summary.positions)
            yield name, stamp, summary

    def _summary(self, name: str, stamp: tuple[int, int], positions_max: int) -> PlanSummary:
        known = self._known.get(name)
        if known is not None and known[0] == stamp and len(known[1].positions) <= positions_max:
            return known[1]
        try:
            return plan_summary(self._load(name), positions_max)
        except (BrokenPlan, UnknownPlan) as error:
            return broken_plan(name, error)


def plan_summary(plan: Plan, positions_max: int) -> PlanSummary:
    """Returns the summary of a plan; without positions where there are more than the maximum."""
    count = sum(len(each.moves) for each in plan.groups)
    positions: tuple[PlanPosition, ...] = ()
    if count <= positions_max:
        positions = tuple(_position(each, move) for each in plan.groups for move in each.moves)
    return PlanSummary(
        plan_id=plan.id,
        source=plan.source,
        target=plan.target,
        reason=plan.reason,
        made_at_ms=plan.created_at_ms,
        valid_until_ms=plan.expires_at_ms,
        is_blocked=plan.is_blocked,
        held_back=tuple(plan.held_back),
        groups=tuple(each.group for each in plan.groups),
        checks=tuple(
            PlanCheck(name=each.name, result=each.level.value.lower(), text=each.text)
            for each in plan.checks
        ),
        positions=positions,
        positions_count=count,
        verb="switchover" if plan.is_planned else "failover",
        age_ms=plan.age_ms,
        asked=plan.completeness.asked,
        mapped=plan.completeness.mapped,
        exact=plan.completeness.exact,
    )


def broken_plan(name: str, error: BrokenPlan | UnknownPlan) -> PlanSummary:
    """Returns the summary of a file that is no readable plan."""
    return PlanSummary(plan_id=name, broken=str(error))


def _position(group: GroupPlan, move: Move) -> PlanPosition:
    again, missing = move.read_again if move.is_mapped else None, move.not_replicated
    return PlanPosition(
        group=group.group,
        topic=move.topic,
        partition=move.partition,
        committed=move.committed,
        resume=move.resume,
        basis=move.basis_or_case,
        read_again=_records(again),
        not_replicated=_records(missing),
        read_again_bound=again.bound if again else "exact",
        not_replicated_bound=missing.bound if missing else "exact",
        notes=move.notes,
    )


def _records(count: Count | None) -> int | None:
    return None if count is None else count.records
