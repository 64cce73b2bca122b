"""Drivers whose transactional id the coordinator forgets: they end, and the next run leads."""

from __future__ import annotations

import json
import uuid

import pytest
from confluent_kafka.admin import NewTopic

from deploy.lab.wait import until
from replicator.config.names import driver_id
from replicator.config.topology import load
from replicator.kafka.client.cluster import Cluster, ProducerStateLost
from replicator.mirror.driver.driver_leadership import DriverLeadership
from replicator.mirror.driver.planner import Planner
from replicator.notices.conditions import Conditions
from replicator.spark.driver_command import Term, read_command
from tests.live.loop_thread import LoopThread
from tests.live.stage import is_id_forgotten

PATIENCE_SECONDS = 120.0


class Postings:
    """Place in which the last posting is left."""

    def write(self, posting):
        self.last = posting


@pytest.fixture
def loop():
    loop = LoopThread()
    yield loop
    loop.settle()
    loop.close()


@pytest.fixture
def appliance(tmp_path, regional, forgetful, redis):
    """A route into a cluster that forgets transactional ids within seconds."""
    topics = f"docs_{uuid.uuid4().hex[:8]}"
    file = tmp_path / "appliance.toml"
    file.write_text(
        f"""
routes = ["west>east"]
[topics]
allow = ["{topics}.*"]
refresh_seconds = 1.0
[regions.west]
redis = "{redis.url}"
regional.bootstrap = {json.dumps(regional.bootstrap.split(","))}
aggregate.bootstrap = ["127.0.0.1:1"]
[regions.east]
redis = "{redis.url}"
regional.bootstrap = ["127.0.0.1:2"]
aggregate.bootstrap = {json.dumps(forgetful.bootstrap.split(","))}
"""
    )
    regional.create_topics(NewTopic(f"{topics}.one", 1))
    return load(file), f"{topics}.two"


@pytest.mark.core
def test_a_driver_whose_id_was_forgotten_ends_and_the_next_one_leads(
    loop, appliance, regional, forgetful
):
    """Such a driver could adopt no new topic, and publish no plan, for ever."""
    configured, later_topic = appliance
    postings = Postings()

    def leads():
        planner = Planner(configured.replicator.carriers_per_route)
        leadership = DriverLeadership(configured, "east", planner, postings, Conditions("test"))
        loop.wait(leadership.prepare())
        loop.wait(leadership.acquire((), lambda: 1))
        return leadership

    first = leads()
    cluster = Cluster("target", configured.region("east").aggregate)
    loop.wait(cluster.open())
    name = driver_id("east")

    assert until(lambda: loop.wait(is_id_forgotten(cluster, name)), PATIENCE_SECONDS)
    regional.create_topics(NewTopic(later_topic, 1))
    with pytest.raises(ExceptionGroup) as ended:
        loop.wait(first.keep())
    assert ended.group_contains(ProducerStateLost)
    second = leads()
    command = loop.wait(read_command(cluster, name))
    assert command.term == postings.last.term != Term(-1, -1)
    carried = [place for load in postings.last.plan.loads.values() for place in load]
    assert later_topic in {place.topic for place in carried}
    for each in (first, second, cluster):
        loop.wait(each.close())
