"""Unplanned failover: a region is killed under load. Counts records read again and missed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.numbered_log import NUMBERS, Ints, NumberedLog, moved, read_log
from deploy.lab.application import Application, Effect, Means
from deploy.lab.daemons import Daemons
from deploy.lab.lab import REGIONS, Lab
from deploy.lab.numbered_load import Numbered, NumberedLoad
from deploy.lab.operator import Operator
from deploy.lab.wait import until

PATIENCE_SECONDS = 120.0
SOURCE, TARGET = REGIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class Unplanned:
    """Result of one application in records, all partitions together."""

    means: str
    handled_before: int
    read_again: int
    read_again_least: int
    """Lower bound: the best offset that skips nothing, given the records really handled."""
    read_again_least_of_copies: int
    """Lower bound: the best offset that skips nothing, given the commits known to the plan."""
    read_again_said: str
    """The plan's own figure, from the commits that it knew."""
    missed: int
    after_last_copied_commit: int
    """Records handled beyond the commit that the plan was made from, because of the copies' age and
    of commits not yet made by the application."""
    after_last_copied_commit_seconds: float
    copies_age_seconds: float
    """Age of the copies when the region was killed."""


def unplanned(
    lab: Lab,
    daemons: Daemons,
    topic: str,
    *,
    partitions: int,
    seconds: float,
    records_per_second: int,
) -> list[Unplanned]:
    """Moves two applications: a plain one, and one that stores the vector with its effects.

    The daemons have to run. The source region does not come back. Raises RuntimeError, NotStarted
    or Refused.
    """
    directory = lab.directory / "applications"
    with ExitStack() as stack:
        applications: dict[Means, Application] = {
            means: stack.enter_context(
                Application(
                    f"{topic}-{means}",
                    directory,
                    (topic,),
                    means=means,
                    configuration=lab.configuration,
                )
            )
            for means in ("plain", "stored")
        }
        loads = [
            stack.enter_context(
                NumberedLoad(
                    f"load-{name}",
                    name,
                    lab.regions,
                    directory,
                    topic=topic,
                    partitions=partitions,
                    records_per_second=records_per_second,
                )
            )
            for name in REGIONS
        ]
        for application in applications.values():
            application.start(lab.regions[SOURCE])
        wanted = records_per_second * seconds
        for application in applications.values():
            if not until(lambda app=application: app.handled_count() > wanted, PATIENCE_SECONDS):  # type: ignore[misc]
                raise RuntimeError(f"{application.group} handles nothing; see {directory}")
        lab.regions[SOURCE].aggregate.kill_all()
        killed_at = time.time()
        for application in applications.values():
            application.kill()
        lab.regions[SOURCE].kill()
        daemons.kill(SOURCE)
        loads[0].process.kill()

        operator = Operator(lab.configuration)
        plan = operator.plan(SOURCE, TARGET, [each.group for each in applications.values()])
        operator.apply(plan)
        operator.verify(plan)
        for application in applications.values():
            application.start(lab.regions[TARGET])
        log = _whole_log(lab, topic, partitions, loads[1].stop())
        for application in applications.values():
            # Records that are not handled by then count as missed.
            until(lambda app=application: _unmet(log, app) == 0, PATIENCE_SECONDS, 0.5)  # type: ignore[misc]
            application.stop()
        return [
            _found(log, means, application, plan, killed_at)
            for means, application in applications.items()
        ]


def _whole_log(
    lab: Lab, topic: str, partitions: int, acknowledged: list[Numbered]
) -> list[NumberedLog]:
    """Returns the target's log, once it has all records of its own region's producer.

    Records of the lost region that are still missing then can no longer arrive.
    """
    owed = _by_partition(acknowledged, partitions)
    log: list[NumberedLog] = []

    def has_all() -> bool:
        nonlocal log
        log = read_log(lab.regions[TARGET].aggregate, topic, partitions, REGIONS)
        return not any(
            len(np.setdiff1d(numbers, found.numbers))
            for numbers, found in zip(owed, log, strict=True)
        )

    if not until(has_all, PATIENCE_SECONDS, 0.5):
        raise RuntimeError(f"not all of {topic} arrives in {TARGET}")
    return log


def _unmet(log: Sequence[NumberedLog], application: Application) -> int:
    met = _by_partition(application.handled(), len(log))
    return sum(len(np.setdiff1d(each.numbers, met[p])) for p, each in enumerate(log))


def _found(
    log: Sequence[NumberedLog],
    means: Means,
    application: Application,
    plan: Mapping[str, Any],
    killed_at: float,
) -> Unplanned:
    before = application.effects(SOURCE)
    everywhere = application.handled()
    moves = {
        move["partition"]: move
        for each in plan["groups"]
        if each["group"] == application.group
        for move in each["moves"]
    }
    late = [each for each in before if each.offset >= _committed(moves, each)]
    copied = [each for each in before if each.offset < _committed(moves, each)]
    age_ms = plan["age_ms"] or 0
    return Unplanned(
        means=means,
        handled_before=len(before),
        read_again=len(everywhere) - len(set(everywhere)),
        read_again_least=_least(log, before),
        read_again_least_of_copies=_least(log, copied),
        read_again_said=_said(moves),
        missed=_unmet(log, application),
        after_last_copied_commit=len(late),
        after_last_copied_commit_seconds=round(before[-1].at - late[0].at if late else 0.0, 3),
        copies_age_seconds=round(killed_at - (plan["created_at_ms"] - age_ms) / 1000, 3),
    )


def _least(log: Sequence[NumberedLog], effects: list[Effect]) -> int:
    read = _by_partition([each.record for each in effects], len(log))
    return sum(
        moved(numbers, found, 0).read_again_least for numbers, found in zip(read, log, strict=True)
    )


def _committed(moves: Mapping[int, Mapping[str, Any]], effect: Effect) -> int:
    move = moves.get(effect.record.partition)
    return (move["committed"] if move else None) or 0


def _by_partition(records: Iterable[Numbered], partitions: int) -> list[Ints]:
    found: list[list[int]] = [[] for _ in range(partitions)]
    for record in records:
        found[record.partition].append(REGIONS.index(record.region) * NUMBERS + record.number)
    return [np.array(numbers, dtype=np.int64) for numbers in found]


def _said(moves: Mapping[int, Mapping[str, Any]]) -> str:
    counts = [move["read_again"] for move in moves.values() if move["read_again"]]
    bounds = {count["bound"] for count in counts}
    total = sum(count["records"] for count in counts)
    return str(total) if bounds <= {"exact"} else f"at most {total}"
