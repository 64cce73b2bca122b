"""Loaders' reports and totals in a real Redis: one key for each loader, which expires."""

from __future__ import annotations

import pytest
from redis import Redis

from aggregator.loader.counters import ROWS
from aggregator.loader.loader_counts import LoaderCounts, LoaderTotals
from aggregator.loader.report_store import EXPIRE_SECONDS, TOTALS_EXPIRE_SECONDS, ReportStore
from deploy.lab.redis import RedisServer
from replicator.runtime import expiring_values
from replicator.runtime.store_errors import StoreUnreachable
from tests.aggregator.loader.test_reports import report

pytestmark = pytest.mark.stores


@pytest.fixture
def store(redis):
    with ReportStore(redis.url) as store:
        yield store


def test_reports_of_all_loaders_of_a_feed_are_found_and_no_others(store):
    first, second = report(), report(loader=2, partition=1, topic="ü\n{*}")
    east = report(cluster="east regional")
    other, similar = report(feed="other"), report(feed="flights-2")
    store.write([first, other, second, similar, east])
    assert store.read("flights") == {each.source: each for each in (first, second, east)}
    assert store.read("flights-2") == {similar.source: similar}
    assert store.read("nothing") == {}


def test_a_loader_replaces_all_of_its_reports(store):
    store.write([report(), report(partition=1)])
    last = report(at_ms=2000)
    store.write([last])
    assert store.read("flights") == {last.source: last}


def test_reports_expire(store, redis):
    store.write([report()])
    with Redis.from_url(redis.url) as client:
        assert len(client.keys()) == 2, "a value and its index"
        assert all(0 < client.ttl(name) <= EXPIRE_SECONDS for name in client.scan_iter())


def test_a_report_of_another_version_is_named(store, redis):
    with Redis.from_url(redis.url) as client:
        expiring_values.put(client, "sluice:loaders:flights", "1 west regional", "{}", 60_000)
    with pytest.raises(ValueError, match="of another form"):
        store.read("flights")


def totals_of(loader_counts: LoaderCounts, feed: str = "flights") -> LoaderTotals:
    return loader_counts.totals(feed, "west regional")


def test_totals_of_all_loaders_of_a_feed_are_found_and_the_last_ones_count(store):
    first, second, other = LoaderCounts(), LoaderCounts(), LoaderCounts()
    store.write_totals(first.id, totals_of(first))
    first.add(ROWS, "t", "hits", amount=5)
    store.write_totals(first.id, totals_of(first))
    store.write_totals(second.id, totals_of(second))
    store.write_totals(other.id, totals_of(other, "flights-2"))
    found = store.totals("flights")
    assert found == {first.id: totals_of(first), second.id: totals_of(second)}
    assert found[first.id].counts[ROWS.name] == {("t", "hits"): 5}
    assert store.totals("nothing") == {}


def test_totals_of_another_version_are_left_out_and_hide_no_others(store, redis, caplog):
    loader_counts = LoaderCounts()
    store.write_totals(loader_counts.id, totals_of(loader_counts))
    with Redis.from_url(redis.url) as client:
        index = "sluice:loader_totals:flights"
        expiring_values.put(client, index, "later", '{"feed": 1}', 60_000)
    assert store.totals("flights") == {loader_counts.id: totals_of(loader_counts)}
    assert "event=metrics-blind feed=flights loader_id=later" in caplog.text


def test_totals_outlive_their_loader_by_minutes_and_are_no_reports(store, redis):
    store.write_totals("a", totals_of(LoaderCounts()))
    with Redis.from_url(redis.url) as client:
        left = {client.ttl(name) for name in client.scan_iter()}
        assert min(left) > EXPIRE_SECONDS and max(left) <= TOTALS_EXPIRE_SECONDS
    assert store.read("flights") == {}


def test_a_redis_that_is_away_is_named(make_redis):
    server: RedisServer = make_redis()
    server.kill()
    with ReportStore(server.url, timeout_seconds=1) as store:
        with pytest.raises(StoreUnreachable, match="loading goes on without it"):
            store.write([report()])
        with pytest.raises(StoreUnreachable):
            store.read("flights")
        with pytest.raises(StoreUnreachable):
            store.totals("flights")
        with pytest.raises(StoreUnreachable):
            store.write_totals("a", totals_of(LoaderCounts()))
