"""Log sizes of the demo: a topic that was asked for before it was there is seen once it is."""

from __future__ import annotations

import time
import uuid

from confluent_kafka.admin import NewTopic

from deploy.lab.progress import log_sizes
from deploy.lab.traffic import send
from deploy.lab.wait import until
from tests.live.feed_ground import documents


def test_a_topic_that_was_asked_for_too_early_is_seen_once_it_has_records(aggregate):
    """librdkafka's client remembers for minutes that a topic was not there."""
    admin, (known, early) = aggregate.admin(), (f"{uuid.uuid4().hex[:8]}_{n}" for n in range(2))
    aggregate.create_topics(NewTopic(known, 2))
    for _ in range(4):
        time.sleep(1.5)  # the pace of the demo; a client that asks faster remembers nothing
        assert log_sizes(admin, {known: 2, early: 2}) == {known: 0, early: 0}
    aggregate.create_topics(NewTopic(early, 2))
    send(aggregate, early, documents(10, partitions=2))
    assert until(lambda: log_sizes(admin, {known: 2, early: 2}) == {known: 0, early: 10}, 20)
