"""Notices of a process in a real Redis: conditions, cards and events, also after an outage."""

from __future__ import annotations

import logging
from contextlib import contextmanager

import pytest
from redis import Redis

from deploy.lab.wait import until
from replicator.config.topology import KafkaCluster, Region
from replicator.notices.condition import Kind, Subject
from replicator.notices.conditions import Conditions
from replicator.notices.event import Event
from replicator.notices.notice_store import NoticeStore
from replicator.notices.notice_writer import PENDING_EVENTS_MAX, notices
from replicator.notices.own_card import own_card
from replicator.runtime import expiring_values

pytestmark = pytest.mark.stores

ORDERS = Subject(topic="orders")
SECONDS = 30


def region_of(server):
    one, other = KafkaCluster(bootstrap=("h:1",)), KafkaCluster(bootstrap=("h:2",))
    return Region(name="east", regional=one, aggregate=other, redis=server.url)


@contextmanager
def store_of(server):
    with NoticeStore(server.url, "east") as store:
        yield store


@pytest.fixture
def store(redis):
    with store_of(redis) as store:
        yield store


def test_conditions_are_there_while_they_hold_and_the_card_while_the_daemon_runs(redis, store):
    conditions = Conditions("replicate east")
    card = own_card("replicate", "east", "mirrors west>east")
    with notices(region_of(redis), "replicate east", [conditions], card):
        assert until(lambda: store.daemons() == [card], SECONDS)
        conditions.replace(Kind.TOPIC_REFUSED, {ORDERS: "no rights"})
        assert until(lambda: store.conditions() == list(conditions.current), SECONDS)
        assert [each.text for each in store.conditions()] == ["no rights"]
        conditions.replace(Kind.TOPIC_REFUSED, {})
        assert until(lambda: store.conditions() == [], SECONDS)
    assert store.daemons() == []


def test_a_task_that_follows_goes_on_with_the_beginning_of_a_condition(redis, store):
    first = Conditions("carrier 0 of west>east", lambda: 1000)
    first.replace(Kind.WAITING, {ORDERS: "no leader"})
    with notices(region_of(redis), "carriers of east", [first]):
        assert until(lambda: store.conditions() != [], SECONDS)
    assert store.conditions() == list(first.current), "it stays for the next task"
    second = Conditions("carrier 0 of west>east", lambda: 9000)
    second.replace(Kind.WAITING, {ORDERS: "still no leader"})
    with notices(region_of(redis), "carriers of east", [second]):
        assert until(lambda: store.conditions()[0].text == "still no leader", SECONDS)
        assert store.conditions()[0].since_ms == 1000


def test_warnings_and_errors_that_are_logged_become_events_in_order(redis, store):
    log = logging.getLogger("replicator.somewhere")
    with notices(region_of(redis), "balance east"):
        log.info("event=usual nothing")
        log.warning("event=one %s", "first")
        log.error("event=two second")
        assert until(lambda: len(store.events(10)) == 2, SECONDS)
    told = [(event.kind, event.level, event.text, event.who) for _, event in store.events(10)]
    assert told == [
        ("one", "warning", "first", "balance east"),
        ("two", "error", "second", "balance east"),
    ]
    (first, _), (_, event) = store.events(10)
    assert [each for _, each in store.events(10, after=first)] == [event]
    assert [each for _, each in store.events(1)] == [event]
    log.warning("event=later nobody listens")
    assert len(store.events(10)) == 2


def test_a_library_that_repeats_itself_floods_nobody(redis, store):
    log = logging.getLogger("aiokafka.client")
    with notices(region_of(redis), "balance east"):
        for _ in range(100):
            log.error("Unable to connect to node 1")
        logging.getLogger("replicator.somewhere").warning("event=last")
        assert until(lambda: "last" in [each.kind for _, each in store.events(200)], SECONDS)
    assert [(each.kind, each.level) for _, each in store.events(200)] == [
        ("log", "warning"),
        ("last", "warning"),
    ]


def test_while_redis_is_away_nothing_waits_and_surplus_events_are_counted(make_redis):
    server = make_redis()
    server.kill()
    conditions = Conditions("replicate east")
    with notices(region_of(server), "replicate east", [conditions]) as writer:
        conditions.replace(Kind.TOPIC_REFUSED, {ORDERS: "no rights"})
        event = Event(at_ms=1, kind="flood", level="warning", who="replicate east", text="")
        for _ in range(PENDING_EVENTS_MAX + 7):
            writer.put(event)
        assert writer.dropped_events == 7
        server.start()
        server.wait_ready()
        with store_of(server) as store:
            assert until(lambda: store.conditions() == list(conditions.current), SECONDS)
            assert until(lambda: len(store.events(5000)) == PENDING_EVENTS_MAX + 1, SECONDS)
            ((_, last),) = store.events(1)
            assert (last.kind, last.text) == (
                "events-dropped",
                "count=7 while Redis did not answer",
            )


def test_notices_of_a_later_version_are_left_out_and_hide_no_others(redis, store, caplog):
    card = own_card("verify", "east", "judges")
    store.write(cards=[card])
    with Redis.from_url(redis.url) as client:
        expiring_values.put(client, "sluice:daemons:east", "later", '{"name": 7}', 60_000)
        expiring_values.put(client, "sluice:conditions:east", "later", '[{"name": 7}]', 60_000)
        client.xadd("sluice:events:east", {"event": '{"name": 7}'})
    assert (store.daemons(), store.conditions(), store.events(10)) == ([card], [], [])
    assert caplog.text.count("event=notice-unreadable") == 3
