"""Primary regions in a real Redis, which joins records in the same way as the Python values."""

from __future__ import annotations

import logging
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis import Redis

from deploy.lab.redis import RedisServer
from replicator.groups.membership.primary_region import PrimaryRegion, encode, joined
from replicator.groups.membership.primary_store import KEY, PrimaryCopies, PrimaryStore
from replicator.kafka.tail.stored_positions import StoreBehind
from replicator.kafka.tail.tail_position import Portion, Reading, TailPosition
from replicator.runtime.store_errors import StoreUnreachable
from tests.live.copying import opening

pytestmark = pytest.mark.stores

BEGIN = TailPosition("topic", 0)
NOW_MS = 1_000_000
RECORDS = st.builds(
    PrimaryRegion,
    group=st.sampled_from(["orders", "bills", "ü \0 {x}"]),
    region=st.sampled_from(["a", "a-1", "a0", "west", None]),
    generation=st.integers(1, 3) | st.just(2**53 - 1),
    at_ms=st.integers(0, 2) | st.just(2**53 - 1),
    who=st.text(max_size=3),
    why=st.text(max_size=3),
)
FIRST = PrimaryRegion("orders", "west", 1, 1000, "ann@ops", "lives here")
LATER = PrimaryRegion("orders", "east", 2, 2000, "bob@ops", "west is gone", "plan-1", "west")


@pytest.fixture
def store(redis):
    with PrimaryStore(redis.url) as store:
        yield store


def portion(
    *records: PrimaryRegion | None, begin: TailPosition = BEGIN, caught_up_ms: int | None = None
) -> Portion:
    """Returns a portion of these records with consecutive offsets from `begin` on."""
    reading = Reading(begin)
    for offset, record in enumerate(records, begin.offset):
        reading.read(offset, 0, record)
    if caught_up_ms is not None:
        reading.reach(reading.position.offset)
        reading.expect(reading.position.offset, caught_up_ms)
    return reading.take() or Portion(begin, begin)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(RECORDS, max_size=8), st.randoms())
def test_redis_joins_as_the_values_do_whatever_the_order_and_however_often(
    store, redis, records, random
):
    again = [*records, *records[:3]]
    random.shuffle(again)
    with Redis.from_url(redis.url) as client:
        client.flushall()
    for record in again:
        store.write([record])
    assert store.all() == joined(records)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(RECORDS, max_size=6), st.lists(RECORDS, max_size=6), st.data())
def test_two_regions_repeated_shuffled_and_flushed_are_all_there_in_the_end(
    redis, west, east, data
):
    with Redis.from_url(redis.url) as client:
        client.flushall()
        told = []
        with PrimaryCopies(redis.url, "west") as one, PrimaryCopies(redis.url, "east") as two:
            for copies, records in ((one, west), (two, east)):
                half = portion(*records[:3])
                told += [
                    (copies, opening(0)[0]),
                    (copies, half),
                    (copies, portion(*records[3:], begin=half.end)),
                ]
            for each in data.draw(st.lists(st.sampled_from([*told, None]), max_size=12)):
                if each is None:
                    client.flushall()
                else:
                    with suppress(StoreBehind):
                        each[0].put({0: each[1]})
            for copies, each in told:
                copies.put({0: each})
            assert one.all() == two.all() == joined([*west, *east])
            assert one.position() == {0: told[2][1].end}
            assert two.position() == {0: told[5][1].end}


def test_a_portion_that_does_not_continue_from_here_is_refused_also_after_a_flush(redis):
    with PrimaryCopies(redis.url, "west") as copies, Redis.from_url(redis.url) as client:
        first = portion(FIRST)
        copies.put(opening(0))
        copies.put({0: first})
        client.flushall()
        with pytest.raises(StoreBehind):
            copies.put({0: portion(LATER, begin=first.end)})
        assert copies.all() == {}


def test_the_age_is_of_one_region_and_unknown_until_all_of_its_log_is_here(redis):
    with PrimaryCopies(redis.url, "west") as west, PrimaryCopies(redis.url, "east") as east:
        west.put(opening(0))
        east.put(opening(0))
        west.put({0: portion(FIRST, caught_up_ms=NOW_MS - 700)})
        east.put({0: portion()})
        assert west.age(NOW_MS) == 700
        assert east.age(NOW_MS) is None


def test_decisions_made_here_and_copied_ones_are_joined(store, redis):
    store.write([LATER])
    with PrimaryCopies(redis.url, "west") as copies:
        copies.put(opening(0))
        copies.put({0: portion(FIRST)})
    assert store.all() == {"orders": LATER}


def test_a_value_that_is_no_record_is_left_out_logged_once_and_overruled(store, redis, caplog):
    with Redis.from_url(redis.url) as client, caplog.at_level(logging.WARNING):
        client.hset(KEY, mapping={"orders": "nonsense", "bills": encode(FIRST)})
        for _ in range(2):
            assert list(store.all().values()) == [FIRST]
        assert [record.getMessage().split()[0] for record in caplog.records] == [
            "event=decision-unreadable"
        ]
        store.write([FIRST])
        assert store.all()["orders"] == FIRST


def test_a_decision_of_a_later_version_is_not_overruled_by_an_older_one(store, redis):
    with Redis.from_url(redis.url) as client:
        to_come = encode(LATER).replace('"sluice":1', '"sluice":2,"more":[]').encode()
        client.hset(KEY, "orders", to_come)
        store.write([FIRST])
        assert client.hget(KEY, "orders") == to_come


def test_thousands_of_groups_are_written_and_read(store):
    records = [PrimaryRegion(f"group-{n}", "west", 1, n, "ann", "all") for n in range(5000)]
    store.write(records)
    assert len(store.all()) == 5000


def test_a_store_that_is_away_is_named_without_its_password(tmp_path):
    url = RedisServer(tmp_path).url.replace("redis://", "redis://user:secret@")
    with PrimaryCopies(url, "west") as copies:
        asks = (copies.all, copies.position, lambda: copies.write([FIRST]), lambda: copies.put({}))
        for ask in asks:
            with pytest.raises(StoreUnreachable, match="Redis at") as caught:
                ask()
            assert "secret" not in str(caught.value)
