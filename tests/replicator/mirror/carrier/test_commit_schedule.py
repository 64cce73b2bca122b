"""Entries that cover gaps are committed at once; the senders are woken when batches may be sent."""

import asyncio
from types import SimpleNamespace

from replicator.config.settings import ReplicatorSettings
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
            park=SimpleNamespace(),
            committed=woken.set,
        )
        schedule.uncovered.set()
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
