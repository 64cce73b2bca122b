"""Traffic history in Redis: expiry, broken values, and memory use."""

from __future__ import annotations

import logging

import pytest
from redis import Redis

from balancer.demand.look_back import LookBack
from balancer.demand.window import Rate, Window
from balancer.topic_partition import TopicPartition
from deploy.lab.wait import until
from replicator.placement.traffic.redis_history import RedisHistory
from replicator.placement.traffic.traffic_history import COARSE_SECONDS, FINE_SECONDS
from replicator.runtime.store_errors import StoreUnreachable
from tests.live.looks import HOUR, MINUTE, NOON, coarse, fine, look, written

pytestmark = pytest.mark.stores


def test_everything_expires_after_its_time(redis):
    with RedisHistory(redis.url, "west") as store, Redis.from_url(redis.url) as client:
        written(store, range(11))
        for name in client.keys("sluice:traffic:west:*"):
            most = COARSE_SECONDS if b"coarse" in name else FINE_SECONDS
            assert most - 60 < client.ttl(name) <= most
        client.flushall()
    brief = RedisHistory(redis.url, "west", fine_seconds=1, coarse_seconds=1)
    with brief as store, Redis.from_url(redis.url) as client:
        written(store, range(11, 22))
        assert until(lambda: not client.keys("sluice:traffic:*"), 10)


def test_values_of_another_version_and_broken_ones_are_left_out_and_named(redis, caplog):
    with RedisHistory(redis.url, "west") as store, Redis.from_url(redis.url) as client:
        looks = written(store, range(8, 12))
        name = f"sluice:traffic:west:fine:{NOON}"
        (newest, packed), *_ = sorted(client.hgetall(name).items(), reverse=True)
        client.hset(name, mapping={b"1": b"\x07" + packed[1:], b"2": packed[:40], b"x": b""})
        client.hset(name, newest, packed)
        client.set(f"sluice:traffic:west:coarse:{NOON}", b"?")
        with caplog.at_level(logging.WARNING):
            assert fine(store) == looks
            assert coarse(store) == []
        assert caplog.text.count("event=traffic-left-out") == 4
        assert "format 7; this Sluice reads 1" in caplog.text


def test_a_redis_that_does_not_answer_is_named_without_its_password(make_redis):
    server = make_redis()
    url = server.url.replace("redis://", "redis://:secret@")
    with RedisHistory(url, "west", timeout_seconds=1.0) as store:
        server.kill()
        for ask in (lambda: store.write(look(0, 1)), lambda: fine(store), lambda: coarse(store)):
            with pytest.raises(StoreUnreachable, match=str(server.port)) as caught:
                ask()
            assert "secret" not in str(caught.value)


def test_a_partition_takes_about_five_bytes_of_redis_for_each_window(redis):
    places = [TopicPartition(f"topic-{number // 50}", number % 50) for number in range(5000)]
    with RedisHistory(redis.url, "west") as store, Redis.from_url(redis.url) as client:
        for at in range(11):
            begin = NOON + at * MINUTE
            store.write(
                {
                    place: Window(begin, begin + MINUTE, number * 7919 % 10**6, number % 997)
                    for number, place in enumerate(places)
                }
            )
        for kind, windows in (("fine", 10), ("coarse", 1)):
            used: int = client.memory_usage(f"sluice:traffic:west:{kind}:{NOON}", samples=0)
            assert 2 < used / windows / len(places) < 7, kind
        back = LookBack()
        for columns in store.fine(NOON, NOON + HOUR):
            back.add(columns)
        assert back.rates(NOON + 11 * MINUTE)[places[1]] == Rate(7919 / 60, 1 / 60)
