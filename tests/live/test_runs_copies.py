"""Runs on a real cluster, copied into another region's Redis, give the same maps there."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Producer
from redis import Redis

from deploy.lab.redis import RedisServer
from deploy.lab.wait import until
from replicator.config import topology
from replicator.config.names import runs_topic_name
from replicator.groups.copies.runs_copies import JOINED_FROM, RunsCopies
from replicator.groups.copies.runs_tailer import RunsRecord, runs_tailer
from replicator.kafka.tail.stored_positions import StoreBehind
from replicator.kafka.tail.tail_position import Portion, Reading, TailPosition
from replicator.kafka.tail.topic_tailer import TopicTailer
from replicator.mirror.offset_map.offset_map import OffsetMap
from replicator.mirror.offset_map.offset_store import OffsetStore
from replicator.mirror.offset_map.packed_map import pack_segment
from replicator.mirror.offset_map.runs_topic import RunsKey, read
from replicator.runtime.store_errors import StoreUnreachable
from tests.live.copying import PATIENCE_SECONDS, copying, events, opening, until_fresh
from tests.live.runs import (
    KEY,
    ROUTE,
    create_runs_topic,
    keys,
    learned,
    loaded,
    publisher,
    stretches,
)

BEGIN = TailPosition("topic", 0)


def follower_of(cluster, route_key: str, **options: Any) -> TopicTailer[RunsRecord]:
    settings = topology.KafkaCluster.model_validate(cluster.topology_table())
    return runs_tailer("east aggregate", settings, route_key, **options)


@contextmanager
def copied(cluster, url: str, route_key: str, **options: Any) -> Iterator[RunsCopies]:
    follower = follower_of(cluster, route_key, **options)
    with RunsCopies(url, route_key) as store, copying(follower, store):
        yield store


async def tell(cluster, route_key: str, told: dict[RunsKey, list]) -> None:
    telling = await publisher(cluster, route_key)
    await telling.publish((key, part) for key, parts in told.items() for part in parts)
    await telling.flush()
    await telling.stop()


def content(url: str, route_key: str) -> dict[RunsKey, OffsetMap]:
    with OffsetStore(url, route_key) as store:
        return loaded(store)


def original(cluster, redis: RedisServer, route_key: str) -> dict[RunsKey, OffsetMap]:
    """Returns the maps of the region that the runs lead into."""
    with OffsetStore(redis.url, route_key) as store:
        assert store.rebuild(read(cluster.librdkafka_options(), route_key))
        return loaded(store)


@pytest.fixture
def home(make_redis) -> RedisServer:
    """The Redis of the region that the runs lead into."""
    return make_redis()


# Copies of a real runs topic


async def test_the_copied_maps_are_those_at_home_also_those_that_came_before_it_began(
    aggregate, redis, home, route_key
):
    early = {key: stretches(0, 50) for key in keys(5)}
    await tell(aggregate, route_key, early)
    with copied(aggregate, redis.url, route_key) as store:
        lost = replace(KEY, losses=1)
        await tell(aggregate, route_key, {KEY: stretches(50, 60), lost: stretches(40, 45)})
        until_fresh(store)
        expected = original(aggregate, home, route_key)
        assert content(redis.url, route_key) == expected
        assert expected[keys(5)[4]] == learned(stretches(0, 50))
        assert expected[KEY] != learned(stretches(0, 60))


async def test_a_flushed_destination_fills_again_by_itself(aggregate, redis, route_key, caplog):
    await tell(aggregate, route_key, {key: stretches(0, 50) for key in keys(3)})
    with caplog.at_level(logging.INFO), copied(aggregate, redis.url, route_key) as store:
        until_fresh(store)
        before = content(redis.url, route_key)
        assert before == {key: learned(stretches(0, 50)) for key in keys(3)}
        with Redis.from_url(redis.url) as client:
            client.flushall()
        assert until(lambda: content(redis.url, route_key) == before, PATIENCE_SECONDS)
        until_fresh(store)
        assert events(caplog) == ["not-copied", "copied-again"]


async def test_a_destination_restored_from_yesterday_gets_its_missing_pieces(
    aggregate, redis, route_key, caplog
):
    await tell(aggregate, route_key, {KEY: stretches(0, 10)})
    with caplog.at_level(logging.INFO), copied(aggregate, redis.url, route_key) as store:
        until_fresh(store)
        with Redis.from_url(redis.url) as client:
            yesterday = {name: client.dump(name) for name in client.scan_iter()}
            await tell(aggregate, route_key, {KEY: stretches(10, 20)})
            until_fresh(store)
            assert content(redis.url, route_key) == {KEY: learned(stretches(0, 20))}
            with client.pipeline(transaction=True) as restoring:
                restoring.flushall()
                for name, dump in yesterday.items():
                    restoring.restore(name, 0, dump)
                restoring.execute()
        await tell(aggregate, route_key, {KEY: stretches(20, 30)})
        until_fresh(store)
        assert content(redis.url, route_key) == {KEY: learned(stretches(0, 30))}


async def test_a_destination_that_is_away_catches_up(aggregate, make_redis, route_key, caplog):
    away = make_redis()
    with caplog.at_level(logging.INFO), copied(aggregate, away.url, route_key) as store:
        await tell(aggregate, route_key, {KEY: stretches(0, 10)})
        until_fresh(store)
        away.kill()
        await tell(aggregate, route_key, {KEY: stretches(10, 20)})
        assert until(lambda: events(caplog) == ["not-copied"], PATIENCE_SECONDS)
        away.start()
        away.wait_ready()
        until_fresh(store)
        assert content(away.url, route_key) == {KEY: learned(stretches(0, 20))}
        assert events(caplog) == ["not-copied", "copied-again"]


async def test_a_runs_topic_that_is_recreated_is_read_from_its_beginning(
    aggregate, redis, route_key, caplog
):
    await tell(aggregate, route_key, {KEY: stretches(0, 10)})
    with (
        caplog.at_level(logging.INFO),
        copied(aggregate, redis.url, route_key, check_seconds=0.2) as store,
    ):
        until_fresh(store)
        name = runs_topic_name(route_key)
        admin = aggregate.admin()
        admin.delete_topics([name])[name].result(30)
        assert until(lambda: "not-copied" in events(caplog), PATIENCE_SECONDS)
        create_runs_topic(aggregate, route_key)
        assert until(lambda: name in admin.list_topics(timeout=10).topics, PATIENCE_SECONDS)
        await tell(aggregate, route_key, {KEY: stretches(10, 12)})
        until_fresh(store)
        # Runs of the former topic stay valid.
        assert content(redis.url, route_key) == {KEY: learned(stretches(0, 12))}
        assert {position.era for position in store.position().values()} == {1}
        assert "log-read-anew" in events(caplog)


async def test_a_foreign_message_is_named_with_its_offset_and_stops_the_copy(
    aggregate, redis, route_key, caplog
):
    topic = runs_topic_name(route_key)
    producer = Producer(aggregate.librdkafka_options())
    producer.produce(topic, key=b"[9]", value=b"", partition=2)
    producer.flush(30)
    with caplog.at_level(logging.INFO), copied(aggregate, redis.url, route_key):
        assert until(lambda: events(caplog) == ["not-copied"], PATIENCE_SECONDS)
        assert f"{topic}-2 at 0: a runs key of format 9" in caplog.text


# Portions


@pytest.fixture
def store(redis):
    with RunsCopies(redis.url, ROUTE) as store:
        store.put(opening(0))
        yield store


def portion(begin: TailPosition, told: list[RunsRecord]) -> Portion[RunsRecord]:
    reading: Reading[RunsRecord] = Reading(begin)
    for offset, each in enumerate(told, begin.offset):
        reading.read(offset, 0, each)
    return reading.take() or Portion(begin, begin)


def runs(begin: int, end: int, key: RunsKey = KEY) -> list[RunsRecord]:
    return [RunsRecord(key, pack_segment(part)) for part in stretches(begin, end)]


def test_repeated_and_late_portions_do_no_harm(store, redis):
    first = portion(BEGIN, runs(0, 5))
    second = portion(first.end, runs(5, 9))
    for each in (first, second, first, second, first):
        store.put({0: each})
    assert content(redis.url, ROUTE) == {KEY: learned(stretches(0, 9))}
    assert store.position() == {0: second.end}


def test_a_portion_that_leaves_something_out_is_refused_and_the_others_are_taken(store, redis):
    other = keys(2)[1]
    with pytest.raises(StoreBehind):
        store.put(
            {
                0: portion(BEGIN, runs(0, 1)),
                1: portion(TailPosition("topic", 0, 7), runs(0, 1, other)),
            }
        )
    assert content(redis.url, ROUTE) == {KEY: learned(stretches(0, 1))}


def test_many_pieces_at_once_are_joined_on_the_way(store, redis):
    store.put({0: portion(BEGIN, runs(0, 50 * JOINED_FROM))})
    with Redis.from_url(redis.url) as client:
        (name,) = client.keys("sluice:runs:*")
        assert client.zcard(name) == 1
    assert content(redis.url, ROUTE) == {KEY: learned(stretches(0, 50 * JOINED_FROM))}


def test_pieces_that_cannot_be_read_are_copied_as_they_are(store, redis):
    told = [RunsRecord(KEY, b"\2" + bytes([number])) for number in range(2 * JOINED_FROM)]
    store.put({0: portion(BEGIN, told)})
    with Redis.from_url(redis.url) as client:
        (name,) = client.keys("sluice:runs:*")
        assert set(client.zrange(name, 0, -1)) == {each.piece for each in told}


def test_joined_pieces_stay_joined_when_they_are_published_again(store, redis):
    told = portion(BEGIN, runs(0, 9))
    store.put({0: told})
    with OffsetStore(redis.url, ROUTE) as tended:
        tended.maintain(KEY, 100)
        store.put({0: told})
        assert tended.maintain(KEY, 100) == tended.load(KEY)
        expected = learned(stretches(0, 9))
        expected.trim(100)
        assert tended.load(KEY) == expected


def test_a_copy_that_is_away_is_named_without_its_password(tmp_path):
    url = RedisServer(tmp_path).url.replace("redis://", "redis://user:secret@")
    with RunsCopies(url, ROUTE) as store:
        for ask in (store.position, lambda: store.age(1), lambda: store.put({})):
            with pytest.raises(StoreUnreachable, match="Redis at") as caught:
                ask()
            assert "secret" not in str(caught.value)
