"""Worker that finds where a group would go on in another region: a program of its own.

Planning takes seconds of Python, in which the console could not draw. The first line of the input
is the appliance, each other line a question; the answers are JSON, a line each. The worker ends
with its input, and so with the console, however that ended.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import IO

from pydantic import TypeAdapter

from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance, UnknownRegion
from replicator.groups.failover.fresh_plans import FreshPlans, NoWay, checked
from replicator.groups.planning.failover_plan import Move
from replicator.groups.planning.knowledge import Request
from replicator.kafka.admin.admin import Admin
from tui.facts.group_view import GroupDetail, GroupPosition
from tui.facts.watch.group_lags import LagProbe, Position
from tui.facts.watch.inquiry import Inquiry
from tui.facts.watch.problems import answer_or_none

REASON = "shown in the console"
REGION_SECONDS_MAX = 3.0
"""Time for positions that the regions' own clusters know: a region may be lost."""

DETAIL = TypeAdapter(GroupDetail)
ByRegion = Mapping[str, Mapping[TopicPartition, Position]]
"""Positions of one group, by region; a region that does not answer is left out."""


class ResumeWorker:
    """Answers about one group at a time; keeps its connections. Blocking.

    Args:
        probe: makes what finds a group's positions in one region.
    """

    def __init__(
        self,
        appliance: Appliance,
        timeout_seconds: float,
        probe: type[LagProbe] = LagProbe,
    ) -> None:
        self._appliance = appliance
        self._timeout_seconds = timeout_seconds
        self._plans = FreshPlans(appliance, timeout_seconds=timeout_seconds)
        seconds = min(timeout_seconds, REGION_SECONDS_MAX)
        self._probes = {
            region: probe(Admin(ClusterName.aggregate(region), settings.aggregate, seconds))
            for region, settings in sorted(appliance.regions.items())
        }

    def detail(self, group: str, source: str, target: str) -> GroupDetail:
        """Returns the positions of a group in all regions, and where it would resume."""
        inquiry = Inquiry(min(self._timeout_seconds, REGION_SECONDS_MAX))
        asked = {
            region: inquiry.ask_cluster(
                ClusterName.aggregate(region),
                self._appliance.region(region).aggregate,
                partial(probe.positions, group),
            )
            for region, probe in self._probes.items()
        }
        problems: list[str] = []
        moves = answer_or_none(
            partial(self._moves, group, source, target), problems.append, NoWay, UnknownRegion
        )
        found = {
            region: positions
            for region, reply in asked.items()
            if (positions := reply.answer()) is not None
        }
        return GroupDetail(
            group=group,
            source=source,
            target=target,
            worked_out_at=time.time(),
            positions=positions_of(moves or (), found, source, target),
            problem=next(iter(problems), None),
        )

    def _moves(self, group: str, source: str, target: str) -> tuple[Move, ...]:
        """Returns the moves of a plan that nobody keeps."""
        checked(self._appliance, source, target)
        request = Request(source=source, target=target, reason=REASON, groups=frozenset({group}))
        now_ms = time.time_ns() // 1_000_000
        plan, _ = self._plans.plan(request, plan_id="", now_ms=now_ms)
        return tuple(move for _, move in plan.moves())


def positions_of(
    moves: Iterable[Move], by_region: ByRegion, source: str, target: str
) -> tuple[GroupPosition, ...]:
    """Returns the positions of all partitions, sorted.

    A region's own answer counts before what a plan says of the region: the plan's commits in the
    source are copies.
    """
    planned = {move.topic_partition: move for move in moves}
    places = set(planned).union(*by_region.values())
    return tuple(
        _position(place, planned.get(place), by_region, source, target) for place in sorted(places)
    )


def _position(
    place: TopicPartition, move: Move | None, by_region: ByRegion, source: str, target: str
) -> GroupPosition:
    told = {region: some[place] for region, some in by_region.items() if place in some}
    copied = {source: move.committed, target: move.target_committed} if move else {}
    committed = {region: offset for region, offset in copied.items() if offset is not None}
    committed |= {region: position.committed for region, position in told.items()}
    again = move.read_again if move else None
    return GroupPosition(
        topic=place.topic,
        partition=place.partition,
        committed=committed,
        lag={region: it.lag for region, it in told.items() if it.lag is not None},
        resume=move.resume if move else None,
        basis=move.basis_or_case if move else None,
        read_again=again.records if again else None,
        notes=move.notes if move else (),
    )


def serve(
    lines: Iterable[bytes], output: IO[bytes], detail: Callable[[str, str, str], GroupDetail]
) -> None:
    """Answers each line, a list of group, source and target, with a line of JSON."""
    for line in lines:
        group, source, target = json.loads(line)
        output.write(DETAIL.dump_json(detail(group, source, target)) + b"\n")
        output.flush()


def first_line(appliance: Appliance, timeout_seconds: float) -> bytes:
    """Returns the worker's first line of input."""
    return base64.b64encode(pickle.dumps((appliance, timeout_seconds))) + b"\n"


def main() -> None:
    """Reads the appliance, then serves until the input ends."""
    appliance, timeout_seconds = pickle.loads(base64.b64decode(sys.stdin.buffer.readline()))
    worker = ResumeWorker(appliance, timeout_seconds)
    serve(_until_the_end(sys.stdin.buffer), sys.stdout.buffer, worker.detail)


def _until_the_end(input_: IO[bytes]) -> Iterable[bytes]:
    """Yields the lines; ends the process with the input, even while an answer is worked out."""
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        for line in iter(input_.readline, b""):
            lines.put(line)
        os._exit(0)

    threading.Thread(target=read, name="questions", daemon=True).start()
    while True:
        yield lines.get()


if __name__ == "__main__":
    main()
