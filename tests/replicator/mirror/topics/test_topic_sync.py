"""Topics carried while a source is silent, and their form for a planner."""

from uuid import uuid4

from balancer.plan import TopicPartition
from replicator.config.topology import Route
from replicator.mirror.topics.topic_plan import Carried, TopicPlan
from replicator.mirror.topics.topic_sync import by_route, with_remembered

WEST, EAST = Route("west", "east"), Route("east", "east")


def carried(route, topic="orders", partitions=2):
    return Carried(route, topic, partitions, uuid4(), uuid4())


def test_a_silent_source_keeps_its_topics_and_an_answering_one_loses_deleted_ones():
    old_west, old_east, new_east = carried(WEST), carried(EAST), carried(EAST, "clicks")
    seen = TopicPlan((), (), (new_east,), unknown=(WEST,))
    assert set(with_remembered(seen, (old_west, old_east))) == {old_west, new_east}


def test_a_planner_gets_every_route_even_one_without_topics():
    assert by_route((WEST, EAST), [carried(WEST)]) == {
        "west.east": [TopicPartition("orders", 0), TopicPartition("orders", 1)],
        "east.east": [],
    }
