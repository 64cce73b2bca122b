"""Leadership of feeds in a cluster: where partitions begin that come later."""

import pytest

from aggregator.driver.cluster_leadership import is_made_since
from balancer.plan import TopicPartition


@pytest.mark.parametrize(
    ("count", "first_seen", "is_later"),
    [
        (0, {"t"}, False),  # the topic was there when the feed began, or came under it
        (2, {"t"}, True),  # the topic has more partitions now
        (0, set(), True),  # the topic was made while the feed was led
        (2, set(), True),
    ],
)
def test_the_end_is_that_of_the_moment_at_which_the_topic_was_allowed(count, first_seen, is_later):
    assert is_made_since(TopicPartition("t", 2), {"t": count}, first_seen) is is_later
