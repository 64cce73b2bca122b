"""Posted tasks: the tasks of each epoch are those of the plan that the driver has posted."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from typing_extensions import override

from replicator.spark.epoch_source import Demand, EpochTask, EpochTasks

# Workers import what they use (carrier_source.py).
if TYPE_CHECKING:
    from balancer.carrier_plan import Plan
    from replicator.config.topology import Appliance
    from replicator.spark.posting import ApplianceFile


class Posted(Protocol):
    """Input of the next epoch; with `stop` none begins."""

    @property
    def plan(self) -> Plan: ...

    @property
    def stop(self) -> bool: ...


Input = TypeVar("Input", bound=Posted)
Read = TypeVar("Read", bound=Posted, covariant=True)


class PostingReader(Protocol[Read]):
    """File of what is posted."""

    def read(self) -> Read | None:
        """Returns the posting; None before the first one."""


@dataclass(frozen=True, slots=True)
class PostedTasks(EpochTasks, Generic[Input]):
    """Tasks by what the driver has posted."""

    appliance: ApplianceFile
    postings: PostingReader[Input]

    @abstractmethod
    def tasks(self, appliance: Appliance, posting: Input) -> Sequence[EpochTask]:
        """Returns the tasks of the epoch that begins now."""

    @override
    def demand(self) -> Demand:
        posting = self.postings.read()
        if posting and posting.stop:
            return Demand.STOP
        has_work = posting is not None and posting.plan.partitions
        return Demand.WORK if has_work else Demand.NOTHING_TO_DO

    @override
    def begin(self) -> Sequence[EpochTask]:
        posting = self.postings.read()
        if posting is None or posting.stop:
            return []
        return self.tasks(self.appliance.read(), posting)
