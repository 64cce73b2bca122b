"""Causes that a newcomer finds on screen: a topic is paused, the source does not answer."""

from __future__ import annotations

import re
import subprocess
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from deploy.lab.daemons import SLUICE
from deploy.lab.kafka import KafkaCluster
from deploy.lab.process import Process
from deploy.lab.redis import RedisServer
from deploy.lab.traffic import records, send
from deploy.lab.wait import until
from tests.live.arrived import has_arrived
from tests.live.conftest import ClusterMaker
from tests.live.newcomer import Newcomer
from tests.live.replicate_daemon import ReplicateDaemon
from tests.live.terminal import Terminal
from tests.live.topics import create

pytestmark = pytest.mark.timeout(300)

KEYS_MAX = 6
SETTLE_SECONDS = 60.0


@dataclass(frozen=True)
class Home:
    """Region with its daemons, whose regional cluster a test may stop."""

    name: str
    config: Path
    topic: str
    regional: KafkaCluster
    aggregate: KafkaCluster

    def sluice(self, *words: str) -> None:
        subprocess.run([str(SLUICE), *words, "--config", str(self.config)], check=True)

    def console(self, columns: int, rows: int) -> Terminal:
        command = [str(SLUICE), "console", "--config", str(self.config)]
        return Terminal(command, columns=columns, rows=rows)


@pytest.fixture
def home(
    make_cluster: ClusterMaker, aggregate: KafkaCluster, redis: RedisServer, tmp_path: Path
) -> Iterator[Home]:
    mark = uuid.uuid4().hex[:4]
    name, topic = f"home{mark}", f"orders-{mark}"
    regional = make_cluster("regional")
    create(regional, topic, partitions=2)
    config = tmp_path / "appliance.toml"
    config.write_text(f"""
[regions.{name}]
redis = "{redis.url}"
regional.bootstrap = {regional.bootstrap.split(",")}
aggregate.bootstrap = {aggregate.bootstrap.split(",")}
[topics]
allow = ["{topic}"]
refresh_seconds = 1.0
""")
    offsets = [str(SLUICE), "offsets", "--config", str(config), "--region", name]
    copier = Process("sluice offsets", offsets, tmp_path / "offsets.log")
    daemon = ReplicateDaemon(config, name, 0, "local[2,8]")
    try:
        send(regional, topic, records(200, partitions=2))
        daemon.hear("event=plan ")
        assert until(lambda: has_arrived(regional, aggregate, topic), SETTLE_SECONDS, 0.5)
        yield Home(name, config, topic, regional, aggregate)
    finally:
        daemon.kill()
        copier.kill()


def test_a_newcomer_finds_a_pause_and_a_source_that_does_not_answer(home: Home) -> None:
    route = f"{home.name}>{home.name}"
    with home.console(80, 24) as terminal:
        newcomer = Newcomer(terminal)
        newcomer.until_calm()
        words = ("stream", "pause-topic", home.topic, "--route", route, "--reason", "load test")
        began = time.monotonic()
        home.sluice(*words)
        found = newcomer.seek(
            re.escape(home.topic), r"PAUSED +[01] ", "paused by .*: load test", since=began
        )
        print(f"paused: {found}\n{found.screen}")
        assert len(found.keys) <= KEYS_MAX
        home.sluice("stream", "resume-topic", home.topic, "--route", route)

    with home.console(100, 30) as terminal:
        newcomer = Newcomer(terminal)
        newcomer.until_calm()
        began = time.monotonic()
        home.regional.kill()
        found = newcomer.seek(
            re.escape(home.topic),
            r"[A-Z]+ +[01] .* [01] \S",
            rf"{home.name} regional(:| does not answer).*refused",
            since=began,
        )
        print(f"source stopped: {found}\n{found.screen}")
        assert len(found.keys) <= KEYS_MAX
