"""A region is killed under load, and groups go on in the other: records read again and missed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.numbered_log import NUMBERS, Ints, moved, read_log
from deploy.lab.application import Application, Effect, Means
from deploy.lab.daemons import Daemons
from deploy.lab.lab import REGIONS, Lab
from deploy.lab.numbered_load import NumberedLoad
from deploy.lab.operator import Operator
from deploy.lab.wait import until

PATIENCE_SECONDS = 120.0
SOURCE, TARGET = REGIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class Unplanned:
    """What one application made of it, in records, all partitions together."""

    means: str
    handled_before: int
    read_again: int
    read_again_least: int
    """By the best offset that skips nothing, for what it had really handled."""
    read_again_said: str
    """By the plan; of what it knew of."""
    missed: int
    after_last_copied_commit: int
    """What it had handled beyond the commit that the plan was made from."""
    after_last_copied_commit_seconds: float
    copies_age_seconds: float
    """When the region was killed."""


def unplanned(
    lab: Lab,
    daemons: Daemons,
    topic: str,
    *,
    partitions: int,
    seconds: float,
    records_per_second: int,
) -> list[Unplanned]:
    """Two applications, a plain one and one that stores the vector with its effects.

    The daemons run; the source region does not come back. Raises RuntimeError, NotStarted, Refused.
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
        killed_at = time.time()
        daemons.kill(SOURCE)
        lab.regions[SOURCE].kill()
        loads[0].process.kill()
        for application in applications.values():
            application.kill()

        operator = Operator(lab.configuration)
        plan = operator.plan(SOURCE, TARGET, [each.group for each in applications.values()])
        operator.apply(plan)
        operator.verify(plan)
        for application in applications.values():
            application.start(lab.regions[TARGET])
        loads[1].stop()
        if not until(lambda: _is_quiet(list(applications.values())), PATIENCE_SECONDS, 2.0):
            raise RuntimeError(f"the applications do not come to an end; see {directory}")
        for application in applications.values():
            application.stop()
        return [
            _found(lab, topic, partitions, means, application, plan, killed_at)
            for means, application in applications.items()
        ]


def _is_quiet(applications: list[Application]) -> bool:
    before = [application.handled_count() for application in applications]
    time.sleep(2.0)
    return before == [application.handled_count() for application in applications]


def _found(
    lab: Lab,
    topic: str,
    partitions: int,
    means: Means,
    application: Application,
    plan: Mapping[str, Any],
    killed_at: float,
) -> Unplanned:
    log = read_log(lab.regions[TARGET].aggregate, topic, partitions, REGIONS)
    before = application.effects(SOURCE)
    everywhere = application.handled()
    moves = {
        move["partition"]: move
        for each in plan["groups"]
        if each["group"] == application.group
        for move in each["moves"]
    }
    late = [each for each in before if each.offset >= _committed(moves, each)]
    read, met = _numbers(before, partitions), _numbers(application.effects(), partitions)
    least = sum(
        moved(read[partition], log[partition], moves[partition]["resume"] or 0).read_again_least
        for partition in range(partitions)
        if partition in moves
    )
    age_ms = plan["age_ms"] or 0
    return Unplanned(
        means=means,
        handled_before=len(before),
        read_again=len(everywhere) - len(set(everywhere)),
        read_again_least=least,
        read_again_said=_said(moves),
        missed=sum(len(np.setdiff1d(log[p].numbers, met[p])) for p in range(partitions)),
        after_last_copied_commit=len(late),
        after_last_copied_commit_seconds=round(
            killed_at - min((each.at for each in late), default=killed_at), 3
        ),
        copies_age_seconds=round(killed_at - (plan["created_at_ms"] - age_ms) / 1000, 3),
    )


def _committed(moves: Mapping[int, Mapping[str, Any]], effect: Effect) -> int:
    move = moves.get(effect.record.partition)
    return (move["committed"] if move else None) or 0


def _numbers(effects: list[Effect], partitions: int) -> list[Ints]:
    found: list[list[int]] = [[] for _ in range(partitions)]
    for each in effects:
        record = each.record
        found[record.partition].append(REGIONS.index(record.region) * NUMBERS + record.number)
    return [np.array(numbers, dtype=np.int64) for numbers in found]


def _said(moves: Mapping[int, Mapping[str, Any]]) -> str:
    counts = [move["read_again"] for move in moves.values() if move["read_again"]]
    bounds = {count["bound"] for count in counts}
    total = sum(count["records"] for count in counts)
    return str(total) if bounds <= {"exact"} else f"at most {total}"
