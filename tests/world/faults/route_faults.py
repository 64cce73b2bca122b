"""Faults of a mirrored route, by the course of its history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tests.world.faults import (
    balancers,
    brokers,
    carriers,
    coincidences,
    compaction,
    connections,
    drivers,
    ids,
    ledger,
    logs,
    losses,
    operators,
    redis,
    route_strikes,
    streams,
    target_answers,
    topic_configs,
)
from tests.world.faults.fault import Fault
from tests.world.mirror.scene import Course, Scene

FAULTS: Sequence[Fault[Scene]] = (
    *carriers.FAULTS,
    *drivers.FAULTS,
    *operators.FAULTS,
    *brokers.FAULTS,
    *logs.FAULTS,
    *connections.FAULTS,
    *redis.FAULTS,
)


def faults_of(course: Course) -> Sequence[Fault[Scene]]:
    """Returns the faults of a course; each seed deals all that the course names."""
    if course.only:
        rare: Sequence[Fault[Scene]] = (
            *losses.LOSSES,
            *losses.RESTORES,
            *coincidences.COINCIDENCES,
            *ledger.LEDGER,
            *compaction.COMPACTION,
            *target_answers.TARGET_ANSWERS,
            *operators.RARE,
            *ids.IDS,
            *route_strikes.STRIKES,
            *balancers.BALANCERS,
            *balancers.OVERTAKINGS,
            *topic_configs.CONFIGS,
            *carriers.CLOCKS,
        )
        by_name = {it.name: it for it in (*FAULTS, *rare)}
        return [replace(by_name[name], weight=1, share=1.0) for name in course.only]
    more: list[tuple[bool, Sequence[Fault[Scene]]]] = [
        (course.loses, losses.LOSSES),
        (course.has_streams, streams.STREAMS),
        (course.has_balancers, balancers.BALANCERS),
    ]
    return (*FAULTS, *(fault for is_dealt, some in more if is_dealt for fault in some))
