"""Claims about the stream's reader that need no Spark: what its tasks are given, and when."""

import subprocess
import sys
import threading
import time

import pytest
from pyspark.sql.datasource import InputPartition

from balancer.plan import CarrierId, Plan, TopicPartition
from replicator.config.topology import Appliance, KafkaCluster, Region, Route
from replicator.mirror.carrier.assignment import Assignment
from replicator.mirror.carrier.receipt_book import ReceiptBook
from replicator.mirror.driver.carrier_source import (
    Bin,
    CarrierTasks,
    SluiceSource,
    binned,
    kept_mirroring,
)
from replicator.notices.conditions import Conditions
from replicator.spark.driver_command import Term
from replicator.spark.epoch_source import EpochReader
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


@pytest.fixture
def reader(tmp_path, postings):
    appliance = ApplianceFile(tmp_path / "appliance.pickle")
    appliance.write(APPLIANCE)
    return EpochReader(CarrierTasks(appliance, postings), slots=2)


def test_each_bin_carries_all_that_its_executor_needs_to_know():
    posting = Posting(PLAN, 2, TERM, {"orders": 2048, "other": 1})
    first, second = binned(APPLIANCE, posting, now=1000.0)
    (assignment,) = first.assignments
    assert assignment.route == WEST
    assert assignment.partitions == (ORDERS,)
    assert (assignment.term, assignment.plan_version) == (TERM, 5)
    assert assignment.deadline == first.deadline == 1600.0
    assert assignment.max_message_bytes == (("orders", 2048),)
    assert second.assignments[0].max_message_bytes == ()


def test_carriers_share_a_task_when_slots_are_few():
    (only,) = binned(APPLIANCE, Posting(PLAN, 1, TERM), now=0.0)
    assert [assignment.number for assignment in only.assignments] == [0, 1]


def test_the_first_epoch_waits_for_nothing_and_carries_nothing(reader):
    assert reader.latestOffset({"epoch": 0}, None) == {"epoch": 1}
    tasks = reader.partitions({"epoch": 0}, {"epoch": 1})
    assert [task.value for task in tasks] == [None, None]


def test_the_next_epoch_waits_for_a_plan_with_partitions(reader, postings):
    postings.write(Posting(Plan(1), 2, TERM))
    threading.Timer(0.3, postings.write, [Posting(PLAN, 2, TERM)]).start()
    began = time.monotonic()
    assert reader.latestOffset({"epoch": 1}, None) == {"epoch": 2}
    assert time.monotonic() - began > 0.2


def test_after_a_stop_no_epoch_begins(reader, postings):
    postings.write(Posting(PLAN, 2, TERM, stop=True))
    assert reader.partitions({"epoch": 1}, {"epoch": 2}) == []


def test_an_epoch_is_made_of_what_the_daemon_loaded_not_of_what_the_file_says_by_now(
    tmp_path, reader, postings
):
    (tmp_path / "appliance.toml").write_text("a typo saved while the daemon runs")
    postings.write(Posting(PLAN, 2, TERM))
    options = {
        "appliance": str(tmp_path / "appliance.pickle"),
        "posting": str(postings.path),
        "slots": "2",
    }
    found = SluiceSource(options).streamReader(None)
    first, second = found.partitions({"epoch": 1}, {"epoch": 2})
    assert first.value.appliance == second.value.appliance == APPLIANCE
    assert [each.value.assignments[0].route for each in (first, second)] == [WEST, WEST]


def test_a_task_past_its_deadline_yields_nothing_at_once(reader):
    task = InputPartition(Bin(APPLIANCE, (), deadline=time.time() - 1))
    assert list(reader.read(task)) == []


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
    assignment = Assignment(WEST, 3, (ORDERS,), TERM, 5, time.time() + 60.0)
    assert len(await kept_mirroring(APPLIANCE, assignment, conditions, carry)) == 1
    assert held == [[], [("carrier-failed", "west>east", 3, "unexpected ValueError: a fault")]]
    assert conditions.current == ()


def test_a_process_of_spark_that_only_makes_its_plan_imports_nothing_of_the_carriers():
    """Spark starts three of them one after the other before the first worker."""
    heavy = {"aiokafka", "confluent_kafka", "numpy", "pyarrow", "pydantic", "uvloop"}
    script = "import sys, replicator.mirror.driver.carrier_source; print(*sys.modules)"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert heavy.isdisjoint(told.stdout.decode().split())


def test_a_reader_imports_what_an_epoch_needs_while_the_first_one_starts_workers():
    script = (
        "import sys, time\n"
        "from replicator.mirror.driver.carrier_source import SluiceSource\n"
        "options = {'appliance': '/nowhere/a', 'posting': '/nowhere/p', 'slots': '2'}\n"
        "reader = SluiceSource(options).streamReader(None)\n"
        "reader.partitions({'epoch': 0}, {'epoch': 1})\n"
        "until = time.monotonic() + 60\n"
        "while 'replicator.spark.driver_command' not in sys.modules:\n"
        "    assert time.monotonic() < until\n"
        "    time.sleep(0.01)\n"
    )
    subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
