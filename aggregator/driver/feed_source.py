"""Source of loaders' tasks: each task of an epoch runs some loaders; its rows are receipts of
blocks."""

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

from aggregator.driver.feed_posting import FeedCluster, FeedPosting, FeedPostingFile
from replicator.spark.epoch_source import EpochTask
from replicator.spark.posted_tasks import PostedTasks
from replicator.spark.posting import ApplianceFile

# As in carrier_source.py, the modules of loaders are imported by workers alone.
if TYPE_CHECKING:
    import pyarrow as pa

    from aggregator.loader.loader_assignment import LoaderAssignment
    from balancer.carrier_plan import CarrierId
    from replicator.config.topology import Appliance
    from replicator.notices.conditions import Conditions

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LoaderTask:
    """Loaders that share one Spark task."""

    appliance: Appliance
    assignments: tuple[LoaderAssignment, ...]
    seconds: float
    """Length of the epoch."""

    def begun(self, now: float) -> LoaderTask:
        """Returns the task, begun now: its loaders work until a deadline.

        Args:
            now: of the monotonic clock of the task's process, in seconds.
        """
        deadline = now + self.seconds
        return replace(
            self, assignments=tuple(replace(it, deadline=deadline) for it in self.assignments)
        )


class LoaderTasks(PostedTasks[FeedPosting]):
    """Tasks of loaders, by the plan that the driver has posted."""

    @override
    def tasks(self, appliance: Appliance, posting: FeedPosting) -> list[LoaderTask]:
        return epoch_tasks(appliance, posting)

    @override
    def run(self, task: EpochTask) -> pa.RecordBatch | None:
        """Runs the loaders of one task. Progress comes from the intents, so repeating it is
        harmless."""
        import uvloop

        from replicator.notices.conditions import Conditions
        from replicator.notices.notice_writer import notices

        assert isinstance(task, LoaderTask)
        # All loaders of a driver load the feeds of its region.
        region = task.appliance.region(task.assignments[0].feed.region)
        conditions = [Conditions(who(each)) for each in task.assignments]
        with notices(region, f"loaders of {region.name}", conditions):
            return uvloop.run(loaded(task, conditions))

    @override
    def warm_up(self) -> None:
        import_module("aggregator.loader.loader")


def loader_tasks(appliance: Path, posting: Path) -> LoaderTasks:
    """Returns the tasks by the daemon's files of the appliance and of the posting."""
    return LoaderTasks(ApplianceFile(appliance), FeedPostingFile(posting))


def epoch_tasks(appliance: Appliance, posting: FeedPosting) -> list[LoaderTask]:
    """Returns the tasks of the epoch that begins now."""
    seconds = epoch_seconds(appliance, posting)
    return [
        LoaderTask(
            appliance,
            tuple(assigned(appliance, posting, loader) for loader in loaders),
            seconds,
        )
        for loaders in posting.loaders_by_task()
    ]


def epoch_seconds(appliance: Appliance, posting: FeedPosting) -> float:
    """Returns the length of an epoch: all loaders wait for the last one that ends it."""
    from replicator.config.object_feed import ObjectFeed

    names = {FeedCluster.parse(loader.route).feed for loader in posting.plan.loads}
    feeds = [appliance.feed(name) for name in names]
    longest = [feed.epoch_seconds for feed in feeds if isinstance(feed, ObjectFeed)]
    return max([appliance.aggregator.epoch_seconds, *longest])


def assigned(appliance: Appliance, posting: FeedPosting, loader: CarrierId) -> LoaderAssignment:
    """Returns the assignment of one loader for the epoch."""
    from aggregator.loader.loader_assignment import LoaderAssignment

    each = FeedCluster.parse(loader.route)
    return LoaderAssignment(
        feed=appliance.feed(each.feed),
        cluster=each.cluster,
        number=loader.number,
        partitions=posting.plan.loads[loader],
        orders=posting.orders[each.feed],
        term=posting.terms[each.cluster],
        plan_version=posting.plan.version,
        has_condition=each not in posting.unconditional,
    )


def who(assignment: LoaderAssignment) -> str:
    """Returns the name of a loader in conditions."""
    return f"loader {assignment.number} of {assignment.feed.name} in {assignment.cluster}"


async def loaded(each: LoaderTask, conditions: Sequence[Conditions]) -> pa.RecordBatch | None:
    """Runs the loaders of a task; returns all receipts once the last one has ended its epoch.

    Args:
        conditions: of each loader.
    """
    import pyarrow as pa

    each = each.begun(time.monotonic())
    found = await asyncio.gather(
        *(
            kept_loading(each.appliance, assignment, own)
            for assignment, own in zip(each.assignments, conditions, strict=True)
        )
    )
    batches = [batch for batch in found if batch is not None and len(batch)]
    return pa.concat_batches(batches) if batches else None


async def kept_loading(
    appliance: Appliance,
    assignment: LoaderAssignment,
    conditions: Conditions,
    load: Callable[..., Awaitable[pa.RecordBatch]] | None = None,
) -> pa.RecordBatch | None:
    """Runs one loader for an epoch and returns its receipts.

    Args:
        load: runs it once; by default loader.load, which is imported only in a task.
    """
    from aggregator.loader import loader
    from replicator.notices.condition import Kind, Subject
    from replicator.spark.kept_up import kept_up

    once = partial(load or loader.load, appliance, assignment, conditions=conditions)
    fields = assignment.log_fields
    about = Subject(feed=assignment.feed.name, cluster=str(assignment.cluster))
    log.info(
        "event=epoch %s partitions=%d plan=%d",
        fields,
        len(assignment.partitions),
        assignment.plan_version,
    )
    return await kept_up(
        once,
        who=fields,
        failed="event=loader-failed %s again_in_seconds=%.1f",
        deadline=assignment.deadline,
        note_failure=lambda text: conditions.replace(Kind.LOADER_FAILED, {about: text}),
    )
