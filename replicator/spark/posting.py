"""What the daemon posts for the stream reader, which runs in a process of its own on the same host.

One small file, replaced as a whole: the plan in force, the task slots, the driver's term, stop.
Beside it, written once, the appliance: what the operator makes of its file meanwhile counts at the
next start.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from balancer.plan import Plan, bins
from replicator.config.topology import Appliance
from replicator.daemon.private_files import write_private
from replicator.ledger.word import Term


@dataclass(frozen=True, slots=True)
class Posting:
    """What the next epoch starts with."""

    plan: Plan
    slots: int
    """Spark tasks that can run at once."""
    term: Term
    """The driver's."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """The largest batch that the target takes, by topic."""
    stop: bool = False

    def to_json(self) -> str:
        return json.dumps(
            {
                "plan": self.plan.to_json(),
                "slots": self.slots,
                "term": [self.term.producer_id, self.term.epoch],
                "limits": dict(self.limits),
                "stop": self.stop,
            }
        )

    @staticmethod
    def from_json(text: str) -> Posting:
        found = json.loads(text)
        plan, term = Plan.from_json(found["plan"]), Term(*found["term"])
        return Posting(plan, found["slots"], term, found["limits"], found["stop"])


def takes_new_epoch(before: Posting, after: Posting) -> bool:
    """Whether what carriers that run were told holds no more: how many tasks there are for either
    plan, or the largest batch that the target takes of a topic that stays."""
    for plan in (before.plan, after.plan):
        if len(bins(plan, before.slots)) != len(bins(plan, after.slots)):
            return True
    stay = _topics(before.plan) & _topics(after.plan)
    return any(before.limits.get(topic) != after.limits.get(topic) for topic in stay)


def _topics(plan: Plan) -> set[str]:
    return {place.topic for load in plan.loads.values() for place in load}


@dataclass(frozen=True, slots=True)
class PostingFile:
    """The place both processes know. A reader sees the old posting or the new one, whole."""

    path: Path

    def write(self, posting: Posting) -> None:
        write_private(self.path, posting.to_json().encode())

    def read(self) -> Posting | None:
        """None before the first posting."""
        try:
            return Posting.from_json(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None


@dataclass(frozen=True, slots=True)
class ApplianceFile:
    """The appliance as the daemon loaded it, for as long as the daemon runs."""

    path: Path

    def write(self, appliance: Appliance) -> None:
        write_private(self.path, pickle.dumps(appliance))

    def read(self) -> Appliance:
        found = pickle.loads(self.path.read_bytes())
        assert isinstance(found, Appliance)
        return found
