"""Topics carried while a source is silent, their form for a planner, and limits of record sizes."""

from types import SimpleNamespace
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from balancer.topic_partition import TopicPartition
from replicator.config.settings import TopicSettings
from replicator.config.topology import Route
from replicator.kafka.client.loss import NeededLimit
from replicator.mirror.topics.topic_plan import Carried, TopicPlan
from replicator.mirror.topics.topic_sync import Ends, TopicSync, by_route, with_remembered
from replicator.mirror.topics.written_log import WrittenLog
from replicator.notices.conditions import Conditions
from tests.replicator.mirror.topics.config_history import HISTORIES, History, Step
from tests.replicator.mirror.topics.played_cluster import PlayedCluster
from tests.replicator.mirror.topics.played_site import Site, site, two_sources

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


def test_latest_is_the_moment_of_the_first_look_and_what_came_later_is_whole():
    source, site = PlayedCluster("west"), SimpleNamespace(topics=TopicSettings(start="latest"))
    source.make("orders", 2)
    source.ends |= {TopicPartition("orders", 0): 70, TopicPartition("orders", 1): 80}
    ends = Ends(PlayedCluster("east"), {"west": source}, (WEST,))
    sync = TopicSync(site, "east", Conditions("driver"), ends)
    assert sync.begins(WEST, "orders", 2) == {}
    sync.round()
    (topic,) = source.topics(["orders"])
    first = {0: (70, topic.topic_id), 1: (80, topic.topic_id)}
    # The target, or another source, may have more partitions.
    assert sync.begins(WEST, "orders", 3) == first | {2: (0, None)}
    source.make("clicks", 1)
    source.ends[TopicPartition("clicks", 0)] = 9
    sync.round()
    assert sync.begins(WEST, "clicks", 1) == {0: (0, None)}
    assert sync.begins(WEST, "elsewhere", 1) == {0: (0, None)}
    source.is_silent = True
    sync.round()
    assert sync.begins(WEST, "orders", 2) == {}


def test_a_topic_that_was_made_while_no_driver_ran_is_carried_whole():
    source, target, written = PlayedCluster("west"), PlayedCluster("east"), WrittenLog()
    source.make("orders")
    source.make("secret")
    source.make("stamped")
    target.make("stamped", message_timestamp_type="LogAppendTime")
    source.ends = {TopicPartition(it, 0): 70 for it in ("orders", "secret", "stamped", "clicks")}

    def driver(*, rounds=2, **settings):
        topics = TopicSettings(start="latest", **settings)
        ends = Ends(target, {"west": source}, (WEST,), written)
        sync = TopicSync(SimpleNamespace(topics=topics), "east", Conditions("driver"), ends)
        for _ in range(rounds):
            sync.round()
        return sync

    def begin(sync, topic):
        return sync.begins(WEST, topic, 1)[0][0]

    # One that ended before it had adopted anything has decided nothing.
    driver(rounds=1, deny=("secret",))
    assert begin(driver(deny=("secret",)), "orders") == 70
    source.make("clicks")
    later = driver()
    assert begin(later, "clicks") == 0
    assert begin(later, "secret") == 70, "it is allowed only now"
    assert begin(later, "stamped") == 70, "it was there and could not be carried"
    assert begin(driver(), "secret") == 0, "adopted by now: nobody asks"


def test_a_raised_limit_counts_before_brokers_show_it():
    class Lagging(PlayedCluster):
        shown = None

        def topics(self, names=None):
            return super().topics(names) if self.shown is None else self.shown

    source, target = PlayedCluster("west"), Lagging("east")
    source.make("orders")
    ends = Ends(target, {"west": source}, (WEST,))
    sync = TopicSync(SimpleNamespace(topics=TopicSettings()), "east", Conditions("driver"), ends)
    sync.round()
    assert sync.limits == {"orders": 1048588}
    target.shown = target.topics(["orders"])
    source.set(max_message_bytes="5000000")
    sync.round()
    assert sync.limits == {"orders": 5000000}
    source.set(segment_bytes="2000000")
    sync.round()
    sync.advance({WEST: dict.fromkeys(sync.awaited()[WEST], 0)})
    sync.round()
    assert sync.limits == {"orders": 2000000}, "a segment takes no larger batch"


@settings(max_examples=max(300, settings().max_examples))
@given(HISTORIES, st.booleans(), st.sampled_from([{}, {"retention.ms": "9000"}]))
def test_the_target_keeps_what_its_sources_keep_and_what_operators_set_whatever_comes_when(
    steps: list[Step], has_two: bool, west_brokers: dict[str, str]
) -> None:
    history = History(["west", "east"] if has_two else ["west"], west_brokers)
    for step in steps:
        history.play(*step)
    history.check_end()


@pytest.mark.parametrize("name", ["max.message.bytes", "segment.bytes"])
def test_the_target_takes_what_a_source_took_before_it_lowered_its_limit(name: str) -> None:
    """The target's topic was made after that, and a record waits for a limit, or is parked."""
    made, source, target = site(**{name.replace(".", "_"): "1100000"})
    assert target.value(name) == "1100000"
    source.ends[TopicPartition("orders", 0)] = 7
    made.mirrored = False
    made.round(orders=2_700_000)
    assert int(target.value(name)) >= 2_700_000
    changes = len(target.applied)
    # The carrier has the record, whose entry needs nothing any more.
    made.round()
    assert made.sync.limits["orders"] >= 2_700_000
    assert len(target.applied) == changes
    made.restart()
    made.round()
    assert made.sync.limits["orders"] >= 2_700_000
    made.mirrored = True
    made.round()
    assert target.value(name) == "1100000"


def test_a_limit_that_was_set_by_hand_is_kept_also_where_a_record_needs_more() -> None:
    made, _, target = site()
    target.set(max_message_bytes="500000")
    made.round(orders=900_000)
    assert target.value("max.message.bytes") == "500000"


def test_a_limit_of_one_broker_yields_to_that_of_the_topic() -> None:
    """The leader refuses what the topic's description allows, which another broker made."""
    source, target = PlayedCluster("source"), PlayedCluster("target")
    target.brokers["message.max.bytes"] = target.brokers["max.message.bytes"] = "3000000"
    source.make()
    made = Site(source, target=target)
    made.round()
    assert "max.message.bytes" not in target.own["orders"]
    made.round(orders=NeededLimit(1_000_000, refused_bytes=3_000_000).least_bytes)
    assert int(target.own["orders"]["max.message.bytes"]) > 3_000_000


def test_a_limit_is_left_alone_that_is_not_synced() -> None:
    made, _, target = site()
    made.settings = TopicSettings(synced_configs=("retention.ms",))
    made.restart()
    made.round(orders=2_000_000)
    assert target.value("max.message.bytes") == "1048588"


def test_a_record_that_needs_a_higher_limit_does_not_wait_for_a_source_that_is_away() -> None:
    made, _, _, target = two_sources()
    made.round(orders=3_000_000)
    assert int(target.value("max.message.bytes")) >= 3_000_000
