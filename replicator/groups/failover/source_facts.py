"""Facts from the source region. It may be lost, so its answers have a deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TypeVar

from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Region
from replicator.groups.membership.groups import Groups
from replicator.kafka.admin.admin import Admin, PartitionOffsets
from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.protocol.group_list import ListedGroup

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """Answers of the source region that came in time.

    Args:
        groups: all groups by name; None: no answer.
        starts, ends: of its aggregate's logs.
        regional_ends: of its regional cluster's logs.
    """

    groups: Mapping[str, ListedGroup] | None = None
    starts: PartitionOffsets = field(default_factory=dict)
    ends: PartitionOffsets = field(default_factory=dict)
    regional_ends: PartitionOffsets = field(default_factory=dict)

    @property
    def active(self) -> frozenset[str] | None:
        """Groups with members; None: no answer."""
        if self.groups is None:
            return None
        return frozenset(name for name, group in self.groups.items() if group.has_members)


class SourceAnswers:
    """Answers that are under way."""

    def __init__(
        self,
        groups: Future[dict[str, ListedGroup] | None],
        ranges: Future[tuple[PartitionOffsets, PartitionOffsets] | None],
        regional_ends: Future[PartitionOffsets | None],
    ) -> None:
        self._groups = groups
        self._ranges = ranges
        self._regional_ends = regional_ends

    def until(self, give_up_at: float) -> SourceFacts:
        """Returns the facts that arrived by a time (of time.monotonic())."""
        starts, ends = _answer(self._ranges, give_up_at) or ({}, {})
        return SourceFacts(
            _answer(self._groups, give_up_at),
            starts,
            ends,
            _answer(self._regional_ends, give_up_at) or {},
        )


class SourceQuestions:
    """Questions to the source region's clusters."""

    def __init__(self, region: Region, timeout_seconds: float) -> None:
        self._groups = Groups(ClusterName.aggregate(region.name), region.aggregate, timeout_seconds)
        self._aggregate = Admin(
            ClusterName.aggregate(region.name), region.aggregate, timeout_seconds
        )
        self._regional = Admin(ClusterName.regional(region.name), region.regional, timeout_seconds)

    def ask(self, partitions: Collection[TopicPartition]) -> SourceAnswers:
        """Asks, and returns at once."""
        return SourceAnswers(
            _asked(self._groups.listed),
            _asked(
                lambda: (
                    self._aggregate.offsets(partitions, "earliest"),
                    self._aggregate.offsets(partitions, "latest"),
                )
            ),
            _asked(lambda: self._regional.offsets(partitions, "latest")),
        )


def _asked(question: Callable[[], T]) -> Future[T | None]:
    """Asks in a thread that nobody waits for, not even the end of the process."""
    answer: Future[T | None] = Future()

    def ask() -> None:
        try:
            answer.set_result(question())
        except AdminError:
            answer.set_result(None)
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=ask, daemon=True).start()
    return answer


def _answer(answer: Future[T | None], give_up_at: float) -> T | None:
    try:
        return answer.result(max(0.0, give_up_at - time.monotonic()))
    except TimeoutError:
        return None
