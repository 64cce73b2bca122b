"""Faults of a mirrored route, by the course of its history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tests.world.faults import (
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
    target_answers,
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
        )
        by_name = {it.name: it for it in (*FAULTS, *rare)}
        return [replace(by_name[name], weight=1, share=1.0) for name in course.only]
    return (*FAULTS, *losses.LOSSES) if course.loses else FAULTS
