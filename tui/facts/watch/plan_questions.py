"""Saved plans of this machine, and the question for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from replicator.config.topology import Appliance
from replicator.groups.failover.fresh_plans import checked
from replicator.groups.failover.plan_files import PlanFiles, PlanMissing, PlanNotKept
from replicator.groups.planning.failover_plan import BrokenPlan, Plan, UnknownPlan
from replicator.runtime.store_errors import StoreUnreachable
from tui.facts.part import THIS_MACHINE
from tui.facts.plan_summary import PlanSummary, broken_plan, plan_summary
from tui.facts.watch.question import Answers, Key, Question

CADENCE_SECONDS = 2.0
"""A new plan is applied soon after it was made, and an older one must not stand in its place."""
PLANS_MAX = 100
"""Newest plans that are shown; files are kept for ever, and `sluice failover list` has them all."""
POSITIONS_MAX = 10_000
"""Positions that are kept of all plans together, the newest first. A plan of 500 groups of 64 has
32 000."""

PLANS_KEY = Key(THIS_MACHINE, "saved plans")


def plan_folder(appliance: Appliance) -> Path:
    """Returns the path of the folder of saved plans; it need not exist."""
    return appliance.replicator.state_dir / "plans"


def plan_files(appliance: Appliance) -> PlanFiles:
    """Returns the directory of saved plans."""
    return PlanFiles(plan_folder(appliance))


def load_plan(appliance: Appliance, name: str) -> Plan:
    """Returns a saved plan that the appliance's routes allow.

    Raises NoWay, UnknownRegion, and whatever `PlanFiles.load` raises.
    """
    plan = plan_files(appliance).load(name)
    checked(appliance, plan.source, plan.target)
    return plan


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
