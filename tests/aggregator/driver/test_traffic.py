"""Traffic of partitions from the growth of their logs."""

from aggregator.driver.feed_leadership import KEPT, Traffic
from aggregator.driver.feed_posting import FeedCluster
from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName

EACH = FeedCluster("flights", ClusterName("east aggregate"))
ONE, TWO = TopicPartition("t", 0), TopicPartition("t", 1)


def test_two_looks_give_records_per_second():
    traffic = Traffic()
    traffic.look(EACH, {ONE: 100, TWO: 0}, 10.0)
    assert traffic.weights([EACH]) == {EACH: {}}
    traffic.look(EACH, {ONE: 300, TWO: 0}, 20.0)
    assert traffic.weights([EACH]) == {EACH: {ONE: 20.0, TWO: 0.0}}


def test_old_traffic_counts_on_and_fades():
    traffic = Traffic()
    for at, end in ((0.0, 0), (10.0, 1000), (20.0, 1000)):
        traffic.look(EACH, {ONE: end}, at)
    assert traffic.weights([EACH])[EACH][ONE] == KEPT * 100.0


def test_a_log_that_was_cut_counts_as_quiet():
    traffic = Traffic()
    traffic.look(EACH, {ONE: 1000}, 0.0)
    traffic.look(EACH, {ONE: 10}, 10.0)
    assert traffic.weights([EACH])[EACH][ONE] == 0.0


def test_a_partition_that_is_seen_once_has_no_traffic_yet():
    traffic = Traffic()
    traffic.look(EACH, {ONE: 0}, 0.0)
    traffic.look(EACH, {ONE: 50, TWO: 9}, 10.0)
    assert traffic.weights([EACH])[EACH] == {ONE: 5.0}
