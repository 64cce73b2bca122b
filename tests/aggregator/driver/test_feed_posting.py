"""Postings of a region's feeds: what the driver writes is what the reader of the stream gets."""

from aggregator.driver.feed_posting import FeedCluster, FeedPosting, FeedPostingFile
from balancer.carrier_plan import CarrierId, Plan
from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.orders.feed_orders import FeedOrders
from replicator.spark.driver_command import Term

EAST = ClusterName("east aggregate")
EACH = FeedCluster("flights", EAST)


def posting():
    loads = {CarrierId(EACH.key, number): (TopicPartition("t", number),) for number in range(3)}
    return FeedPosting(
        Plan(4, loads),
        2,
        {EAST: Term(7, 3)},
        {"flights": FeedOrders(feed="flights")},
        unconditional=frozenset({EACH}),
    )


def test_a_posting_survives_its_file(tmp_path):
    file = FeedPostingFile(tmp_path / "posting.json")
    assert file.read() is None
    file.write(posting())
    assert file.read() == posting()


def test_a_key_names_its_feed_and_cluster():
    assert FeedCluster.parse(EACH.key) == EACH


def test_loaders_share_the_tasks_that_there_are():
    assert [len(each) for each in posting().loaders_by_task()] == [2, 1]
