"""Posted tasks: an epoch begins when there is a plan with partitions, and none after a stop."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from balancer.carrier_plan import CarrierId, Plan
from balancer.topic_partition import TopicPartition
from replicator.config.topology import Appliance, KafkaCluster, Region
from replicator.spark.driver_command import Term
from replicator.spark.epoch_source import Demand
from replicator.spark.posted_tasks import PostedTasks
from replicator.spark.posting import ApplianceFile, Posting, PostingFile

EAST = Region(
    name="east",
    regional=KafkaCluster(bootstrap=("127.0.0.1:1",)),
    aggregate=KafkaCluster(bootstrap=("127.0.0.1:2",)),
    redis="redis://r",
)
POSTING = Posting(
    Plan(5, {CarrierId("west.east", 0): (TopicPartition("orders", 0),)}), 2, Term(4000, 1)
)


class Named(PostedTasks[Posting]):
    """Tasks that name what they were made of."""

    def tasks(self, appliance, posting):
        return [(*appliance.regions, posting.plan.version)]

    def run(self, task):
        return None

    def warm_up(self):
        """Has nothing to import."""


@pytest.fixture
def found(tmp_path):
    appliance = ApplianceFile(tmp_path / "appliance")
    appliance.write(Appliance(regions={"east": EAST}))
    # A reader has them pickled, in another process.
    return pickle.loads(pickle.dumps(Named(appliance, PostingFile(tmp_path / "posting"))))


def test_before_a_posting_there_is_nothing_to_do(found):
    assert (found.demand(), found.begin()) == (Demand.NOTHING_TO_DO, [])


@pytest.mark.parametrize(
    ("posting", "demand", "tasks"),
    [
        (POSTING, Demand.WORK, [("east", 5)]),
        (replace(POSTING, plan=Plan(6)), Demand.NOTHING_TO_DO, [("east", 6)]),
        (replace(POSTING, stop=True), Demand.STOP, []),
    ],
)
def test_a_plan_with_partitions_is_work_until_the_driver_stops(found, posting, demand, tasks):
    found.postings.write(posting)
    assert (found.demand(), found.begin()) == (demand, tasks)
