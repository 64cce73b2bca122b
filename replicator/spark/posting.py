"""Posting: the input of the next epoch, left by the driver's leadership for its epoch runner.

A small file in the folder of the run, replaced as a whole, has the active plan, the task slots, the
driver's term, what the target's topics refuse, and whether to stop. Beside it the appliance is
written once: what the operator changes in the configuration meanwhile counts at the next start.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from balancer.carrier_plan import Plan, carriers_by_task
from replicator.runtime.private_files import write_private

# Workers import what they use (carrier_source.py).
if TYPE_CHECKING:
    from replicator.config.topology import Appliance
    from replicator.spark.driver_command import Term


@dataclass(frozen=True, slots=True)
class Posting:
    """Input of the next epoch."""

    plan: Plan
    slots: int
    """Spark tasks that can run at once."""
    term: Term
    """The driver's term."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """Largest batch in bytes that the target takes, by topic."""
    stop: bool = False
    refusing: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Names of the errors by which the target refuses some records, by topic."""

    def to_json(self) -> str:
        return json.dumps(
            {
                "plan": self.plan.to_json(),
                "slots": self.slots,
                "term": [self.term.producer_id, self.term.epoch],
                "limits": dict(self.limits),
                "stop": self.stop,
                "refusing": {topic: list(names) for topic, names in self.refusing.items()},
            }
        )

    @staticmethod
    def from_json(text: str) -> Posting:
        from replicator.spark.driver_command import Term

        found = json.loads(text)
        plan, term = Plan.from_json(found["plan"]), Term(*found["term"])
        refusing = {topic: tuple(names) for topic, names in found["refusing"].items()}
        return Posting(plan, found["slots"], term, found["limits"], found["stop"], refusing)


def needs_new_epoch(before: Posting, after: Posting) -> bool:
    """Returns True when running carriers cannot continue under the next posting.

    This is so when the slots give either plan another number of tasks, or when the target's largest
    batch, or what it refuses, changes for a topic that stays: only another session than the one
    that parked a partition tries it again.
    """
    for plan in (before.plan, after.plan):
        if len(carriers_by_task(plan, before.slots)) != len(carriers_by_task(plan, after.slots)):
            return True
    stay = _topics(before.plan) & _topics(after.plan)
    return any(
        before.limits.get(topic) != after.limits.get(topic)
        or before.refusing.get(topic) != after.refusing.get(topic)
        for topic in stay
    )


def _topics(plan: Plan) -> set[str]:
    return {partition.topic for load in plan.loads.values() for partition in load}


@dataclass(frozen=True, slots=True)
class PostingFile:
    """File of the posting, in the folder of the run.

    A reader sees the old posting or the new one, whole.
    """

    path: Path

    def write(self, posting: Posting) -> None:
        write_private(self.path, posting.to_json().encode())

    def read(self) -> Posting | None:
        """Returns the posting; None before the first one."""
        try:
            return Posting.from_json(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None


@dataclass(frozen=True, slots=True)
class ApplianceFile:
    """File of the appliance as the daemon loaded it, unchanged for as long as the daemon runs."""

    path: Path

    def write(self, appliance: Appliance) -> None:
        write_private(self.path, pickle.dumps(appliance))

    def read(self) -> Appliance:
        from replicator.config.topology import Appliance

        found = pickle.loads(self.path.read_bytes())
        assert isinstance(found, Appliance)
        return found
