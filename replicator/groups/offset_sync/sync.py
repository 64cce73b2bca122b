"""Offset sync of `sluice offsets`: keeps offsets here in step for groups of other regions.

Copied commits are translated as a failover would translate them. A group is written only while its
record says that it lives elsewhere and it has no members here. The broker has the last word on
members.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, field, replace

from balancer.plan import TopicPartition
from replicator.config.topology import Appliance
from replicator.groups.copies.commit_store import CommitStore
from replicator.groups.copies.runs_copies import RunsCopies
from replicator.groups.failover.survey import Survey
from replicator.groups.membership.activity import ActivityStore
from replicator.groups.membership.groups import GroupActive, Groups
from replicator.groups.membership.primary_store import PrimaryCopies
from replicator.groups.offset_sync.contradictions import is_forward, of_commit, of_runs
from replicator.groups.offset_sync.due import (
    AGAIN_MS,
    LATE_MS,
    Around,
    Seen,
    commits_partition,
    is_due,
)
from replicator.groups.offset_sync.own_word import OwnCommits, OwnWord
from replicator.groups.offset_sync.passes import PassFailed
from replicator.groups.offset_sync.passive_position import Followed, is_settled, to_write
from replicator.groups.offset_sync.refusals import Refusals
from replicator.groups.planning.knowledge import Knowledge, Progress, Request
from replicator.groups.planning.plan import Case, GroupPlan, Move
from replicator.groups.planning.planner import plan
from replicator.groups.progress.vector_metadata import encode
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.tail.tail_position import TailPosition, of_today
from replicator.runtime.store_errors import StoreUnreachable

logger = logging.getLogger(__name__)

GROUPS_MAX = 500
"""Most groups planned in one pass, longest waiting first: all their maps are in memory."""
DECISIONS_AGE_MS_MAX = 15_000
"""Age of the decisions above which nothing is written. A working copier keeps them below a second
(daemon.py).
"""
REST_SHARE = 3
"""After work the pass rests for this many times its duration, however busy the groups are."""


@dataclass(frozen=True, slots=True)
class SyncCounts:
    """Figures for metrics.

    Args:
        groups: groups that live in another configured region.
        active: those of them that have members here, so that nothing is written.
        unknown: positions of which nothing was known when they were last planned.
        refused: positions that stay where they are, because Redis contradicts Kafka about them.
        written: positions written since the start.
    """

    groups: int = 0
    active: int = 0
    unknown: int = 0
    refused: int = 0
    written: int = 0


@dataclass(slots=True)
class FollowedGroup:
    """State of a group that lives in another region.

    Args:
        seen: None: the group has to be planned.
        followed: what was written here, and the commits that it was derived from.
        places: partitions that the group has committed on and that exist here.
        unknown: how many of its positions are not known here.
    """

    seen: Seen | None = None
    followed: dict[TopicPartition, Followed] = field(default_factory=dict)
    partitions: frozenset[TopicPartition] = frozenset()
    unknown: int = 0


@dataclass(slots=True)
class _Region:
    """State of another region."""

    survey: Survey
    own_word: OwnWord
    groups: dict[str, FollowedGroup] = field(default_factory=dict)
    refusals: Refusals = field(default_factory=Refusals)
    around: Around | None = None
    rests_until: float = 0.0

    def seen(self, group: str) -> Seen | None:
        known = self.groups.get(group)
        return known.seen if known else None


class OffsetSync:
    """Offset sync of one region. Blocking; two at the same time do no harm."""

    def __init__(self, appliance: Appliance, region: str, *, timeout_seconds: float = 5.0) -> None:
        self._appliance = appliance
        self._region = region
        self._timeout_seconds = timeout_seconds
        here = appliance.region(region)
        self._url = here.redis_url()
        self._admin = Admin(f"{region} aggregate", here.aggregate, timeout_seconds)
        self._groups = Groups(f"{region} aggregate", here.aggregate, timeout_seconds)
        self._primaries = PrimaryCopies(self._url, region, timeout_seconds=timeout_seconds)
        self._activity = ActivityStore(self._url, timeout_seconds=timeout_seconds)
        self._regions: dict[str, _Region] = {}
        self._said_too_large: set[str] = set()
        self.counts = SyncCounts()

    def once(self, now_ms: int) -> None:
        """Plans the groups for which something has changed, and writes what differs.

        Does nothing until Redis is known to have this region's own decisions. A flushed Redis may
        receive the other regions' decisions first, by which a group still lives elsewhere.

        Raises PassFailed once all that could be done is done, or StoreUnreachable.
        """
        age_ms = self._primaries.age(now_ms)
        if age_ms is None:
            return
        if age_ms > DECISIONS_AGE_MS_MAX:
            raise PassFailed(
                f"what was decided in {self._region} is known as of {age_ms / 1000:.0f} s ago; "
                "until it is known as of now, nothing is written"
            )
        living: dict[str, set[str]] = {}
        for group, record in self._primaries.all().items():
            if record.region in self._appliance.regions and record.region != self._region:
                living.setdefault(str(record.region), set()).add(group)
        for name in self._regions.keys() - living.keys():
            del self._regions[name]
        if not living:
            self.counts = SyncCounts(written=self.counts.written)
            return
        active = self._activity.active(now_ms).get(self._region, frozenset())
        troubles = []
        for name, groups in sorted(living.items()):
            try:
                self._follow(name, groups, active, now_ms)
            except (AdminError, StoreUnreachable) as trouble:
                troubles.append(f"{name}: {trouble}")
        everyone = set().union(*living.values())
        self.counts = replace(
            self.counts,
            groups=len(everyone),
            active=len(everyone & active),
            unknown=sum(
                it.unknown for region in self._regions.values() for it in region.groups.values()
            ),
            refused=sum(region.refusals.count for region in self._regions.values()),
        )
        if troubles:
            raise PassFailed("; ".join(troubles))

    # -- one other region

    def _follow(
        self, name: str, groups: Collection[str], active: Collection[str], now_ms: int
    ) -> None:
        if name not in self._regions:
            survey = Survey(
                self._appliance,
                name,
                self._region,
                timeout_seconds=self._timeout_seconds,
                asks_source=False,
            )
            own_word = OwnWord(name, self._appliance.region(name).aggregate)
            self._regions[name] = _Region(survey, own_word)
        region = self._regions[name]
        for group in [it for it in region.groups if it in active or it not in groups]:
            del region.groups[group]
        region.refusals.only([it for it in groups if it not in active])
        if time.monotonic() < region.rests_until:
            return
        with CommitStore(self._url, name, timeout_seconds=self._timeout_seconds) as store:
            # Copies that are read for the first time, or anew, show groups further back than they
            # are.
            if store.age(now_ms) is None:
                return
            positions = store.position()
        self._look_around(name, region, now_ms)
        signs = {group: _commits_sign(group, positions) for group in groups if group not in active}
        due = [
            group
            for group, sign in signs.items()
            if is_due(region.seen(group), sign, region.around, now_ms)
        ]
        if not due:
            return
        began = time.monotonic()
        due.sort(key=lambda group: seen.at_ms if (seen := region.seen(group)) else 0)
        self._carry_over(name, region, due[:GROUPS_MAX], signs, now_ms)
        ended = time.monotonic()
        region.rests_until = ended + REST_SHARE * (ended - began)

    def _look_around(self, name: str, region: _Region, now_ms: int) -> None:
        """Notes changes that groups at a log's end, or behind missing runs, wait for.

        Sends no requests if no group waits.
        """
        waiting = [it for it in region.groups.values() if it.seen and not it.seen.is_settled]
        partitions = set().union(*(it.partitions for it in waiting))
        if not partitions:
            return
        ends = self._admin.offsets(sorted(partitions), "latest")
        positions = []
        for route in self._appliance.routes_into(name):
            with RunsCopies(self._url, route.key, timeout_seconds=self._timeout_seconds) as copies:
                positions.append(tuple(sorted(copies.position().items())))
        signs = tuple(sorted(ends.items())), tuple(positions)
        around = region.around or Around(signs, now_ms)
        region.around = around.now(signs, now_ms)

    def _carry_over(
        self,
        name: str,
        region: _Region,
        groups: Collection[str],
        signs: Mapping[str, Hashable],
        now_ms: int,
    ) -> None:
        request = Request(source=name, target=self._region, reason="", groups=frozenset(groups))
        known = region.survey.knowledge(request, now_ms)
        ends = {
            partition: facts.there_log.end
            for partition, facts in known.partitions.items()
            if facts.there_log
        }
        # Read after the copies: whatever these have, the region itself has by now.
        own = region.own_word.commits(
            groups, {it for some in known.commits.values() for it in some}
        )
        for each in plan(request, known, plan_id="", now_ms=now_ms).groups:
            group = each.group
            if group in known.active_in_target or not self._write(name, region, each, known, own):
                region.groups.pop(group, None)
                continue
            it = region.groups[group]
            it.unknown = sum(move.case is Case.UNKNOWN for move in each.moves)
            it.partitions = frozenset(ends) & frozenset(move.topic_partition for move in each.moves)
            # The other region's brokers may have been behind, so they are soon asked again.
            soon = region.refusals.has(group)
            seen_ms = now_ms - (AGAIN_MS - LATE_MS) if soon else now_ms
            it.seen = Seen(signs[group], seen_ms, is_settled(each.moves, ends))

    def _write(
        self,
        name: str,
        region: _Region,
        each: GroupPlan,
        known: Knowledge,
        own: OwnCommits | None,
    ) -> bool:
        """Writes the positions of a group; returns False if they have to be planned again."""
        group = each.group
        held = known.target_commits.get(group, {})
        followed = region.groups.setdefault(group, FollowedGroup()).followed
        moves = [self._writable(group, move) for move in each.moves]
        wanted = to_write(moves, held, followed)
        contradicted = _contradicted(group, wanted, known, own)
        region.refusals.found(group, contradicted)
        wanted = {
            partition: it for partition, it in wanted.items() if partition not in contradicted
        }
        refused: Mapping[TopicPartition, str] = {}
        if wanted:
            # A failover may have moved the group here meanwhile. One that comes after this read
            # finds offsets that skip nothing.
            record = self._primaries.get(group)
            if record is None or record.region != name:
                return False
            offsets = {
                partition: (it.offset, encode(it.vector)) for partition, it in wanted.items()
            }
            try:
                refused = self._groups.write(group, offsets)
            except GroupActive:
                return False
        written = len(wanted) - len(refused)
        self.counts = replace(self.counts, written=self.counts.written + written)
        for move in moves:
            partition = move.topic_partition
            now = wanted.get(partition) or held.get(partition)
            is_left = partition in refused or partition in contradicted
            is_followed = move.case is Case.MOVES and not is_left
            if is_followed and now and move.committed is not None:
                followed[partition] = Followed(move.committed, now)
        return not refused

    def _writable(self, group: str, move: Move) -> Move:
        """Returns the move, without its vector where that is too large for a broker.

        Records that the vector would have left out are then read again.
        """
        try:
            encode(move.vector)
        except ValueError as error:
            if group not in self._said_too_large:
                self._said_too_large.add(group)
                logger.warning(
                    "event=vector-too-large group %r on %s-%d: %s; its positions are written "
                    "without it",
                    group,
                    move.topic,
                    move.partition,
                    error,
                )
            return replace(move, vector={})
        return move


def _contradicted(
    group: str,
    wanted: Mapping[TopicPartition, Progress],
    known: Knowledge,
    own: OwnCommits | None,
) -> dict[TopicPartition, str]:
    """Returns the positions that must not go forward, and why.

    Args:
        own: None: the group's own region does not answer.
    """
    held = known.target_commits.get(group, {})
    found = {}
    for partition, progress in wanted.items():
        if not is_forward(progress, held.get(partition)):
            continue
        reason = of_runs(known.partitions[partition])
        if reason is None and own is not None:
            reason = of_commit(known.commits[group][partition], own.get(group, {}).get(partition))
        if reason:
            found[partition] = reason
    return found


def _commits_sign(group: str, positions: Mapping[int, TailPosition]) -> Hashable:
    """Returns the position of the copies of a group's commits; None: not known."""
    if not positions:
        return None
    today = of_today(positions)
    return today.get(commits_partition(group, len(today)))
