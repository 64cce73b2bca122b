"""The driver's word to its carriers: which driver it is, which plan holds, whether to stop.

It is an offset committed in the target cluster, in a transaction of the driver's own id: a newer
driver fences the older one, and carriers hear of either by one OffsetFetch. Nothing else is needed
to steer them: with Redis down everything flows on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from balancer.plan import TopicPartition
from replicator.kafka.cluster import Cluster, Commit
from replicator.ledger.course import Course
from replicator.ledger.writer import PLAN_TOPIC, Offsets, Writer


class OtherTerm(Exception):
    """A newer driver acts for this region. Yield nothing more; it has carriers of its own."""


@dataclass(frozen=True, slots=True)
class Term:
    """A driver's time in office: what InitProducerId gave it."""

    producer_id: int
    epoch: int

    def is_before(self, other: Term) -> bool:
        """Whether this term is known to be an earlier one; another producer id tells nothing."""
        return self.producer_id == other.producer_id and self.epoch < other.epoch


@dataclass(frozen=True, slots=True)
class Word:
    """What the driver said last. A carrier of another term ends its epoch, and so does one of a
    plan older than the course; the others follow the course."""

    term: Term
    plan_version: int
    stop: bool
    course: Course


def driver_id(target: str) -> str:
    return f"sluice.{target}.driver"


async def read_word(cluster: Cluster, target: str) -> Word | None:
    """None: no driver ever spoke."""
    commits = await cluster.commits(driver_id(target), [(PLAN_TOPIC, [0])])
    commit = commits.get((PLAN_TOPIC, 0))
    if commit is None:
        return None
    said = json.loads(commit.metadata)
    version = commit.offset
    # A driver of before the course said neither; then its plan's version is where it begins.
    course = Course.decode(said.get("since", version), said.get("course", ""))
    return Word(Term(said["pid"], said["epoch"]), version, said["stop"], course)


class Driver:
    """The speaking side. Every method may raise Fenced: then a newer driver acts."""

    def __init__(self, cluster: Cluster, target: str, timeout_ms: int = 30_000):
        self._cluster = cluster
        self._target = target
        self._writer = Writer(cluster, driver_id(target), timeout_ms)

    async def open(self) -> Term:
        """Take office: the driver before is cut off."""
        await self._writer.open()
        return self.term

    @property
    def term(self) -> Term:
        return Term(self._writer.producer_id, self._writer.epoch)

    async def say(
        self, plan_version: int, *, stop: bool = False, course: Course | None = None
    ) -> None:
        """Returns once it can be heard; every carrier hears it within word_poll_seconds.

        Args:
            course: from an older plan to this one; without it this plan takes a new epoch.
        """
        followed = course or Course(plan_version)
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

    async def commit(self, groups: Mapping[str, Offsets]) -> None:
        """Ledger entries that only the driver in office may write: adoptions."""
        await self._writer.commit(groups, _is_no_entry)


def _is_no_entry(_: TopicPartition, shown: Commit | None) -> bool:
    """A witness of fewer partitions, or nothing: an adopted entry may be taken at once."""
    return shown is None or not shown.metadata
