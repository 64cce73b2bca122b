"""Planner of a failover: where every group continues, and how sure that is.

No group skips a record. Where too little is known, a position goes back, or does not move until an
operator has chosen. Records that retention deleted are the only ones that a group misses.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from balancer.topic_partition import TopicPartition
from replicator.groups.planning.checks import checks, completeness
from replicator.groups.planning.crossing import Crossing, known_offsets
from replicator.groups.planning.failover_plan import VALID_MS, Case, Count, GroupPlan, Move, Plan
from replicator.groups.planning.knowledge import (
    Knowledge,
    LogRange,
    PartitionFacts,
    Progress,
    Request,
)
from replicator.groups.progress.partition_in_region import Vector, vector_of
from replicator.mirror.offset_map.offset_map import MappedOffset

Asked = Mapping[TopicPartition, Mapping[str, Progress | None]]
"""Partition -> group -> its commit; None: the group reads the topic, and committed nothing here."""


def plan(
    request: Request, knowledge: Knowledge, *, plan_id: str, now_ms: int, valid_ms: int = VALID_MS
) -> Plan:
    """Returns the plan for all requested groups; a group that never committed has no moves."""
    moves: dict[str, list[Move]] = {group: [] for group in sorted(request.groups)}
    for partition, positions in sorted(_asked(request, knowledge).items()):
        # Counts are kept only while the groups of one partition are planned.
        planner = _PartitionPlanner(request, knowledge, partition)
        for group, committed in positions.items():
            moves[group].append(planner.move(group, committed))
    groups = tuple(
        GroupPlan(group, knowledge.primary_regions.get(group), tuple(found))
        for group, found in moves.items()
    )
    return Plan(
        id=plan_id,
        created_at_ms=now_ms,
        expires_at_ms=now_ms + valid_ms,
        source=request.source,
        target=request.target,
        reason=request.reason,
        is_planned=request.is_planned,
        age_ms=knowledge.age_ms,
        completeness=completeness(move for each in groups for move in each.moves),
        checks=checks(request, knowledge, groups),
        groups=groups,
        topics=None if request.topics is None else tuple(sorted(request.topics)),
        choices={group: choice.at_ms for group, choice in sorted(request.choices.items())},
        may_go_back=tuple(sorted(request.may_go_back)),
    )


def _asked(request: Request, knowledge: Knowledge) -> Asked:
    by_topic: dict[str, list[TopicPartition]] = defaultdict(list)
    for partition, facts in knowledge.partitions.items():
        if partition.topic in knowledge.mirrored_topics and facts.there_log:
            by_topic[partition.topic].append(partition)
    asked: dict[TopicPartition, dict[str, Progress | None]] = defaultdict(dict)
    for group in request.groups:
        commits = knowledge.commits.get(group, {})
        topics = {partition.topic for partition in commits}
        if request.topics is not None:
            topics &= request.topics
        for topic in topics:
            for partition in by_topic[topic]:
                asked[partition][group] = None
        for partition, committed in commits.items():
            if partition.topic in topics:
                asked[partition][group] = committed
    return asked


class _PartitionPlanner:
    """Planner of the moves of any group in one partition."""

    def __init__(self, request: Request, knowledge: Knowledge, partition: TopicPartition) -> None:
        self._request = request
        self._knowledge = knowledge
        self._partition = partition
        self._crossing: Crossing | None = None
        self._not_replicated: Count | None = None
        self._facts = knowledge.partitions.get(partition)
        if self._facts:
            self._crossing = Crossing(self._facts.here, self._facts.there)
            self._not_replicated = self._crossing.not_replicated(
                request.source, self._facts.source_end
            )

    def move(self, group: str, progress: Progress | None) -> Move:
        source, target = self._request.source, self._request.target
        if progress is None:
            note = f"nothing was committed in {source}: nothing to move"
            return self._stay(group, Case.UNCOMMITTED, None, note)
        committed = progress.offset
        if self._partition.topic not in self._knowledge.mirrored_topics:
            note = f"the topic is not mirrored into {target}: nothing to move"
            return self._stay(group, Case.NOT_MIRRORED, committed, note)
        if not (self._facts and self._crossing and self._facts.there_log):
            note = f"{target} has no such partition: nothing to move"
            return self._stay(group, Case.GONE, committed, note)
        end = self._facts.here.log_end
        if end is not None and committed > end:
            # No record stands there: what the group has read is not known, in whichever log.
            note = (
                f"is {committed - end} offsets behind the log's end in {source}: the log has lost "
                "its end, or is another one"
            )
            lost = self._stay(group, Case.UNKNOWN, committed, note, *self._facts.notes)
            lost = replace(lost, not_replicated=self._not_replicated, metadata=progress.metadata)
            return self._chosen(lost, group, self._facts.there_log)
        unread = self._crossing.progress(progress.offset, progress.vector)
        notes = *self._about_source(committed, self._facts), *self._facts.notes
        stay = replace(
            self._stay(group, Case.UNKNOWN, committed, *notes),
            not_replicated=self._not_replicated,
            vector=self._crossing.vector(unread),
            metadata=progress.metadata,
        )
        found = self._crossing.resume(unread)
        if found is None:
            unknown = ", ".join(self._crossing.unknown_regions(unread)) or "any region"
            stay = _noted(stay, f"too little is known of the records of {unknown}")
            return self._chosen(stay, group, self._facts.there_log)
        vector = vector_of(known_offsets(unread))
        move = self._mapped(stay, vector, found, self._facts.there_log)
        again = self._crossing.read_again(unread, committed, move.resume or 0)
        return replace(move, read_again=again)

    def _stay(self, group: str, case: Case, committed: int | None, *notes: str) -> Move:
        held = self._knowledge.target_commits.get(group, {}).get(self._partition)
        return Move(
            topic=self._partition.topic,
            partition=self._partition.partition,
            case=case,
            committed=committed,
            target_committed=held.offset if held else None,
            target_vector=dict(held.vector) if held else {},
            target_metadata=held.metadata if held else "",
            notes=notes,
        )

    def _about_source(self, committed: int, facts: PartitionFacts) -> list[str]:
        source, start, end = self._request.source, facts.here_start, facts.here.log_end
        if start is not None and committed < start:
            gone = start - committed
            return [f"was {gone} offsets below the log's start in {source}"]
        if end is not None and committed >= end:
            return [f"has read all that {source} held"]
        return []

    def _mapped(self, stay: Move, vector: Vector, found: MappedOffset, log: LogRange) -> Move:
        assert self._crossing
        target = self._request.target
        resume = min(max(found.offset, log.start), log.end)
        # Records below the log's start were not read, or are not known to be.
        took = self._crossing.retention_took(vector) + max(0, log.start - found.offset)
        move = replace(stay, case=Case.MOVES, resume=resume, basis=found.basis, retention_took=took)
        if took:
            move = _noted(move, f"retention in {target} took up to {took} unread offsets")
        if resume < found.offset:
            # Only a log that lost its end is shorter than runs and ledger say.
            move = _noted(
                replace(move, basis="floor"),
                f"{target}'s log ends at {log.end}, before the mapped offset",
            )
        return move

    def _chosen(self, stay: Move, group: str, log: LogRange) -> Move:
        choice = self._request.choices.get(group)
        offset = self._knowledge.chosen(choice, self._partition, log) if choice else None
        if choice is None or offset is None:
            return stay
        resume = min(max(offset, log.start), log.end)
        move = replace(stay, case=Case.CHOSEN, resume=resume)
        skipped = "" if choice.at_ms is None else ": older records are skipped"
        return _noted(move, f"continues by choice: {choice}{skipped}")


def _noted(move: Move, note: str) -> Move:
    return replace(move, notes=(*move.notes, note))
