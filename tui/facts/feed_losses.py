"""Parked partitions of a feed, and what became of those that an operator accepted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aggregator.intents.intent import Intent
from aggregator.loader.reports import FeedPartition

FASTER = "a loader was faster: look again"
NO_INTENT = "its intent is gone although it was loaded before"


@dataclass(frozen=True, slots=True)
class ParkedPartition:
    """A partition that waits for an operator's decision.

    Args:
        intent: None if there is none; then only the operator can say where to go on.
    """

    partition: FeedPartition
    intent: Intent | None

    @property
    def reason(self) -> str:
        return str(self.intent.parked) if self.intent else NO_INTENT


@dataclass(frozen=True, slots=True)
class ContinuedPartition:
    """A partition that goes on.

    Args:
        reason: for which it was parked.
        offset: at which reading goes on.
    """

    partition: FeedPartition
    reason: str
    offset: int


@dataclass(frozen=True, slots=True)
class FeedLosses:
    """Report on the parked partitions of a feed.

    Args:
        parked: partitions that were not accepted, because nobody asked for it.
        left: partitions that could not be accepted, with the reason; they are parked as before.
    """

    parked: tuple[ParkedPartition, ...] = ()
    continued: tuple[ContinuedPartition, ...] = ()
    left: Mapping[FeedPartition, str] = field(default_factory=dict)
