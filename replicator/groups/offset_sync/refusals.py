"""Positions that are not moved: Redis and Kafka contradict each other, or a broker refuses them."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

from balancer.plan import TopicPartition

logger = logging.getLogger(__name__)


class Refusals:
    """Refused positions of a region's groups; each is logged when it begins and when it ends."""

    def __init__(self) -> None:
        self._reasons: dict[str, Mapping[TopicPartition, str]] = {}

    @property
    def count(self) -> int:
        return sum(map(len, self._reasons.values()))

    def has(self, group: str) -> bool:
        return group in self._reasons

    def found(self, group: str, reasons: Mapping[TopicPartition, str]) -> None:
        """Sets all refused positions of a group, as last found."""
        before = self._reasons.pop(group, {})
        if reasons:
            self._reasons[group] = reasons
        for partition, reason in reasons.items():
            if partition not in before:
                logger.error(
                    "event=copies-contradict group %r on %s-%d stays where it is: %s; find out who "
                    "writes to this Redis",
                    group,
                    *partition,
                    reason,
                )
        for partition in before.keys() - reasons.keys():
            logger.warning("event=copies-agree group %r on %s-%d", group, *partition)

    def only(self, groups: Collection[str]) -> None:
        """Forgets the groups that are no longer followed."""
        self._reasons = {group: it for group, it in self._reasons.items() if group in groups}


class RefusedWrites:
    """Groups with positions that the brokers here refuse; each is logged when that begins."""

    def __init__(self) -> None:
        self._groups: set[str] = set()

    def found(self, group: str, refused: Mapping[TopicPartition, str]) -> None:
        """Notes the refused positions of a group's last write."""
        if not refused:
            self._groups.discard(group)
        elif group not in self._groups:
            self._groups.add(group)
            (topic, partition), why = min(refused.items())
            logger.warning(
                "event=position-refused group %r on %s-%d stays where it is: %s (%d partitions); "
                "it is tried again",
                group,
                topic,
                partition,
                why,
                len(refused),
            )

    def only(self, groups: Collection[str]) -> None:
        """Forgets the groups that are no longer followed."""
        self._groups &= set(groups)
