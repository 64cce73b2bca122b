"""Leadership of feeds in a cluster: where partitions begin that come later, and feeds that wait."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest

from aggregator.driver.cluster_leadership import ClusterLeadership, is_made_since
from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.kafka.admin.topic import Configs, Topic
from replicator.kafka.client.cluster import Fenced, Forbidden
from tests.aggregator.verifier.test_group_commit import appliance, feed
from tests.replicator.config.any_feed import ANY_UPSERT_TABLE

EAST = ClusterName.aggregate("east")


@pytest.mark.parametrize(
    ("count", "found_first", "is_later"),
    [
        (0, {"t"}, False),  # the topic was there when the feed began, or came under it
        (2, {"t"}, True),  # the topic has more partitions now
        (0, set(), True),  # the topic was made since, while the feed was led or not
        (2, set(), True),
    ],
)
def test_the_end_is_that_of_the_moment_at_which_the_topic_was_allowed(count, found_first, is_later):
    assert is_made_since(TopicPartition("t", 2), {"t": count}, found_first) is is_later


def test_a_feed_that_lacks_a_right_waits_and_leaves_the_others_flowing() -> None:
    """Such as the one to read the topic in which its adoptions are remembered."""
    troubles: dict[str, Exception] = {"one": Forbidden("sluice.adopted.one", [29])}
    adopted: list[str] = []

    class Adoption:
        pause_seconds = 60.0

        def __init__(self, **parts: Any) -> None:
            self._name = parts["feed"].name

        async def round(self, topics: object, unreadable: object) -> None:
            if self._name in troubles:
                raise troubles[self._name]
            adopted.append(self._name)

    class Admin:
        def __init__(self, *_: object) -> None:
            """Knows one topic."""

        def topics(self) -> list[Topic]:
            return [Topic("hits", UUID(int=1), 2, Configs({}))]

    async def run() -> None:
        shards = [{"replicas": ["clickhouse://127.0.0.1:9001"]}]
        two = {**feed("east", EAST), "shards": shards}
        feeds = appliance({"one": feed("east", EAST), "two": two})
        admin: Any = Admin
        adoption: Any = Adoption
        led = ClusterLeadership(
            feeds, "east", EAST, feeds.feeds_of("east"), admin, make_adoption=adoption
        )
        found = await led.partitions()
        assert adopted == ["two"]
        assert led.waiting.keys() == {"one"} and "sluice.adopted.one" in led.waiting["one"]
        assert found["two"] == [TopicPartition("hits", 0), TopicPartition("hits", 1)]
        troubles.clear()
        await led.partitions()
        assert led.waiting == {} and adopted == ["two", "one", "two"]
        troubles["one"] = Fenced("a newer driver leads")
        with pytest.raises(Fenced):
            await led.partitions()

    asyncio.run(run())


def test_topics_of_upsert_tables_are_adopted_by_no_loader_of_a_feed() -> None:
    adopted: list[str] = []

    class Adoption:
        pause_seconds = 60.0

        def __init__(self, **_: object) -> None:
            """Adopts what it is given."""

        async def round(self, topics: list[Topic], unreadable: object) -> None:
            adopted.extend(topic.name for topic in topics)

    class Admin:
        def __init__(self, *_: object) -> None:
            """Knows three topics."""

        def topics(self) -> list[Topic]:
            names = ("hits", "status", "status-2")
            return [Topic(name, UUID(int=1), 1, Configs({})) for name in names]

    table = {**ANY_UPSERT_TABLE, "topics": ["status.*"]}
    feeds = appliance({"one": {**feed("east", EAST), "tables": {"status": table}}})
    admin: Any = Admin
    adoption: Any = Adoption
    led = ClusterLeadership(
        feeds, "east", EAST, feeds.feeds_of("east"), admin, make_adoption=adoption
    )
    assert asyncio.run(led.partitions()) == {"one": [TopicPartition("hits", 0)]}
    assert adopted == ["hits"]
