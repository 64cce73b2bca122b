"""Sessions of a carrier: their ends, the pauses between them, and their counts."""

import asyncio
import time
from dataclasses import replace

import pytest

from balancer.topic_partition import TopicPartition
from replicator.config.topology import Appliance, Route
from replicator.kafka.client.cluster import Cluster, ProducerStateLost
from replicator.mirror.carrier.carrier import SessionPauses, carry
from replicator.mirror.carrier.carrier_assembly import assemble
from replicator.mirror.carrier.carrier_assignment import CarrierAssignment
from replicator.mirror.carrier.carrier_counts import CarrierCounts
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.receipt_book import ReceiptBook
from replicator.mirror.offset_map.totals import LATENCY_BOUNDS, bucket
from replicator.spark.driver_command import Term
from tests.replicator.mirror.ledger.held import PARTITION, held

# -- Ends of a carrier session; its servers do not exist.


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


# -- Carrier sessions follow each other: at once after one that lasted, else with growing pauses.


@pytest.mark.parametrize(
    ("lasted", "pauses"),
    [(5.1, [0.05, 0.05, 0.05]), (4.9, [0.1, 0.2, 0.4])],
    ids=["long", "briefly"],
)
def test_only_a_session_that_has_lasted_is_followed_by_the_next_at_once(lasted, pauses):
    between = SessionPauses(uniform=lambda low, high: (low + high) / 2)
    assert [between.after(lasted) for _ in pauses] == pytest.approx(pauses)


def test_a_carrier_whose_producer_is_lost_begins_again_after_a_pause():
    began = []

    class Failing:
        async def run(self):
            began.append(time.monotonic())
            if len(began) < 3:
                raise ProducerStateLost("west>east")

    assignment = CarrierAssignment(
        Route("west", "east"), 0, (), Term(1, 0), 1, time.monotonic() + 60
    )
    asyncio.run(carry(None, assignment, lambda *_: Failing()))  # type: ignore[arg-type]
    first, second, third = began
    # Half of the doubled first pause, and half of the one after that.
    assert second - first >= 0.05
    assert third - second >= 0.1


# -- Counts of a carrier only grow, over all sessions.

ONE = TopicPartition("orders", 1)


def test_restarts_and_losses_are_counted_each_time():
    carrier_counts = CarrierCounts()
    carrier_counts.restarted()
    carrier_counts.restarted()
    carrier_counts.lost([ONE])
    carrier_counts.lost([])
    totals = carrier_counts.totals({ONE: (10, 900)})
    assert (totals.restarts, totals.losses) == (2, 1)
    assert totals.carried == (("orders", 1, 10, 900),)


def test_a_batch_counts_with_all_its_records_and_clocks_that_differ_make_no_latency_negative():
    carrier_counts = CarrierCounts()
    carrier_counts.landed(3, 0.2)
    carrier_counts.landed(1, 9999.0)
    carrier_counts.landed(2, -5.0)
    totals = carrier_counts.totals({})
    assert totals.latencies[bucket(0.2)] == 3
    assert totals.latencies[len(LATENCY_BOUNDS)] == 1
    assert totals.latencies[0] == 2
    assert totals.latency_seconds == 3 * 0.2 + 9999.0


def test_every_carrier_has_an_id_of_its_own():
    assert CarrierCounts().id != CarrierCounts().id
