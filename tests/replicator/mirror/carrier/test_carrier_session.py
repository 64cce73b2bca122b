"""Ends of a carrier session; its servers do not exist."""

import asyncio
import time
from dataclasses import replace

import pytest

from replicator.config.topology import Appliance, Route
from replicator.kafka.client.cluster import Cluster
from replicator.mirror.carrier.carrier_assembly import assemble
from replicator.mirror.carrier.carrier_assignment import CarrierAssignment
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.receipt_book import ReceiptBook
from replicator.spark.driver_command import Term
from tests.replicator.mirror.ledger.held import PARTITION, held


def region(port: int) -> dict[str, object]:
    """Returns a region whose servers do not exist."""
    return {
        "regional": {"bootstrap": [f"127.0.0.1:{port}"]},
        "aggregate": {"bootstrap": [f"127.0.0.1:{port + 1}"]},
        "redis": f"redis://127.0.0.1:{port + 2}/0",
    }


APPLIANCE = Appliance.model_validate(
    {"regions": {"west": region(1), "east": region(4)}, "routes": ["west>east"]}
)


def assignment(seconds: float) -> CarrierAssignment:
    return CarrierAssignment(
        Route("west", "east"), 0, (), Term(1, 0), 1, time.monotonic() + seconds
    )


@pytest.mark.parametrize("spins", range(4))
@pytest.mark.parametrize(
    ("loop", "event"),
    [
        (
            lambda session: session.commit_schedule.run(),
            lambda session: session.pipelines.uncovered,
        ),
        (lambda session: session.senders.run(), lambda session: session.pipelines.added),
        (lambda session: session.reader.run(), lambda session: session.reader.changed),
    ],
    ids=["commit schedule", "senders", "reader"],
)
async def test_a_loop_that_is_cancelled_just_as_its_event_is_set_ends(loop, event, spins):
    """A session waits for its loops: one that missed its cancellation would block it for good."""
    work = assignment(60)
    session = assemble(APPLIANCE, work, ReceiptBook(work))
    running = asyncio.create_task(loop(session))
    await asyncio.sleep(0.01)
    event(session).set()
    for _ in range(spins):
        await asyncio.sleep(0)
    running.cancel()
    done, _ = await asyncio.wait([running], timeout=5)
    running.cancel()
    assert done


def test_a_pipeline_that_the_committer_removes_is_in_the_receipts():
    work = replace(assignment(60), partitions=(PARTITION,))
    receipts = ReceiptBook(work)
    session = assemble(APPLIANCE, work, receipts)
    session.committer.receipts.add(PartitionPipeline(PARTITION, held(source_offset=7)))
    (receipt,) = receipts.receipts(0.0)
    assert (receipt.source_begin, receipt.source_end) == (7, 7)


class Unanswering(Cluster):
    """A cluster of which no broker ever answers."""

    async def open(self, topics=()):
        await asyncio.Event().wait()


async def test_a_session_that_gets_no_answer_ends_with_its_epoch():
    work = assignment(0.1)
    silent = Unanswering("east aggregate", APPLIANCE.target_of(work.route))
    session = replace(assemble(APPLIANCE, work, ReceiptBook(work)), target=silent)
    async with asyncio.timeout(5):
        await session.run()
