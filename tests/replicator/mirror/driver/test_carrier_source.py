"""Claims about the tasks of carriers that need no Spark: what they are given, and when."""

import time

import pytest

from balancer.carrier_plan import CarrierId, Plan
from balancer.topic_partition import TopicPartition
from replicator.config.topology import Appliance, KafkaCluster, Region, Route
from replicator.mirror.carrier.carrier_assignment import CarrierAssignment
from replicator.mirror.carrier.receipt_book import ReceiptBook
from replicator.mirror.driver.carrier_source import (
    carried,
    carrier_tasks,
    epoch_tasks,
    kept_mirroring,
)
from replicator.notices.conditions import Conditions
from replicator.spark.driver_command import Term
from replicator.spark.posting import ApplianceFile, Posting, PostingFile


def cluster(port):
    return KafkaCluster(bootstrap=(f"127.0.0.1:{port}",))


def region(name, port):
    return Region(name=name, regional=cluster(port), aggregate=cluster(port + 1), redis="redis://r")


WEST = Route("west", "east")
APPLIANCE = Appliance(
    regions={"west": region("west", 1), "east": region("east", 3)}, routes=(WEST,)
)
ORDERS, CLICKS = TopicPartition("orders", 0), TopicPartition("clicks", 2)
PLAN = Plan(
    5,
    {
        CarrierId("west.east", 0): (ORDERS,),
        CarrierId("west.east", 1): (CLICKS,),
        CarrierId("west.east", 2): (),
    },
)
TERM = Term(4000, 1)


@pytest.fixture
def postings(tmp_path):
    return PostingFile(tmp_path / "posting.json")


def test_each_bin_carries_all_that_its_executor_needs_to_know():
    refusing = {"orders": ("INVALID_RECORD",), "other": ()}
    posting = Posting(PLAN, 2, TERM, {"orders": 2048, "other": 1}, refusing=refusing)
    first, second = epoch_tasks(APPLIANCE, posting)
    (assignment,) = first.assignments
    assert assignment.route == WEST
    assert assignment.partitions == (ORDERS,)
    assert (assignment.term, assignment.plan_version) == (TERM, 5)
    assert first.seconds == 600.0
    assert assignment.max_message_bytes == (("orders", 2048),)
    assert assignment.refusing == (("orders", ("INVALID_RECORD",)),)
    assert second.assignments[0].max_message_bytes == ()


def test_an_epoch_lasts_as_long_wherever_its_task_runs_and_whatever_the_clocks_say():
    """No moment of the driver's clock is sent: what a task is given is the same at any time."""
    first, second = (epoch_tasks(APPLIANCE, Posting(PLAN, 1, TERM)) for _ in range(2))
    assert first == second
    (begun,) = (each.begun(now=50.0) for each in first)
    assert [each.deadline for each in begun.assignments] == [650.0, 650.0]


async def test_the_carriers_of_a_task_work_for_the_epochs_length_from_its_start():
    told = []

    async def carry(appliance, assignment, conditions):
        told.append(assignment.deadline - time.monotonic())
        return []

    (only,) = epoch_tasks(APPLIANCE, Posting(PLAN, 1, TERM))
    await carried(only, [Conditions("one"), Conditions("another")], carry)
    assert told == pytest.approx([600.0, 600.0], abs=5.0)


def test_carriers_share_a_task_when_slots_are_few():
    (only,) = epoch_tasks(APPLIANCE, Posting(PLAN, 1, TERM))
    assert [assignment.number for assignment in only.assignments] == [0, 1]


def test_an_epoch_is_made_of_what_the_daemon_loaded_not_of_what_the_file_says_by_now(
    tmp_path, postings
):
    ApplianceFile(tmp_path / "appliance.pickle").write(APPLIANCE)
    (tmp_path / "appliance.toml").write_text("a typo saved while the daemon runs")
    postings.write(Posting(PLAN, 2, TERM))
    first, second = carrier_tasks(tmp_path / "appliance.pickle", postings.path).begin()
    assert first.appliance == second.appliance == APPLIANCE
    assert [each.assignments[0].route for each in (first, second)] == [WEST, WEST]


async def test_a_carrier_that_failed_has_a_condition_until_it_works_again():
    held = []

    async def carry(appliance, assignment, conditions):
        held.append(
            [(each.kind, each.route, each.carrier, each.text) for each in conditions.current]
        )
        if len(held) == 1:
            raise ValueError("a fault")
        receipts = ReceiptBook(assignment, conditions)
        receipts.note_works()
        return receipts.receipts(0.0)

    conditions = Conditions("carrier 3 of west>east")
    assignment = CarrierAssignment(WEST, 3, (ORDERS,), TERM, 5, time.monotonic() + 60.0)
    assert len(await kept_mirroring(APPLIANCE, assignment, conditions, carry)) == 1
    assert held == [[], [("carrier-failed", "west>east", 3, "unexpected ValueError: a fault")]]
    assert conditions.current == ()
