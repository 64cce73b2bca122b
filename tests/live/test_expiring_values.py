"""Values that expire in a real Redis, and the index through which they are found."""

from __future__ import annotations

import pytest
from redis import Redis

from deploy.lab.wait import until
from replicator.runtime import expiring_values

pytestmark = pytest.mark.stores


@pytest.fixture
def client(redis):
    with Redis.from_url(redis.url) as client:
        yield client


def test_values_are_found_by_index_and_member_and_the_last_one_counts(client):
    expiring_values.put(client, "one", "a", "old", 60_000)
    expiring_values.put(client, "one", "a", "new", 60_000)
    expiring_values.put(client, "one", "b:*", "other", 60_000)
    expiring_values.put(client, "two", "a", "far", 60_000)
    found = expiring_values.read(client, ["two", "nothing", "one"])
    assert found == [{"a": b"far"}, {}, {"a": b"new", "b:*": b"other"}]
    assert expiring_values.read(client, []) == []


def test_an_expired_value_is_not_found_and_leaves_the_index_with_the_next_one(client):
    expiring_values.put(client, "one", "short", "x", 50)
    expiring_values.put(client, "one", "long", "y", 60_000)
    assert until(lambda: expiring_values.read(client, ["one"]) == [{"long": b"y"}], 20, 0.02)
    expiring_values.put(client, "one", "long", "z", 60_000)
    assert client.zrange("one", 0, -1) == [b"long"]


@pytest.mark.parametrize("members", [("long", "short"), ("short", "long")])
def test_a_short_lived_value_does_not_take_a_longer_lived_one_out_of_the_index(client, members):
    for member in members:
        expiring_values.put(client, "one", member, "x", 60_000 if member == "long" else 50)
    assert until(lambda: expiring_values.read(client, ["one"]) == [{"long": b"x"}], 20, 0.02)
    assert client.pttl("one") > 30_000


def test_the_index_goes_with_its_last_value(client):
    expiring_values.put(client, "one", "short", "x", 50)
    assert until(lambda: not client.keys(), 20, 0.02)


def test_a_withdrawn_value_is_gone_at_once(client):
    for member in ("a", "b"):
        expiring_values.put(client, "one", member, "x", 60_000)
    expiring_values.withdraw(client, "one", "a")
    assert expiring_values.read(client, ["one"]) == [{"b": b"x"}]
    expiring_values.withdraw(client, "one", "b")
    assert client.keys() == []


def test_a_reader_asks_twice_however_many_indexes_and_values_there_are(client):
    for index in range(20):
        for member in range(20):
            expiring_values.put(client, f"index {index}", str(member), "x", 60_000)
    before = client.info("commandstats")
    expiring_values.read(client, [f"index {index}" for index in range(20)])
    after = client.info("commandstats")

    def calls(stats, name):
        return stats.get(f"cmdstat_{name}", {"calls": 0})["calls"]

    assert calls(after, "mget") - calls(before, "mget") == 1
    assert calls(after, "scan") == calls(before, "scan")
