"""A region's decisions about groups, with a flushed Redis and with one that is down."""

from __future__ import annotations

import uuid

import pytest
from redis import Redis

from deploy.lab.redis import RedisServer
from replicator.config import topology
from replicator.groups.membership.decisions import RegionDecisions
from replicator.groups.membership.primary_log import PrimaryLog
from replicator.groups.membership.primary_region import PrimaryRegion, decided
from replicator.groups.membership.primary_store import PrimaryStore
from replicator.runtime.store_errors import StoreUnreachable


@pytest.fixture
def log(aggregate) -> PrimaryLog:
    settings = topology.KafkaCluster.model_validate(aggregate.topology_table())
    return PrimaryLog("east aggregate", settings)


def decision(region: str, before: PrimaryRegion | None = None) -> PrimaryRegion:
    group = before.group if before else f"group-{uuid.uuid4().hex[:8]}"
    return decided(before, group, region, at_ms=1, who="ann", why="test")


def test_after_a_flush_decisions_of_this_region_and_copied_ones_are_known(redis, log):
    here, elsewhere = decision("west"), decision("west")
    moved = decision("east", here)
    with PrimaryStore(redis.url) as store, Redis.from_url(redis.url) as client:
        decisions = RegionDecisions(store, log)
        decisions.record([here])
        decisions.record([moved])
        assert store.all() == {here.group: moved}
        client.flushall()
        store.write([here, elsewhere])
        known = decisions.all()
        assert (known[here.group], known[elsewhere.group]) == (moved, elsewhere)


def test_decisions_recorded_while_redis_is_away_last_and_known_ones_follow_with_the_next(
    make_redis, log
):
    server, first = make_redis(), decision("west")
    with PrimaryStore(server.url) as store:
        decisions = RegionDecisions(store, log)
        server.kill()
        with pytest.raises(StoreUnreachable):
            decisions.record([first])
        server.start()
        server.wait_ready()
        assert decisions.all()[first.group] == first
        decisions.record([], [first])
        assert store.all() == {first.group: first}


def test_without_redis_nothing_is_known(tmp_path, log):
    with (
        PrimaryStore(RedisServer(tmp_path).url) as store,
        pytest.raises(StoreUnreachable),
    ):
        RegionDecisions(store, log).all()
