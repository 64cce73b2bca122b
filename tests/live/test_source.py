"""Replication as a Spark application: real Spark, real Kafka, killed processes.

Each test runs `sluice replicate` as operators do. Another client counts the records at both ends.
"""

import signal
import time

import pytest

from deploy.lab.traffic import records, send
from deploy.lab.wait import until
from tests.live.arrived import has_arrived
from tests.live.replicate_daemon import Region, region  # noqa: F401

pytestmark = pytest.mark.timeout(600)

STOP_SECONDS_MAX = 10.0
ARRIVAL_SECONDS = 90.0


class Traffic:
    """A topic of the region with records in it; `more` adds further ones."""

    def __init__(self, where, regional, aggregate, make_topic, partitions=4):
        self.regional, self.aggregate = regional, aggregate
        self.topic = make_topic(regional, partitions=partitions, name=where.topics)
        self.partitions = partitions
        self.batches = 0

    def more(self, count=2000):
        origin = f"batch {self.batches}"
        self.batches += 1
        send(self.regional, self.topic, records(count, partitions=self.partitions, origin=origin))

    def has_arrived(self):
        """Returns True once every record has arrived exactly, for both isolation levels."""
        return has_arrived(self.regional, self.aggregate, self.topic)

    def arrives(self, seconds=ARRIVAL_SECONDS):
        return until(self.is_there, seconds, 0.5) and until(self.has_arrived, seconds, 0.5)

    def is_there(self):
        return self.topic in self.aggregate.admin().list_topics(timeout=10).topics


@pytest.fixture
def traffic(region, regional, aggregate, make_topic):  # noqa: F811
    traffic = Traffic(region, regional, aggregate, make_topic)
    traffic.more()
    return traffic


def test_a_new_topic_is_carried_while_the_epoch_goes_on_and_a_stop_drains_and_releases(
    region,  # noqa: F811
    traffic,
    regional,
    aggregate,
    make_topic,
):
    daemon = region.start(epoch_seconds=300.0)
    assert traffic.arrives()
    other = Traffic(region, regional, aggregate, make_topic, partitions=2)
    other.more()
    assert other.arrives(), "an epoch lasts 300 s: its end was not waited for"
    assert daemon.hear(r"event=plan version=2 .* epoch=(\S+)")[1] == "goes-on"
    traffic.more()
    assert traffic.arrives()
    began = time.monotonic()
    daemon.signal()
    assert daemon.ended() == 0
    assert time.monotonic() - began < STOP_SECONDS_MAX
    receipts = region.receipts()
    assert {receipt.state for receipt in receipts} == {"released"}
    assert {receipt.plan_version for receipt in receipts} == {1}, "the epoch was ended for it"
    assert {receipt.topic for receipt in receipts} == {traffic.topic, other.topic}
    region.start()
    assert traffic.arrives()
    assert other.has_arrived()


@pytest.mark.core
def test_a_worker_killed_is_started_again_and_nothing_is_lost_or_carried_twice(region, traffic):  # noqa: F811
    daemon = region.start()
    assert traffic.arrives()
    for _ in range(2):
        traffic.more()
        workers = daemon.workers()
        workers[0].kill()
        traffic.more()
        assert traffic.arrives()
    assert daemon.said("Lost task")
    assert not daemon.said("event=query-failed")
    daemon.signal()
    assert daemon.ended() == 0


def test_epochs_follow_each_other_and_lose_nothing(region, traffic):  # noqa: F811
    daemon = region.start(epoch_seconds=5.0)
    for number in range(4):
        traffic.more()
        daemon.hear("event=epoch-over", times=number + 1)
    assert traffic.arrives()
    # Tasks of later epochs reuse running workers.
    assert 1 <= len(daemon.worker_pids()) <= 2
    daemon.signal(signal.SIGINT)
    assert daemon.ended() == 0


def test_a_daemon_killed_leaves_no_process_and_the_next_one_goes_on(region, traffic):  # noqa: F811
    daemon = region.start()
    daemon.hear("event=epoch ")
    traffic.more()
    daemon.signal(signal.SIGKILL)
    assert daemon.ended() == -signal.SIGKILL
    traffic.more()
    region.start()
    assert traffic.arrives()


def test_a_daemon_killed_while_there_is_nothing_to_carry_leaves_no_process(region):  # noqa: F811
    daemon = region.start(wait=False)
    daemon.hear("event=term ")
    daemon.signal(signal.SIGKILL)
    assert daemon.ended() == -signal.SIGKILL


def test_a_newer_driver_takes_over_and_the_older_one_says_so_and_ends(region, traffic):  # noqa: F811
    older = region.start()
    assert traffic.arrives()
    newer = region.start(wait=False)
    while not older.is_over:
        older.family()
        traffic.more(200)
        time.sleep(0.5)
    assert older.ended() == 8
    assert older.said("event=fenced a newer driver of this region runs")
    traffic.more()
    assert traffic.arrives()
    newer.signal()
    assert newer.ended() == 0


def test_a_second_signal_ends_everything_at_once_and_the_ledger_makes_up_for_it(region, traffic):  # noqa: F811
    daemon = region.start()
    daemon.hear("event=epoch ")
    daemon.signal()
    daemon.hear("event=stopping")
    daemon.signal()
    assert daemon.ended() == 1
    assert daemon.said("event=stopped-at-once")
    assert not daemon.said("event=stopped exit")
    region.start()
    assert traffic.arrives()


def test_a_stop_before_spark_has_started_leaves_nothing(region, traffic):  # noqa: F811
    daemon = region.start(wait=False)
    daemon.hear("event=starting")
    time.sleep(1.0)
    daemon.signal()
    assert daemon.ended(seconds=STOP_SECONDS_MAX) == 0


def test_executors_may_be_other_processes_and_one_that_is_killed_is_replaced(region, traffic):  # noqa: F811
    daemon = region.start(master="local-cluster[2,1,1024]")
    assert traffic.arrives()
    executors = [
        p for p in daemon.family() if "CoarseGrainedExecutorBackend" in " ".join(p.cmdline())
    ]
    assert len(executors) == 2
    # Any user on a host can read command lines, so none may hold Spark's secret.
    words = [word for each in daemon.family() for word in each.cmdline()]
    assert "spark.authenticate=true" in words
    assert not any("spark.authenticate.secret" in word for word in words)
    traffic.more()
    executors[0].kill()
    traffic.more()
    assert traffic.arrives()
    daemon.signal()
    assert daemon.ended() == 0


def test_an_unreachable_target_is_named_and_nothing_is_left(region, aggregate):  # noqa: F811
    daemon = region.start(wait=False, target="127.0.0.1:9")
    assert daemon.ended(seconds=90.0) == 3
    assert daemon.said("event=failed .*aggregate.*127.0.0.1:9")
