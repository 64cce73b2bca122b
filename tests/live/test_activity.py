"""Activity of groups per region, in a real Redis and with consumers of both group protocols."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer
from redis import Redis

from deploy.lab.kafka import KafkaCluster
from deploy.lab.redis import RedisServer
from deploy.lab.wait import until
from replicator.config import topology
from replicator.config.cluster_name import ClusterName
from replicator.groups.membership.activity import FRESH_SECONDS, ActivityStore
from replicator.groups.membership.groups import Groups
from replicator.groups.membership.primary_region import decided
from replicator.groups.membership.primary_store import PrimaryStore
from replicator.groups.offset_sync.activity_pass import ActivityPass
from replicator.groups.offset_sync.passes import PassFailed
from replicator.runtime.store_errors import StoreUnreachable
from tests.live.offsets_daemon import offsets_region
from tests.live.runs import create_runs_topic

__all__ = ["offsets_region"]  # a fixture

PATIENCE_SECONDS = 60.0
NOW_MS = 1_000_000


def time_ms() -> int:
    return time.time_ns() // 1_000_000


# Activity in Redis


def test_the_last_published_groups_of_each_region_are_known(redis):
    with ActivityStore(redis.url) as store:
        assert store.active(NOW_MS) == {}
        store.publish("west", ["orders", "bills"], NOW_MS)
        store.publish("east", [], NOW_MS)
        assert store.active(NOW_MS) == {"west": {"orders", "bills"}, "east": frozenset()}
        store.publish("west", ["ü \0 {x}"], NOW_MS + 1)
        assert store.active(NOW_MS + 1)["west"] == {"ü \0 {x}"}


def test_groups_that_are_not_published_again_in_time_expire(redis):
    with ActivityStore(redis.url) as store, Redis.from_url(redis.url) as client:
        store.publish("west", ["orders"], NOW_MS)
        store.publish("east", ["orders"], NOW_MS + 1)
        assert set(store.active(NOW_MS + FRESH_SECONDS * 1000)) == {"east"}
        assert 0 < client.ttl("sluice:active:west") <= FRESH_SECONDS
        client.delete("sluice:active:east")
        assert store.active(NOW_MS) == {"west": {"orders"}}


def test_a_redis_that_is_away_is_named_without_its_password(tmp_path):
    url = RedisServer(tmp_path).url.replace("redis://", "redis://user:secret@")
    with ActivityStore(url) as store:
        for ask in (lambda: store.publish("west", [], NOW_MS), lambda: store.active(NOW_MS)):
            with pytest.raises(StoreUnreachable, match="Redis at") as caught:
                ask()
            assert "secret" not in str(caught.value)


# Real consumers


@contextmanager
def consuming(cluster: KafkaCluster, group: str, topic: str, protocol: str) -> Iterator[None]:
    """Runs a member of the group; entered once the member has its partitions."""
    options = {**cluster.librdkafka_options(), "group.id": group, "group.protocol": protocol}
    consumer = Consumer(options)
    assigned = []
    consumer.subscribe([topic], on_assign=lambda _, partitions: assigned.extend(partitions))
    try:
        assert until(lambda: bool(consumer.poll(0.1) or assigned), PATIENCE_SECONDS)
        yield
    finally:
        consumer.close()


def passing(region: str, cluster: KafkaCluster, urls: dict[str, str]) -> ActivityPass:
    table = topology.KafkaCluster.model_validate(cluster.topology_table())
    stores = {name: ActivityStore(url) for name, url in urls.items()}
    groups = Groups(ClusterName.aggregate(region), table)
    return ActivityPass(region, groups, PrimaryStore(urls[region]), stores, time_ms)


def events(caplog) -> list[str]:
    said = [record.getMessage() for record in caplog.records]
    return [line.split()[0].removeprefix("event=") for line in said if line.startswith("event=")]


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_that_is_active_in_two_regions_is_found_by_both_whatever_its_protocol(
    regional, aggregate, redis, make_redis, make_topic, caplog, protocol
):
    """Uses the shared clusters as the aggregates of two regions."""
    group = f"group-{uuid.uuid4().hex[:8]}"
    topic = make_topic(regional, aggregate)
    urls = {"west": redis.url, "east": make_redis().url}
    passes = [passing("west", regional, urls), passing("east", aggregate, urls)]
    record = decided(None, group, "west", at_ms=1, who="ann@ops", why="lives here")
    for url in urls.values():
        with PrimaryStore(url) as store:
            store.write([record])

    def found() -> list[tuple[str, ...]]:
        for each in passes:
            each.once()
        return [it.active for each in passes for it in (each.out_of_place or {}).values()]

    with caplog.at_level(logging.INFO), consuming(regional, group, topic, protocol):
        assert [found() for _ in range(3)] == [[]] * 3
        with consuming(aggregate, group, topic, protocol):
            assert until(lambda: found() == [("east", "west")] * 2, PATIENCE_SECONDS)
        assert until(lambda: found() == [], PATIENCE_SECONDS)
    # Each daemon looks at its own time, and may see one more region than the next.
    assert events(caplog).count("group-active-twice") == 2
    assert events(caplog).count("group-in-place") == 2


def test_a_redis_that_is_away_does_not_hold_up_the_other_regions(aggregate, redis, make_redis):
    away = make_redis()
    away.kill()
    each = passing("west", aggregate, {"west": redis.url, "east": away.url})
    with pytest.raises(PassFailed, match="Redis at"):
        each.once()
    with ActivityStore(redis.url) as store:
        assert "west" in store.active(time_ms())
    assert each.out_of_place == {}


def test_the_daemon_publishes_to_all_regions_and_names_a_group_out_of_place(
    aggregate, offsets_region, make_topic
):
    region, topic = offsets_region, make_topic(aggregate)
    group = f"group-{uuid.uuid4().hex[:8]}"
    sample = f'sluice_group_out_of_place{{group="{group}",region="{region.name}"}}'
    create_runs_topic(aggregate, region.route_key)
    with PrimaryStore(region.own.url) as store:
        store.write([decided(None, group, "west", at_ms=1, who="ann@ops", why="lives there")])
    daemon = region.start()
    with consuming(aggregate, group, topic, "classic"):
        for server in (region.own, region.west, region.north):
            with ActivityStore(server.url) as heard:
                assert until(
                    lambda it=heard: group in it.active(time_ms()).get(region.name, ()),
                    PATIENCE_SECONDS,
                )
        assert until(lambda: region.metrics().get(sample) == 1.0, PATIENCE_SECONDS)
        assert region.events(daemon) == ["group-out-of-place"]
    assert until(lambda: sample not in region.metrics(), PATIENCE_SECONDS)
    assert region.events(daemon) == ["group-out-of-place", "group-in-place"]
    assert region.ended(daemon) == 0
