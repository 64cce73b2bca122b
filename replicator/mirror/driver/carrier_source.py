"""Source of carriers' tasks: each task of an epoch runs some carriers; its rows are receipts.

The records themselves do not pass through Spark: inside the task, carriers move them from broker to
broker.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from typing_extensions import override

from replicator.spark.epoch_source import EpochTask
from replicator.spark.posted_tasks import PostedTasks
from replicator.spark.posting import ApplianceFile, Posting, PostingFile

# The modules of carriers take a second to import, and the driver needs none (decision 0081).
if TYPE_CHECKING:
    import pyarrow as pa

    from balancer.carrier_plan import CarrierId
    from replicator.config.topology import Appliance
    from replicator.mirror.carrier.carrier_assignment import CarrierAssignment
    from replicator.mirror.carrier.receipts import Receipt
    from replicator.notices.conditions import Conditions

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CarrierTask:
    """Carriers that share one Spark task."""

    appliance: Appliance
    assignments: tuple[CarrierAssignment, ...]
    seconds: float
    """Length of the epoch."""

    def begun(self, now: float) -> CarrierTask:
        """Returns the task, begun now: its carriers work until a deadline.

        Args:
            now: of the monotonic clock of the task's process, in seconds.
        """
        deadline = now + self.seconds
        return replace(
            self, assignments=tuple(replace(it, deadline=deadline) for it in self.assignments)
        )


class CarrierTasks(PostedTasks[Posting]):
    """Tasks of carriers, by the plan that the driver has posted."""

    @override
    def tasks(self, appliance: Appliance, posting: Posting) -> list[CarrierTask]:
        return epoch_tasks(appliance, posting)

    @override
    def run(self, task: EpochTask) -> pa.RecordBatch | None:
        """Runs the carriers of one task. Progress comes from the ledger, so repeating it is
        harmless."""
        import uvloop

        from replicator.mirror.carrier.receipts import to_arrow
        from replicator.notices.conditions import Conditions
        from replicator.notices.notice_writer import notices

        assert isinstance(task, CarrierTask)
        conditions = [Conditions(who(each)) for each in task.assignments]
        # All carriers of a driver carry into its region.
        region = task.appliance.region(task.assignments[0].route.target)
        with notices(region, f"carriers of {region.name}", conditions):
            receipts = uvloop.run(carried(task, conditions))
        return to_arrow(receipts) if receipts else None

    @override
    def warm_up(self) -> None:
        import_module("replicator.mirror.carrier.carrier")


def carrier_tasks(appliance: Path, posting: Path) -> CarrierTasks:
    """Returns the tasks by the daemon's files of the appliance and of the posting."""
    return CarrierTasks(ApplianceFile(appliance), PostingFile(posting))


def epoch_tasks(appliance: Appliance, posting: Posting) -> list[CarrierTask]:
    """Returns the tasks of the epoch that begins now."""
    from balancer.carrier_plan import carriers_by_task

    return [
        CarrierTask(
            appliance,
            tuple(assigned(appliance, posting, carrier) for carrier in carriers),
            appliance.replicator.epoch_seconds,
        )
        for carriers in carriers_by_task(posting.plan, posting.slots)
    ]


def assigned(appliance: Appliance, posting: Posting, carrier: CarrierId) -> CarrierAssignment:
    """Returns the assignment of one carrier for the epoch."""
    from replicator.mirror.carrier.carrier_assignment import CarrierAssignment

    partitions = posting.plan.loads[carrier]
    topics = {partition.topic for partition in partitions} & posting.limits.keys()
    return CarrierAssignment(
        route=next(route for route in appliance.routes if route.key == carrier.route),
        number=carrier.number,
        partitions=partitions,
        term=posting.term,
        plan_version=posting.plan.version,
        max_message_bytes=tuple((topic, posting.limits[topic]) for topic in sorted(topics)),
        refusing=tuple(
            (topic, tuple(posting.refusing[topic]))
            for topic in sorted({it.topic for it in partitions} & posting.refusing.keys())
        ),
    )


def who(assignment: CarrierAssignment) -> str:
    """Returns the name of a carrier in conditions."""
    return f"carrier {assignment.number} of {assignment.route}"


async def carried(
    each: CarrierTask,
    conditions: Sequence[Conditions],
    carry: Callable[..., Awaitable[list[Receipt]]] | None = None,
) -> list[Receipt]:
    """Runs the carriers of a task; returns all receipts once the last one has ended its epoch.

    Args:
        conditions: of each carrier.
        carry: as of kept_mirroring.
    """
    each = each.begun(time.monotonic())
    receipts = await asyncio.gather(
        *(
            kept_mirroring(each.appliance, assignment, own, carry)
            for assignment, own in zip(each.assignments, conditions, strict=True)
        )
    )
    return [receipt for some in receipts for receipt in some]


async def kept_mirroring(
    appliance: Appliance,
    assignment: CarrierAssignment,
    conditions: Conditions,
    carry: Callable[..., Awaitable[list[Receipt]]] | None = None,
) -> list[Receipt]:
    """Runs one carrier for an epoch and returns its receipts.

    Args:
        carry: runs it once; by default carrier.carry, which is imported only in a task.
    """
    from replicator.mirror.carrier import carrier
    from replicator.notices.condition import Kind, Subject
    from replicator.spark.kept_up import kept_up

    once = partial(carry or carrier.carry, appliance, assignment, conditions=conditions)
    who = f"route={assignment.route} carrier={assignment.number}"
    log.info(
        "event=epoch %s partitions=%d plan=%d",
        who,
        len(assignment.partitions),
        assignment.plan_version,
    )
    receipts = await kept_up(
        once,
        who=who,
        failed="event=carrier-failed %s again_in_seconds=%.1f",
        deadline=assignment.deadline,
        note_failure=lambda text: conditions.replace(
            Kind.CARRIER_FAILED,
            {Subject(assignment.route.name, carrier=assignment.number): text},
        ),
    )
    return receipts or []
