"""Parked partitions of a route, and what became of those that an operator accepted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from balancer.plan import TopicPartition
from replicator.mirror.repair.accept_loss import Accepted, Parked


@dataclass(frozen=True, slots=True)
class LossReport:
    """Report on the parked partitions of a route.

    Args:
        parked: partitions that are parked and were not accepted, because nobody asked for it.
        accepted: partitions that go on behind an accepted loss.
        left: partitions that could not be acquired, with the reason; they are parked as before.
    """

    parked: tuple[Parked, ...] = ()
    accepted: tuple[Accepted, ...] = ()
    left: Mapping[TopicPartition, str] = field(default_factory=dict)
