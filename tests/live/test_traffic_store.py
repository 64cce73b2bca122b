"""Windows of traffic in a real Redis: read by another process, expired, flushed, broken."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest
from redis import Redis

from balancer.demand.look_back import LookBack
from balancer.demand.window import Rate, Window
from balancer.plan import TopicPartition
from deploy.lab.wait import until
from replicator.offsets.offset_store import StoreUnreachable
from replicator.traffic import traffic_store
from replicator.traffic.traffic_store import TrafficStore

MINUTE, HOUR = 60_000, 3_600_000
NOON = 1_700_000_000_000 // HOUR * HOUR
DAY_LATER = NOON + 24 * HOUR
PLACES = [TopicPartition("a", 0), TopicPartition("a", 7), TopicPartition("b.c", 0)]


def look(at, rate, places=PLACES):
    """The minute `at` of the day, of so many records a second of ten bytes."""
    begin = NOON + at * MINUTE
    return {place: Window(begin, begin + MINUTE, rate * 600, rate * 60) for place in places}


def written(store, minutes, rate=1):
    looks = [look(at, rate) for at in minutes]
    for each in looks:
        store.write(each)
    return looks


def fine(store, begin_ms=NOON, end_ms=NOON + HOUR):
    return [columns.windows() for columns in store.fine(begin_ms, end_ms)]


def coarse(store, begin_ms=NOON, end_ms=DAY_LATER):
    return [columns.windows() for columns in store.coarse(begin_ms, end_ms)]


READER = """
import sys
from replicator.traffic.traffic_store import TrafficStore
with TrafficStore(sys.argv[1], "west") as store:
    looks = [look.windows() for look in store.fine(int(sys.argv[2]), int(sys.argv[3]))]
print(len(looks), sum(w.bytes for look in looks for w in look.values()))
"""


def test_another_process_reads_what_was_written(redis):
    with TrafficStore(redis.url, "west") as store:
        looks = written(store, range(15))
        assert fine(store) == looks
    asked = [sys.executable, "-c", READER, redis.url, str(NOON), str(NOON + HOUR)]
    said = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["15", str(15 * 3 * 600)]


def test_only_windows_that_end_between_the_two_times_are_read(redis):
    with TrafficStore(redis.url, "west") as store:
        looks = written(store, range(25))
        assert fine(store, NOON + 9 * MINUTE, NOON + 12 * MINUTE) == looks[9:12]
        assert fine(store, NOON + 9 * MINUTE + 1, NOON + 12 * MINUTE - 1) == looks[9:11]
        assert fine(store, 0, NOON + HOUR) == looks


def test_a_look_written_again_is_there_once(redis):
    with TrafficStore(redis.url, "west") as store:
        written(store, range(3))
        looks = written(store, range(3))
        assert fine(store) == looks


def test_regions_never_mix(redis):
    with TrafficStore(redis.url, "west") as west, TrafficStore(redis.url, "east") as east:
        looks = written(west, range(12))
        assert fine(east) == coarse(east) == []
        written(east, range(2), rate=9)
        assert fine(west) == looks


def test_ten_minutes_are_summed_up_once_they_are_over(redis):
    with TrafficStore(redis.url, "west") as store:
        written(store, range(10), rate=3)
        assert coarse(store) == []
        written(store, [10])
        whole = Window(NOON, NOON + 10 * MINUTE, 18_000, 1800)
        assert coarse(store) == [dict.fromkeys(PLACES, whole)]


def test_whoever_writes_next_sums_up_what_was_left_when_a_writer_died(redis):
    with TrafficStore(redis.url, "west") as store:
        written(store, range(25))
    with TrafficStore(redis.url, "west") as other:
        written(other, [50])
        assert [sums[PLACES[0]].records for sums in coarse(other)] == [600, 600, 300]


def test_a_look_back_of_a_new_process_expects_what_the_old_one_did(redis):
    before = LookBack()
    with TrafficStore(redis.url, "west") as store:
        for at in range(150):
            windows = look(at, 1 + at * 7 % 60)
            before.add(windows)
            store.write(windows)
    after = LookBack()
    now_ms = NOON + 150 * MINUTE
    with TrafficStore(redis.url, "west") as store:
        for columns in store.coarse(now_ms - 25 * HOUR, now_ms):
            after.add_coarse(columns)
        for columns in store.fine(now_ms - HOUR, now_ms):
            after.add(columns)
    assert after.rates(now_ms) == before.rates(now_ms)
    later_ms = now_ms + 5 * HOUR
    assert after.rates(later_ms) == before.rates(later_ms) != {}


def test_everything_expires_after_its_time(redis, monkeypatch):
    with TrafficStore(redis.url, "west") as store, Redis.from_url(redis.url) as client:
        written(store, range(11))
        for name in client.keys("sluice:traffic:west:*"):
            most = traffic_store.COARSE_SECONDS if b"coarse" in name else traffic_store.FINE_SECONDS
            assert most - 60 < client.ttl(name) <= most
        monkeypatch.setattr(traffic_store, "FINE_SECONDS", 1)
        monkeypatch.setattr(traffic_store, "COARSE_SECONDS", 1)
        client.flushall()
        written(store, range(11, 22))
        assert until(lambda: not client.keys("sluice:traffic:*"), 10)


def test_a_flush_loses_history_and_nothing_else(redis):
    with TrafficStore(redis.url, "west") as store, Redis.from_url(redis.url) as client:
        written(store, range(12))
        client.flushall()
        assert fine(store) == coarse(store) == []
        looks = written(store, range(12, 15))
        assert fine(store) == looks


def test_values_of_another_version_and_broken_ones_are_left_out_and_named(redis, caplog):
    with TrafficStore(redis.url, "west") as store, Redis.from_url(redis.url) as client:
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
    with TrafficStore(url, "west", timeout_seconds=1.0) as store:
        server.kill()
        for ask in (lambda: store.write(look(0, 1)), lambda: fine(store), lambda: coarse(store)):
            with pytest.raises(StoreUnreachable, match=str(server.port)) as caught:
                ask()
            assert "secret" not in str(caught.value)


def test_after_an_outage_the_same_store_goes_on_and_sums_up_what_lies_before(make_redis):
    server = make_redis()
    with TrafficStore(server.url, "west") as store:
        written(store, range(10))
        assert until(lambda: b"fine" in server_file(server), 10), "not on disk"
        server.stop()
        with pytest.raises(StoreUnreachable):
            store.write(look(10, 1))
        server.start()
        server.wait_ready()
        store.write(look(10, 1))
        assert len(fine(store)) == 11
        assert [sums[PLACES[0]].records for sums in coarse(store)] == [600]


def server_file(server):
    return b"".join(path.read_bytes() for path in server.directory.glob("appendonlydir/*.aof"))


def test_a_partition_takes_about_five_bytes_of_redis_for_each_window(redis):
    places = [TopicPartition(f"topic-{number // 50}", number % 50) for number in range(5000)]
    with TrafficStore(redis.url, "west") as store, Redis.from_url(redis.url) as client:
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
