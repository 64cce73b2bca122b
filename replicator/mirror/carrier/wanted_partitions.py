"""Wanted partitions of a carrier session: those it does not carry yet, with the reasons. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from types import MappingProxyType

from balancer.plan import TopicPartition
from replicator.mirror.ledger.acquired import Acquired

Reasons = Mapping[TopicPartition, str]

WAITED_LONG_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class WantedPartitions:
    """Partitions to be acquired.

    Args:
        waiting: not available yet, with the reason of the last failure (empty: none).
        parked: not carried until an operator decides, with the reason. They are retried, so that
            the decision takes effect within the epoch.
    """

    waiting: Reasons = field(default_factory=lambda: MappingProxyType({}))
    parked: Reasons = field(default_factory=lambda: MappingProxyType({}))

    @property
    def partitions(self) -> set[TopicPartition]:
        """Partitions that the next attempt asks for."""
        return self.waiting.keys() | self.parked.keys()

    def with_waiting(self, partitions: Iterable[TopicPartition]) -> WantedPartitions:
        """Returns these and further partitions, not tried yet."""
        return replace(self, waiting={**self.waiting, **dict.fromkeys(partitions, "")})

    def with_parked(self, partition: TopicPartition, reason: str) -> WantedPartitions:
        """Returns these and a partition that has just been parked."""
        return replace(self, parked={**self.parked, partition: reason})

    def without(self, partitions: Collection[TopicPartition]) -> WantedPartitions:
        """Returns the other partitions."""
        return WantedPartitions(
            _without(self.waiting, partitions), _without(self.parked, partitions)
        )

    def after(
        self, asked: Collection[TopicPartition], acquired: Acquired, parked: Reasons
    ) -> WantedPartitions:
        """Returns the partitions that are still wanted after an attempt.

        Partitions that were added or dropped during the attempt were not part of it.

        Args:
            asked: the partitions when the attempt began.
            acquired: result of the attempt.
            parked: partitions that were parked while carried, with the reasons.
        """
        dropped = set(asked) - self.partitions
        added = {each: "" for each in self.waiting if each not in asked}
        waiting = {**dict.fromkeys(acquired.spared, ""), **acquired.waiting, **added}
        all_parked = {**acquired.parked, **parked}
        return WantedPartitions(_without(waiting, dropped), _without(all_parked, dropped))


def _without(reasons: Reasons, partitions: Collection[TopicPartition]) -> Reasons:
    gone = set(partitions)
    return {partition: reason for partition, reason in reasons.items() if partition not in gone}


class LongWaits:
    """Reasons for which partitions have waited, each reported once."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}

    def overdue(self, waiting: Reasons, now: float) -> dict[str, TopicPartition]:
        """Returns the reasons that have lasted, with one partition as example.

        Args:
            now: monotonic seconds.
        """
        examples = {reason: partition for partition, reason in waiting.items() if reason}
        since = {reason: self._since.get(reason, now) for reason in examples}
        lasting = [reason for reason, at in since.items() if now - at > WAITED_LONG_SECONDS]
        self._since = since | dict.fromkeys(lasting, inf)
        return {reason: examples[reason] for reason in lasting}
