"""Driver command to the carriers: which driver leads, which plan is active, and whether to stop.

The command is an offset committed in the target cluster, in a transaction of the driver's own id. A
newer driver fences the older one, and carriers learn of both by one OffsetFetch. Nothing else is
needed to steer carriers, so they keep running while Redis is down (decision 0001).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from balancer.plan import TopicPartition
from replicator.config.names import PLAN_TOPIC, driver_id
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.fenced_committer import FencedCommitter, OffsetRows
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from replicator.spark.reassignment_delta import ReassignmentDelta


class TermSuperseded(Exception):
    """A newer driver leads in this region. Yield nothing more; it has carriers of its own."""


@dataclass(frozen=True, slots=True)
class Term:
    """A driver's time of leadership: the producer id and epoch that InitProducerId gave it."""

    producer_id: int
    epoch: int

    def is_before(self, other: Term) -> bool:
        """Returns True when this term is known to be earlier. Another producer id tells nothing."""
        return self.producer_id == other.producer_id and self.epoch < other.epoch


@dataclass(frozen=True, slots=True)
class DriverCommand:
    """The last driver command.

    A carrier of another term ends its epoch, and so does one whose plan is older than
    `course.since`. The others apply the delta.
    """

    term: Term
    plan_version: int
    stop: bool
    course: ReassignmentDelta


async def read_word(cluster: Cluster, target: str) -> DriverCommand | None:
    """Returns the last driver command; None when no driver ever published one."""
    commits = await cluster.commits(driver_id(target), [(PLAN_TOPIC, [0])])
    commit = commits.get(TopicPartition(PLAN_TOPIC, 0))
    if commit is None:
        return None
    said = json.loads(commit.metadata)
    version = commit.offset
    # Versions before decision 0014 published neither; then the delta begins at their plan's
    # version.
    course = ReassignmentDelta.decode(said.get("since", version), said.get("course", ""))
    return DriverCommand(Term(said["pid"], said["epoch"]), version, said["stop"], course)


class Driver:
    """Publisher of driver commands. Every request may raise Fenced: a newer driver leads."""

    def __init__(self, cluster: Cluster, target: str, timeout_ms: int = 30_000):
        self._target = target
        self._writer = FencedCommitter(cluster, driver_id(target), timeout_ms)

    async def open(self) -> Term:
        """Acquires the leadership; the driver before is fenced."""
        await self._writer.open()
        return self.term

    @property
    def term(self) -> Term:
        return Term(self._writer.producer_id, self._writer.epoch)

    async def say(
        self, plan_version: int, *, stop: bool = False, course: ReassignmentDelta | None = None
    ) -> None:
        """Publishes a driver command; returns once carriers can read it.

        Carriers read it every word_poll_seconds.

        Args:
            course: delta from an older plan to this one; without it this plan begins a new epoch.
        """
        followed = course or ReassignmentDelta(plan_version)
        said = {
            "pid": self.term.producer_id,
            "epoch": self.term.epoch,
            "stop": stop,
            "since": followed.since,
            "course": followed.encode(),
        }
        offsets = [(PLAN_TOPIC, 0, plan_version, json.dumps(said, separators=(",", ":")))]
        # Only drivers write it, and a newer one fences this one.
        await self._writer.commit({driver_id(self._target): offsets}, lambda *_: True)

    async def commit(self, groups: Mapping[str, OffsetRows]) -> None:
        """Commits ledger entries that only the leading driver may write: adoptions."""
        await self._writer.commit(groups, _is_no_entry)


def _is_no_entry(_: TopicPartition, shown: OffsetAndMetadata | None) -> bool:
    """Returns True when the commit is hidden: nothing is shown, or a witness of fewer partitions.

    Another entry that is shown belongs to a carrier: an adopted entry may be acquired at once.
    """
    return shown is None or not shown.metadata
