"""Keeps groups that live in other regions at the same place here: `sluice offsets` calls it.

Their commits have been copied, and are carried over as a failover would. A group is written only
while its record says that it lives elsewhere and it has no members here; the broker has the last
word on members.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, field, replace

from balancer.plan import TopicPartition
from replicator.config.topology import Appliance
from replicator.copies.commit_store import CommitStore
from replicator.copies.followed import Position
from replicator.copies.runs_copies import RunsCopies
from replicator.groups.activity import ActivityStore
from replicator.groups.groups import GroupActive, Groups
from replicator.groups.primary_store import PrimaryStore
from replicator.offset_sync.due import Around, Seen, commits_partition, is_due
from replicator.offset_sync.passes import PassFailed
from replicator.offset_sync.passive_position import Followed, is_settled, to_write
from replicator.offsets.offset_store import StoreUnreachable
from replicator.planning.knowledge import Knowledge, Request
from replicator.planning.plan import Case, GroupPlan
from replicator.planning.planner import plan
from replicator.progress.vector_metadata import encode
from replicator.survey.survey import Survey
from replicator.topics.admin import Admin
from replicator.topics.admin_error import AdminError

logger = logging.getLogger(__name__)

GROUPS_MAX = 500
"""So many are looked at in one pass, the longest waiting first: all their maps are in memory."""
REST_SHARE = 3
"""After work the pass rests for so many times what it took, however busy the groups are."""


@dataclass(frozen=True, slots=True)
class SyncCounts:
    """For metrics.

    Args:
        groups: that live in another configured region.
        active: of these, with members here, so that nothing is written.
        unknown: positions of the last looks of which nothing is known.
        written: positions written since the start.
    """

    groups: int = 0
    active: int = 0
    unknown: int = 0
    written: int = 0


@dataclass(slots=True)
class _Region:
    """What is remembered of another region's groups."""

    survey: Survey
    seen: dict[str, Seen] = field(default_factory=dict)
    followed: dict[str, dict[TopicPartition, Followed]] = field(default_factory=dict)
    places: dict[str, frozenset[TopicPartition]] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)
    around: Around | None = None
    rests_until: float = 0.0

    def forget(self, group: str) -> None:
        for of_group in (self.seen, self.followed, self.places, self.unknown):
            of_group.pop(group, None)


class OffsetSync:
    """One region's. Blocking; two at a time do no harm."""

    def __init__(self, appliance: Appliance, region: str, *, timeout_seconds: float = 5.0) -> None:
        self._appliance = appliance
        self._region = region
        self._timeout_seconds = timeout_seconds
        here = appliance.region(region)
        self._url = here.redis_url()
        self._admin = Admin(f"{region} aggregate", here.aggregate, timeout_seconds)
        self._groups = Groups(f"{region} aggregate", here.aggregate, timeout_seconds)
        self._primaries = PrimaryStore(self._url, timeout_seconds=timeout_seconds)
        self._activity = ActivityStore(self._url, timeout_seconds=timeout_seconds)
        self._regions: dict[str, _Region] = {}
        self.counts = SyncCounts()

    def once(self, now_ms: int) -> None:
        """Looks at what has changed, and writes what differs.

        Raises PassFailed once all that could be done is done, or StoreUnreachable.
        """
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
            unknown=sum(sum(it.unknown.values()) for it in self._regions.values()),
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
            self._regions[name] = _Region(survey)
        region = self._regions[name]
        for group in [it for it in region.seen if it in active or it not in groups]:
            region.forget(group)
        if time.monotonic() < region.rests_until:
            return
        with CommitStore(self._url, name, timeout_seconds=self._timeout_seconds) as store:
            # Being read for the first time or anew, copies show groups further back than they are.
            if store.age(now_ms) is None:
                return
            positions = store.position()
        self._look_around(name, region, now_ms)
        signs = {group: _commits_sign(group, positions) for group in groups if group not in active}
        due = [
            group
            for group, sign in signs.items()
            if is_due(region.seen.get(group), sign, region.around, now_ms)
        ]
        if not due:
            return
        began = time.monotonic()
        due.sort(key=lambda group: seen.at_ms if (seen := region.seen.get(group)) else 0)
        self._carry_over(name, region, due[:GROUPS_MAX], signs, now_ms)
        ended = time.monotonic()
        region.rests_until = ended + REST_SHARE * (ended - began)

    def _look_around(self, name: str, region: _Region, now_ms: int) -> None:
        """Whether something has moved that groups at a log's end, or behind missing runs, wait for;
        not asked where none does."""
        waiting = [group for group, seen in region.seen.items() if not seen.is_settled]
        places = set().union(*(region.places.get(group, ()) for group in waiting))
        if not places:
            return
        ends = self._admin.offsets(sorted(places), "latest")
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
            place: facts.there_log.end
            for place, facts in known.partitions.items()
            if facts.there_log
        }
        for each in plan(request, known, plan_id="", now_ms=now_ms).groups:
            group = each.group
            if group in known.active_in_target or not self._write(name, region, each, known):
                region.forget(group)
                continue
            region.unknown[group] = sum(move.case is Case.UNKNOWN for move in each.moves)
            region.places[group] = frozenset(ends) & frozenset(
                TopicPartition(move.topic, move.partition) for move in each.moves
            )
            region.seen[group] = Seen(signs[group], now_ms, is_settled(each.moves, ends))

    def _write(self, name: str, region: _Region, each: GroupPlan, known: Knowledge) -> bool:
        """Whether what is here is now as it should be."""
        group = each.group
        held = known.target_commits.get(group, {})
        followed = region.followed.setdefault(group, {})
        wanted = to_write(each.moves, held, followed)
        refused: Mapping[TopicPartition, str] = {}
        if wanted:
            # A failover may have moved it here meanwhile. Whatever comes after this question finds
            # offsets behind which the group has read everything: they skip nothing.
            record = self._primaries.get(group)
            if record is None or record.region != name:
                return False
            offsets = {place: (it.offset, encode(it.vector)) for place, it in wanted.items()}
            try:
                refused = self._groups.write(group, offsets)
            except GroupActive:
                return False
        written = len(wanted) - len(refused)
        self.counts = replace(self.counts, written=self.counts.written + written)
        for move in each.moves:
            place = TopicPartition(move.topic, move.partition)
            now = wanted.get(place) or held.get(place)
            is_followed = move.case is Case.MOVES and place not in refused
            if is_followed and now and move.committed is not None:
                followed[place] = Followed(move.committed, now)
        return not refused


def _commits_sign(group: str, positions: Mapping[int, Position]) -> Hashable:
    """How far the copies of a group's commits are; None: not known."""
    if not positions:
        return None
    # Of a topic that was made anew with fewer partitions, the old ones' positions stay behind.
    topic_id = max(positions.values(), key=lambda it: it.era).topic_id
    today = {number: it for number, it in positions.items() if it.topic_id == topic_id}
    return today.get(commits_partition(group, len(today)))
