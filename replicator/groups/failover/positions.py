"""Positions that a plan writer still has to write, by what the target shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from balancer.topic_partition import TopicPartition
from replicator.groups.failover.outcome import Commits, MoveState, planned, state_of
from replicator.groups.planning.failover_plan import GroupPlan
from replicator.groups.planning.knowledge import LogRange
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata

Logs = Mapping[TopicPartition, LogRange | None]
"""Logs of the target by partition; None: the log does not answer."""


@dataclass(frozen=True, slots=True)
class Writable:
    """Positions of a group that its logs allow to write.

    Args:
        obstacle: why nothing may be written; empty if the positions may be.
        remark: what differs from the plan, for the operator.
    """

    positions: Commits
    obstacle: str = ""
    remark: str = ""


def missing(group: GroupPlan, before: Commits, *, is_begun: bool) -> Commits:
    """Returns the planned positions of a group that differ from its commits in the target.

    Args:
        is_begun: True if this plan has begun to move the group, which may then live in the target
            already. What its consumers or an operator have committed since is not taken back.
    """
    whole = planned(group)
    wanted = {partition: held for partition, held in whole.items() if before.get(partition) != held}
    if not is_begun:
        return wanted
    moves = {move.topic_partition: move for move in group.moves}
    states = {partition: state_of(moves[partition], before.get(partition)) for partition in whole}
    if MoveState.OVERTAKEN in states.values():
        return {}
    return {
        partition: held for partition, held in wanted.items() if states[partition] is MoveState.OPEN
    }


def writable(positions: Commits, logs: Logs, target: str) -> Writable:
    """Returns the positions that may be written for a group that was begun, perhaps long ago.

    A position that its log does not hold would leave the consumer to its auto.offset.reset, which
    may be the log's end. A position that retention took is raised to the log's start.
    """
    held, remark = dict(positions), ""
    for partition, (resume, metadata) in positions.items():
        log, where = logs[partition], f"{partition.topic}-{partition.partition}"
        if log is None or log.end < resume:
            obstacle = f"{target} does not hold offset {resume} of {where}; make a new plan for it"
            return Writable({}, obstacle)
        if log.start > resume:
            held[partition] = OffsetAndMetadata(log.start, metadata)
            remark = (
                f"retention in {target} took up to {log.start - resume} unread offsets since it "
                f"was planned: {where} continues at {log.start}"
            )
    return Writable(held, remark=remark)
