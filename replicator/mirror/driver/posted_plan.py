"""Posted plan: the plan that carriers have, and whether the next one needs a new epoch."""

from __future__ import annotations

from dataclasses import dataclass, replace

from balancer.carrier_plan import CarrierId
from replicator.spark.posting import Posting, needs_new_epoch
from replicator.spark.reassignment_delta import ReassignmentDelta, busy_carriers, extended_delta


@dataclass(frozen=True, slots=True)
class PostedPlan:
    """Posting of a plan, with the delta by which the carriers of the running epoch reach it.

    Args:
        running: carriers that had partitions in every plan since `delta.since`.
    """

    posting: Posting
    delta: ReassignmentDelta
    running: frozenset[CarrierId]

    @staticmethod
    def of_new_epoch(posting: Posting) -> PostedPlan:
        plan = posting.plan
        return PostedPlan(posting, ReassignmentDelta(plan.version), busy_carriers(plan))

    @property
    def begins_epoch(self) -> bool:
        return self.delta.since == self.posting.plan.version

    def next(self, posting: Posting) -> PostedPlan:
        """Returns the plan to post next; this one itself when nothing needs to change."""
        before, after = self.posting.plan, posting.plan
        needs_epoch = needs_new_epoch(self.posting, posting)
        if after.version == before.version:
            return self.anew(posting) if needs_epoch else self
        delta = None
        if not needs_epoch:
            delta = extended_delta(self.delta, before, after, self.running, posting.limits)
        if delta is None:
            return PostedPlan.of_new_epoch(posting)
        return PostedPlan(posting, delta, self.running & busy_carriers(after))

    def anew(self, posting: Posting) -> PostedPlan:
        """Returns the plan with which an epoch begins, whether or not anything has changed."""
        plan = posting.plan
        is_same = plan.version == self.posting.plan.version
        return PostedPlan.of_new_epoch(replace(posting, plan=plan.renewed() if is_same else plan))

    def stopped(self) -> PostedPlan:
        """Returns the same plan with the order that all carriers stop."""
        return PostedPlan.of_new_epoch(replace(self.posting, stop=True))
