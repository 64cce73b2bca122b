"""Entries that cover gaps are committed at once; the senders are woken when batches may be sent."""

import asyncio
import time
from types import SimpleNamespace

from replicator.config.settings import ReplicatorSettings
from replicator.kafka.client.loss import Loss, LossKind
from replicator.mirror.carrier.commit_schedule import CommitSchedule
from replicator.mirror.carrier.pace import Pace
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.pipelines import Pipelines
from tests.replicator.mirror.carrier.outgoing_batches import PLACE, outgoing
from tests.replicator.mirror.ledger.held import held


def is_woken(*, covers: bool) -> bool:
    """Returns whether commits for a batch that waits behind a gap wake the senders.

    Args:
        covers: the entry that is committed lists the gap; else it has no room for it.
    """

    async def run() -> bool:
        pipeline = PartitionPipeline(PLACE, held())
        pipeline.add([outgoing((5, 1))], 6, 0)
        pipelines = Pipelines()
        pipelines[PLACE] = pipeline
        pipelines.mark_busy([pipeline])
        commits, woken, is_over = [], asyncio.Event(), asyncio.Event()

        async def commit(waiting: list[PartitionPipeline]) -> bool:
            commits.append(waiting)
            if covers:
                pipeline.committed(pipeline.statement())
            if covers or len(commits) == 2:
                is_over.set()
            return False

        schedule = CommitSchedule(
            settings=ReplicatorSettings(),
            target=SimpleNamespace(),
            runs=SimpleNamespace(),
            pipelines=pipelines,
            committer=SimpleNamespace(commit=commit),
            pace=Pace("west>east", 0),
            parking=SimpleNamespace(),
            senders=SimpleNamespace(wake=woken.set),
        )
        pipelines.uncovered.set()
        running = asyncio.create_task(schedule.run())
        await is_over.wait()
        await asyncio.sleep(0)
        running.cancel()
        return woken.is_set()

    return asyncio.run(run())


def test_senders_are_woken_once_a_gap_is_covered():
    assert is_woken(covers=True)


def test_senders_are_not_woken_while_an_entry_has_no_room_for_a_gap():
    assert not is_woken(covers=False)


def parked_after(loss: Loss, limit_seconds: float) -> float:
    """Returns the seconds until a partition with this loss is parked."""

    async def run() -> float:
        pipeline = PartitionPipeline(PLACE, held())
        pipeline.loss_to_park = loss
        pipelines = Pipelines()
        pipelines[PLACE] = pipeline
        began, parked = time.monotonic(), asyncio.Event()

        async def park(_: PartitionPipeline, found: Loss) -> None:
            assert found is loss
            pipeline.loss_to_park = None
            parked.set()

        schedule = CommitSchedule(
            settings=ReplicatorSettings(),
            target=SimpleNamespace(),
            runs=SimpleNamespace(),
            pipelines=pipelines,
            committer=SimpleNamespace(),
            pace=Pace("west>east", 0),
            parking=SimpleNamespace(park=park),
            senders=SimpleNamespace(),
            limit_seconds=limit_seconds,
        )
        running = asyncio.create_task(schedule.run())
        await parked.wait()
        running.cancel()
        return time.monotonic() - began

    return asyncio.run(run())


def test_a_record_that_is_too_large_waits_for_a_higher_limit_before_it_parks():
    assert parked_after(Loss(LossKind.RECORD_TOO_LARGE, 5, 6), 0.4) >= 0.4
    assert parked_after(Loss(LossKind.RECORD_TOO_LARGE, 5, 6), 0.0) < 0.4


def test_no_other_loss_waits_for_a_higher_limit():
    assert parked_after(Loss(LossKind.SOURCE_CORRUPT, 5, 6), 60.0) < 10
