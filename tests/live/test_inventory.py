"""Everything that is asked about an appliance, watched with real clusters and a real Redis."""

from __future__ import annotations

import json
import queue
import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Producer

from deploy.lab.kafka import KafkaCluster
from replicator.config.topology import load
from tests.live.conftest import RedisMaker, TopicMaker
from tui.facts.health import Health
from tui.facts.snapshot import Snapshot
from tui.facts.watch.inventory import whole_inventory
from tui.facts.watch.live_source import SnapshotThread
from tui.facts.watch.spotlight import Spotlight
from tui.facts.watch.watcher import Watcher
from tui.pages.page import Focus

SECONDS = 60.0
TIMEOUT_SECONDS = 3.0


def awaited(told: queue.Queue[Snapshot], is_so: Callable[[Snapshot], bool]) -> Snapshot:
    """Returns the first snapshot of which it is so."""
    deadline = time.monotonic() + SECONDS
    while True:
        snapshot = told.get(timeout=max(0.1, deadline - time.monotonic()))
        if is_so(snapshot):
            return snapshot


def test_a_watch_follows_the_topic_on_screen_and_keeps_what_a_lost_redis_said(
    regional: KafkaCluster,
    aggregate: KafkaCluster,
    make_redis: RedisMaker,
    make_topic: TopicMaker,
    tmp_path: Path,
) -> None:
    topic = make_topic(regional, aggregate, partitions=1)
    redis = make_redis()
    file = tmp_path / "appliance.toml"
    file.write_text(
        f'[topics]\nallow = ["{topic}"]\n[regions.west]\nredis = "{redis.url}"\n'
        f"regional.bootstrap = {json.dumps(regional.bootstrap.split(','))}\n"
        f"aggregate.bootstrap = {json.dumps(aggregate.bootstrap.split(','))}\n"
    )
    spotlight = Spotlight()
    inventory = whole_inventory(load(str(file)), TIMEOUT_SECONDS, spotlight)
    told: queue.Queue[Snapshot] = queue.Queue()
    watcher = Watcher(inventory.questions, TIMEOUT_SECONDS, spotlight)
    snapshots = SnapshotThread(watcher, inventory.assembly.snapshot, told.put, 0.1)
    watcher.start()
    snapshots.start()
    try:

        def end_of(snapshot: Snapshot) -> int | None:
            topics = snapshot.routes[0].topics
            return topics[0].partitions[0].source_end if topics and topics[0].partitions else None

        first = awaited(told, lambda it: all(part.asked_at for part in it.parts))
        assert first.problems == ()
        assert (first.regions[0].regional, first.regions[0].redis) == ("ok", "ok")
        assert (end_of(first), first.routes[0].state) == (0, Health.UNKNOWN)

        watcher.set_focus(Focus(topic=("west>west", topic)))
        producer = Producer(regional.librdkafka_options())
        producer.produce(topic, b"1", partition=0)
        producer.flush(30)
        awaited(told, lambda it: end_of(it) == 1)

        redis.kill()
        lost = awaited(told, lambda it: it.regions[0].redis == "silent")
        assert end_of(lost) == 1
        assert {each.state for each in lost.regions[0].daemons} == {"unknown"}
        assert any(redis.url in problem for problem in lost.problems)
        assert snapshots.problem == ""
    finally:
        snapshots.close()
        watcher.close()
