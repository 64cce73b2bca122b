"""Offset sync of the groups that live in one other region.

Copied commits are translated as a failover would translate them. A group is written only while its
record says that it lives elsewhere and it has no members here. The broker has the last word on
members.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, field

from balancer.topic_partition import TopicPartition
from replicator.config.names import vectors_group
from replicator.config.topology import Route
from replicator.groups.copies.commit_store import CommitStore
from replicator.groups.copies.runs_copies import RunsCopies
from replicator.groups.failover.survey import Survey
from replicator.groups.membership.groups import GroupActive, Groups
from replicator.groups.membership.primary_store import PrimaryCopies
from replicator.groups.offset_sync.contradictions import contradicted
from replicator.groups.offset_sync.due import (
    AGAIN_MS,
    LATE_MS,
    LastPlanned,
    Surroundings,
    commits_sign,
    is_due,
)
from replicator.groups.offset_sync.passive_position import LastWritten, is_settled, to_write
from replicator.groups.offset_sync.region_commits import RegionCommits
from replicator.groups.offset_sync.vector_limit import VectorLimit
from replicator.groups.planning.failover_plan import Case, GroupPlan
from replicator.groups.planning.knowledge import GroupProgress, Knowledge, Request
from replicator.groups.planning.offset_planner import plan
from replicator.groups.progress.vector_metadata import committed_text
from replicator.kafka.admin.admin import Admin
from replicator.kafka.tail.tail_position import TailPosition, of_today

GROUPS_MAX = 500
"""Most groups planned in one pass, longest waiting first: all their maps are in memory."""
REST_SHARE = 3.0
"""After work the pass pauses for this many times its duration, however busy the groups are."""
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OtherRegion:
    """Another region, whose groups are kept in step here.

    Args:
        routes: the routes into its aggregate.
        survey: of moves from there to here.
        own_commits: its groups' commits, by its own brokers.
    """

    name: str
    routes: tuple[Route, ...]
    survey: Survey
    own_commits: RegionCommits


@dataclass(frozen=True, slots=True)
class Here:
    """This region: its Redis, and the clients of its aggregate."""

    name: str
    redis_url: str
    admin: Admin
    groups: Groups
    primaries: PrimaryCopies
    timeout_seconds: float


@dataclass(slots=True)
class _Group:
    """State of a group that lives in the other region.

    Args:
        planned: None: the group has to be planned.
        written: what was written here, and the commits that it was derived from.
        partitions: partitions that the group has committed on and that exist here.
        unknown: how many of its positions are not known here.
        has_metadata: True if its application commits metadata of its own.
    """

    planned: LastPlanned | None = None
    written: dict[TopicPartition, LastWritten] = field(default_factory=dict)
    partitions: frozenset[TopicPartition] = frozenset()
    unknown: int = 0
    has_metadata: bool = False


@dataclass(slots=True)
class WrittenPositions:
    """Count of the positions that an offset sync has written since it began."""

    count: int = 0


class RegionSync:
    """Offset sync of one other region's groups. Blocking.

    Args:
        limit: of vectors.
        written: counts for all regions together.
        rest_share: REST_SHARE.
    """

    def __init__(
        self,
        other: OtherRegion,
        here: Here,
        limit: VectorLimit,
        written: WrittenPositions,
        *,
        rest_share: float = REST_SHARE,
    ) -> None:
        self._other = other
        self._here = here
        self._limit = limit
        self._written = written
        self._rest_share = rest_share
        self._groups: dict[str, _Group] = {}
        self._refusals = Refusals()
        self._refused_writes = RefusedWrites()
        self._surroundings: Surroundings | None = None
        self._rests_until = 0.0
        self._renewed_ms: dict[str, int] = {}
        """When all of a group's positions were last committed here."""
        self._renewal_ms = AGAIN_MS
        self._renewal_known_ms: int | None = None

    @property
    def unknown(self) -> int:
        """Positions of which nothing was known when they were last planned."""
        return sum(each.unknown for each in self._groups.values())

    @property
    def refused(self) -> int:
        """Positions that stay where they are, because Redis contradicts Kafka about them."""
        return self._refusals.count

    def once(self, groups: Collection[str], active: Collection[str], now_ms: int) -> None:
        """Plans the groups for which something has changed, and writes what differs.

        Args:
            groups: all groups that live in the other region.
            active: the groups that have members here.

        Raises AdminError or StoreUnreachable.
        """
        for group in [it for it in self._groups if it in active or it not in groups]:
            del self._groups[group]
        passive = [group for group in groups if group not in active]
        self._renewed_ms = {it: at for it, at in self._renewed_ms.items() if it in groups}
        self._refusals.only(passive)
        self._refused_writes.only(passive)
        if time.monotonic() < self._rests_until:
            return
        positions = self._copied_up_to(now_ms)
        if positions is None:
            return
        self._read_surroundings(now_ms)
        self._read_renewal(now_ms)
        again_ms = min(AGAIN_MS, self._renewal_ms)
        today = of_today(positions)
        signs = {group: self._sign(group, today) for group in passive}
        due = [
            group
            for group, sign in signs.items()
            if is_due(self._last_planned(group), sign, self._surroundings, now_ms, again_ms)
        ]
        if not due:
            return
        began = time.monotonic()
        due.sort(key=lambda group: it.at_ms if (it := self._last_planned(group)) else 0)
        self._sync(due[:GROUPS_MAX], signs, now_ms)
        ended = time.monotonic()
        self._rests_until = ended + self._rest_share * (ended - began)

    def _last_planned(self, group: str) -> LastPlanned | None:
        known = self._groups.get(group)
        return known.planned if known else None

    def _sign(self, group: str, positions: Mapping[int, TailPosition]) -> Hashable:
        known = self._groups.get(group)
        has_metadata = known is not None and known.has_metadata
        return commits_sign(group, positions, has_metadata=has_metadata)

    def _read_renewal(self, now_ms: int) -> None:
        """Asks now and then how soon the brokers here forget positions."""
        if self._renewal_known_ms is None or now_ms - self._renewal_known_ms >= AGAIN_MS:
            self._renewal_ms = int(self._here.groups.renewal_seconds() * 1000)
            self._renewal_known_ms = now_ms

    def _copied_up_to(self, now_ms: int) -> dict[int, TailPosition] | None:
        """Returns the positions of the commits' copies; None where these are not whole.

        Copies that are read for the first time, or anew, show groups further back than they are.
        """
        here = self._here
        with CommitStore(
            here.redis_url, self._other.name, timeout_seconds=here.timeout_seconds
        ) as store:
            return None if store.age(now_ms) is None else store.position()

    def _read_surroundings(self, now_ms: int) -> None:
        """Reads the signs that groups at a log's end, or behind missing runs, wait for.

        Sends no requests if no group waits.
        """
        waiting = [it for it in self._groups.values() if it.planned and not it.planned.is_settled]
        partitions = set().union(*(it.partitions for it in waiting))
        if not partitions:
            return
        here = self._here
        ends = here.admin.offsets(sorted(partitions), "latest")
        positions = []
        for route in self._other.routes:
            with RunsCopies(
                here.redis_url, route.key, timeout_seconds=here.timeout_seconds
            ) as copies:
                positions.append(tuple(sorted(copies.position().items())))
        signs = tuple(sorted(ends.items())), tuple(positions)
        surroundings = self._surroundings or Surroundings(signs, now_ms)
        self._surroundings = surroundings.refreshed(signs, now_ms)

    def _sync(self, groups: Collection[str], signs: Mapping[str, Hashable], now_ms: int) -> None:
        request = Request(
            source=self._other.name, target=self._here.name, reason="", groups=frozenset(groups)
        )
        known = self._other.survey.knowledge(request, now_ms)
        ends = {
            partition: facts.there_log.end
            for partition, facts in known.partitions.items()
            if facts.there_log
        }
        # Read after the copies: whatever these have, the region itself has by now.
        own = self._other.own_commits.commits(
            groups, {it for commits in known.commits.values() for it in commits}
        )
        for each in plan(request, known, plan_id="", now_ms=now_ms).groups:
            group = each.group
            if group in known.active_in_target or not self._write(each, known, own, now_ms):
                self._groups.pop(group, None)
                continue
            state = self._groups[group]
            state.unknown = sum(move.case is Case.UNKNOWN for move in each.moves)
            state.has_metadata = any(move.metadata for move in each.moves)
            state.partitions = frozenset(ends) & {move.topic_partition for move in each.moves}
            # The other region's brokers may have been behind, so they are soon asked again.
            soon = self._refusals.has(group)
            at_ms = now_ms - (AGAIN_MS - LATE_MS) if soon else now_ms
            state.planned = LastPlanned(signs[group], at_ms, is_settled(each.moves, ends))

    def _write(
        self, each: GroupPlan, known: Knowledge, own: GroupProgress | None, now_ms: int
    ) -> bool:
        """Writes the positions of a group; returns False if they have to be planned again."""
        group = each.group
        held = known.target_commits.get(group, {})
        written = self._groups.setdefault(group, _Group()).written
        moves = [self._limit.applied(group, move) for move in each.moves]
        renewed_ms = self._renewed_ms.get(group)
        renews = renewed_ms is None or now_ms - renewed_ms >= self._renewal_ms
        wanted = to_write(moves, held, written, renews=renews)
        contradictions = contradicted(group, wanted, known, own)
        self._refusals.found(group, contradictions)
        for partition in contradictions:
            del wanted[partition]
        refused: Mapping[TopicPartition, str] = {}
        if wanted:
            # A failover may have moved the group here meanwhile. One that comes after this read
            # finds offsets that skip nothing.
            record = self._here.primaries.get(group)
            if record is None or record.region != self._other.name:
                return False
            vectors = {
                partition: (progress.offset, committed_text(progress.vector))
                for partition, progress in wanted.items()
            }
            beside = {it: row for it, row in vectors.items() if wanted[it].metadata}
            offsets = {
                partition: (progress.offset, progress.metadata or vectors[partition][1])
                for partition, progress in wanted.items()
            }
            try:
                # First the vectors: without its own, an offset has the group read again.
                if beside:
                    refused = self._here.groups.write(vectors_group(group), beside)
                offsets = {it: row for it, row in offsets.items() if it not in refused}
                refused = {**refused, **self._here.groups.write(group, offsets)}
            except GroupActive:
                return False
        self._refused_writes.found(group, refused)
        if renews and not refused:
            self._renewed_ms[group] = now_ms
        self._written.count += len(wanted) - len(refused)
        for move in moves:
            partition = move.topic_partition
            now = wanted.get(partition) or held.get(partition)
            is_left = partition in refused or partition in contradictions
            if move.case is Case.MOVES and not is_left and now and move.committed is not None:
                written[partition] = LastWritten(move.committed, now)
        return not refused


class Refusals:
    """Refused positions of a region's groups; each is logged when it begins and when it ends."""

    def __init__(self) -> None:
        self._reasons: dict[str, Mapping[TopicPartition, str]] = {}

    @property
    def count(self) -> int:
        return sum(map(len, self._reasons.values()))

    def has(self, group: str) -> bool:
        return group in self._reasons

    def found(self, group: str, reasons: Mapping[TopicPartition, str]) -> None:
        """Sets all refused positions of a group, as last found."""
        before = self._reasons.pop(group, {})
        if reasons:
            self._reasons[group] = reasons
        for partition, reason in reasons.items():
            if partition not in before:
                logger.error(
                    "event=copies-contradict group %r on %s-%d stays where it is: %s; find out who "
                    "writes to this Redis",
                    group,
                    *partition,
                    reason,
                )
        for partition in before.keys() - reasons.keys():
            logger.warning("event=copies-agree group %r on %s-%d", group, *partition)

    def only(self, groups: Collection[str]) -> None:
        """Forgets the groups that are no longer followed."""
        self._reasons = {group: it for group, it in self._reasons.items() if group in groups}


class RefusedWrites:
    """Groups with positions that the brokers here refuse; each is logged when that begins."""

    def __init__(self) -> None:
        self._groups: set[str] = set()

    def found(self, group: str, refused: Mapping[TopicPartition, str]) -> None:
        """Notes the refused positions of a group's last write."""
        if not refused:
            self._groups.discard(group)
        elif group not in self._groups:
            self._groups.add(group)
            (topic, partition), why = min(refused.items())
            logger.warning(
                "event=position-refused group %r on %s-%d stays where it is: %s (%d partitions); "
                "it is tried again",
                group,
                topic,
                partition,
                why,
                len(refused),
            )

    def only(self, groups: Collection[str]) -> None:
        """Forgets the groups that are no longer followed."""
        self._groups &= set(groups)
