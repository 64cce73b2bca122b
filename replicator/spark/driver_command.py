"""Driver command to the carriers: which driver leads, which plan is active, and whether to stop.

The command is an offset committed in the target cluster, in a transaction of the driver's own id. A
newer driver fences the older one, and carriers learn of both by one OffsetFetch. Nothing else is
needed to steer carriers, so they keep running while Redis is down (decision 0001).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from balancer.topic_partition import TopicPartition
from replicator.config.names import PLAN_TOPIC
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.fenced_committer import Effects, FencedCommitter, OffsetRows
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from replicator.spark.reassignment_delta import ReassignmentDelta


class TermSuperseded(Exception):
    """A newer driver leads in this region. Yield nothing more; it has carriers of its own."""


@dataclass(frozen=True, slots=True)
class Term:
    """A driver's time as leader: the producer id and epoch that InitProducerId gave it."""

    producer_id: int
    epoch: int

    def is_before(self, other: Term) -> bool:
        """Returns True when this term is known to be earlier: terms of different producer ids have
        no order."""
        return self.producer_id == other.producer_id and self.epoch < other.epoch


@dataclass(frozen=True, slots=True)
class DriverCommand:
    """The last driver command.

    A carrier of another term ends its epoch, and so does one whose plan is older than
    `delta.since`. The others apply the delta.
    """

    term: Term
    plan_version: int
    stop: bool
    delta: ReassignmentDelta

    def is_before(self, term: Term, plan_version: int) -> bool:
        """Returns True when this command is known to be older than a driver's plan.

        Versions of plans go on from driver to driver, also where the coordinator has forgotten the
        id of the driver before, so that their terms have no order.

        Args:
            term, plan_version: of the plan.
        """
        is_of_older_plan = self.term != term and self.plan_version < plan_version
        return self.term.is_before(term) or is_of_older_plan


async def read_command(cluster: Cluster, driver_id: str) -> DriverCommand | None:
    """Returns the last driver command; None when no driver ever published one.

    Args:
        driver_id: the driver's transactional id, and the group of its commands.
    """
    commits = await cluster.commits(driver_id, [(PLAN_TOPIC, [0])])
    commit = commits.get(TopicPartition(PLAN_TOPIC, 0))
    if commit is None:
        return None
    fields = json.loads(commit.metadata)
    version = commit.offset
    # Versions before decision 0014 published neither; then the delta begins at their plan's
    # version.
    delta = ReassignmentDelta.decode(fields.get("since", version), fields.get("course", ""))
    return DriverCommand(Term(fields["pid"], fields["epoch"]), version, fields["stop"], delta)


class Driver:
    """Driver as a transactional producer: publishes commands and commits first entries.

    Every request may raise Fenced: a newer driver leads.

    Args:
        driver_id: the driver's transactional id, and the group of its commands.
        timeout_ms: of a transaction.
    """

    def __init__(self, cluster: Cluster, driver_id: str, timeout_ms: int = 30_000):
        self._driver_id = driver_id
        self._committer = FencedCommitter(cluster, driver_id, timeout_ms)

    async def open(self) -> Term:
        """Acquires the leadership and fences the driver before."""
        await self._committer.open()
        return self.term

    @property
    def term(self) -> Term:
        return Term(self._committer.producer_id, self._committer.epoch)

    async def publish(
        self, plan_version: int, *, stop: bool = False, delta: ReassignmentDelta | None = None
    ) -> None:
        """Publishes a driver command; returns once carriers can read it.

        Carriers read it every word_poll_seconds.

        Args:
            delta: leads from an older plan to this one; without it this plan begins a new epoch.
        """
        delta = delta or ReassignmentDelta(plan_version)
        fields = {
            "pid": self.term.producer_id,
            "epoch": self.term.epoch,
            "stop": stop,
            "since": delta.since,
            "course": delta.encode(),
        }
        offsets = [(PLAN_TOPIC, 0, plan_version, json.dumps(fields, separators=(",", ":")))]
        # Only drivers commit to this group, and a newer driver fences this one.
        await self._committer.commit({self._driver_id: offsets}, lambda *_: True)

    @property
    def committer(self) -> FencedCommitter:
        """The driver's transactional producer, for effects of its commits."""
        return self._committer

    async def commit(
        self, groups: Mapping[str, OffsetRows], effects: Effects | None = None
    ) -> None:
        """Commits entries that only the leading driver may write: adoptions.

        Args:
            effects: further writes of the same transaction (see FencedCommitter.commit).
        """
        await self._committer.commit(groups, _is_no_entry, effects)


def _is_no_entry(_: TopicPartition, shown: OffsetAndMetadata | None) -> bool:
    """Returns True when the commit is hidden: nothing is shown, or a witness of fewer partitions.

    Any other entry belongs to a carrier, which may acquire an adopted entry at once.
    """
    return shown is None or not shown.metadata
