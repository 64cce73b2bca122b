"""Result of an order to place a stream now."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from balancer.topic_partition import TopicPartition
from replicator.orders.order_records import Answer, ByHand, Lease, Placed


class Result(StrEnum):
    """Result as programs read it.

    STALE means that nothing was changed; UNKNOWN that the order stays without an answer yet.
    """

    DONE = "done"
    STALE = "stale"
    UNKNOWN = "unknown"


class CarrierChange(NamedTuple):
    """Change of a partition's carrier; `source` is None when it had none before."""

    partition: TopicPartition
    source: int | None
    target: int


@dataclass(frozen=True, slots=True)
class ManualPlacement:
    """Manual placement order, and what became of it.

    Args:
        answer: the balancer's answer; None when none came in time.
        before, after: the stream's placement when the order was made, and at the end of the wait.
        lease: lease of the balancer that acts or acted last.
        now_ms: time of the result, in Unix milliseconds.
        replaced_by: later manual order for the stream, which replaced this one.
        is_written: False when the order was stale already and therefore not written.
    """

    order: ByHand
    answer: Answer | None
    before: Placed | None
    after: Placed | None
    lease: Lease | None
    now_ms: int
    replaced_by: ByHand | None = None
    is_written: bool = True

    @property
    def result(self) -> Result:
        if self.answer is None:
            return Result.UNKNOWN if self.is_written else Result.STALE
        return Result.STALE if self.answer.refused else Result.DONE

    @property
    def moves(self) -> list[CarrierChange]:
        """Partitions of the placement `after` whose carrier was another one before, or none."""
        before = self.before.where if self.before else {}
        after = self.after.where if self.after else {}
        return [
            CarrierChange(partition, before.get(partition), carrier)
            for partition, carrier in sorted(after.items())
            if before.get(partition) != carrier
        ]

    @property
    def newest_generation(self) -> int:
        """Generation of the newest known placement of the stream; 0 when there is none."""
        placed = self.after or self.before
        return placed.generation if placed else 0
