"""Conditions, cards and events of a real driver, as `sluice status` shows them."""

from __future__ import annotations

import json
import time

import pytest
from confluent_kafka import Producer

from deploy.lab.traffic import records, send
from deploy.lab.wait import until
from replicator.config.cluster_name import ClusterName
from replicator.config.names import BALANCE_TOPIC
from replicator.config.topology import Route, load
from replicator.notices.notice_store import NoticeStore
from replicator.orders.balance_log import BalanceLog
from replicator.orders.order_records import Pause, key_of
from tests.live.replicate_daemon import region  # noqa: F401
from tui.program import run

pytestmark = pytest.mark.timeout(600)
# ruff: noqa: F811

SECONDS = 60.0


def test_a_paused_topic_and_the_daemon_are_shown_while_they_last(
    region, regional, aggregate, redis, make_topic, capsys
):
    topic = make_topic(regional, partitions=2, name=region.topics)
    send(regional, topic, records(100, partitions=2))
    driver = region.start()
    config = region.directory / "appliance.toml"
    name = ClusterName.aggregate(region.name)
    log = BalanceLog(name, load(str(config)).cluster(name))
    route = Route("west", region.name)

    def shown():
        """Returns the snapshot's JSON, and the text for people."""
        arguments = ["status", "--config", str(config), "--route", route.name]
        run([*arguments, "-o", "json"])
        values = json.loads(capsys.readouterr().out)
        run(arguments)
        return values, capsys.readouterr().out

    def daemon():
        (found,) = shown()[0]["regions"]
        return next(each for each in found["daemons"] if each["role"] == "replicate")

    assert (daemon()["state"], daemon()["pid"]) == ("runs", driver.process.pid)

    pause = Pause(
        route=route.key, at_ms=int(time.time() * 1000), who="ann@ops", why="load", topic=topic
    )
    log.write([pause])
    with NoticeStore(redis.url, region.name) as store:

        def kinds():
            return [(each.kind, each.topic) for each in store.conditions()]

        assert until(lambda: ("paused", topic) in kinds(), SECONDS)
        values, text = shown()
        (paused,) = [each for each in values["conditions"] if each["kind"] == "paused"]
        assert (paused["route"], paused["text"]) == (route.name, "paused by ann@ops: load")
        assert f"paused: {route} {topic}: paused by ann@ops: load (since" in text
        (described,) = values["routes"][0]["topics"]
        assert described["state"] == "PAUSED"
        assert described["why"].startswith("partition 0: paused by ann@ops: load, since ")
        log.write([], [key_of(pause)])
        assert until(lambda: ("paused", topic) not in kinds(), SECONDS)

        producer = Producer(aggregate.librdkafka_options())
        producer.produce(BALANCE_TOPIC, b"no order", key=region.name.encode())
        producer.flush(30)

        def events():
            return [(event.kind, event.who) for _, event in store.events(100)]

        assert until(lambda: ("order-unreadable", f"replicate {region.name}") in events(), SECONDS)
        driver.signal()
        assert driver.ended() == 0
        assert store.daemons() == []
    assert until(lambda: "paused" not in shown()[1], SECONDS)
    assert daemon()["state"] == "missing"
    assert f"missing: sluice replicate of {region.name}" in shown()[1]
