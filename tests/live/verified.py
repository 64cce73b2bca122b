"""Entries that a test commits, and `sluice verify` of their region as operators run it."""

from __future__ import annotations

import io
import json
import re
import sys
import uuid
from collections.abc import Mapping
from contextlib import closing, redirect_stderr, redirect_stdout, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Self
from urllib.request import urlopen

from confluent_kafka.admin import NewTopic

from aggregator.intents import intent_store
from aggregator.intents.intent import Intent
from aggregator.intents.intent import encode as encode_intent
from balancer.topic_partition import TopicPartition
from deploy.lab.kafka import KafkaCluster
from deploy.lab.process import Process, free_port
from deploy.lab.redis import RedisServer
from replicator.config import topology
from replicator.config.cluster_name import ClusterName
from replicator.config.names import loader_id
from replicator.config.topology import Route
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.fenced_committer import FencedCommitter, OffsetRows
from replicator.mirror.ledger import ledger
from replicator.mirror.ledger.entry import Entry
from replicator.mirror.ledger.entry import encode as encode_entry
from tests.live.loop_thread import LoopThread
from tui.program import run

SLUICE = Path(sys.executable).with_name("sluice")
PATIENCE_SECONDS = 60.0


class GivenUp(Exception):
    """A transaction that is not to be committed."""


class Verified:
    """A feed and a route of a region with unique names, in one cluster: the region's aggregate.

    Args:
        settings: further lines of the configuration's [aggregator] table.
        feed_settings: further lines of the feed's table.
    """

    def __init__(
        self,
        directory: Path,
        cluster: KafkaCluster,
        redis: RedisServer,
        *,
        partitions: int,
        settings: str = "",
        feed_settings: str = "",
    ) -> None:
        unique = uuid.uuid4().hex[:8]
        self.region, self.feed = f"east-{unique}", f"feed-{unique}"
        self.route = Route("west", self.region)
        self.topic = f"verified-{unique}"
        self.redis, self.directory = redis, directory
        self.metrics_port = free_port()
        self.config = directory / f"{self.region}.toml"
        self.config.write_text(
            f"""
routes = ["west>{self.region}"]
[regions.{self.region}]
redis = "{redis.url}"
regional.bootstrap = ["127.0.0.1:1"]
aggregate.bootstrap = {json.dumps(cluster.bootstrap.split(","))}
[regions.west]
redis = "redis://127.0.0.1:2"
regional.bootstrap = ["127.0.0.1:3"]
aggregate.bootstrap = ["127.0.0.1:4"]
[aggregator]
verifier_metrics_port = {self.metrics_port}
{settings}
[feeds.{self.feed}]
region = "{self.region}"
clusters = ["{self.region} aggregate"]
{feed_settings}
[[feeds.{self.feed}.shards]]
topics = ["{self.topic}"]
replicas = ["clickhouse://127.0.0.1:5"]
"""
        )
        cluster.create_topics(NewTopic(self.topic, partitions))
        self._loop = LoopThread()
        self._daemons: list[Process] = []
        table = topology.KafkaCluster.model_validate(cluster.topology_table())
        self.cluster = Cluster(ClusterName.aggregate(self.region), table)
        self._loop.wait(self.cluster.open([self.topic]))
        self.producer = self.opened(loader_id(self.feed, 0))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for daemon in self._daemons:
            daemon.kill()
        self._loop.wait(self.cluster.close())
        self._loop.close()

    # -- commits

    def opened(self, transactional_id: str) -> FencedCommitter:
        """Returns a committer under the next epoch of an id."""
        return self._loop.wait(FencedCommitter(self.cluster, transactional_id).open())

    def commit(self, entries: Mapping[int, Intent | Entry | tuple[int, str]]) -> None:
        """Commits an entry for each partition, all in one transaction.

        A pair is a committed offset of the feed, with any metadata.
        """
        self._loop.wait(self.producer.commit(self._groups(entries), lambda *_: True))

    def abort(self, entries: Mapping[int, Intent | Entry | tuple[int, str]]) -> None:
        """Writes entries in a transaction, and aborts it."""
        groups = self._groups(entries)

        async def give_up(_: object) -> None:
            raise GivenUp

        async def abort() -> None:
            with suppress(GivenUp):
                await self.producer.commit(groups, lambda *_: True, give_up)
            # To open the id aborts the transaction that its holder left open.
            await self.producer.open()

        self._loop.wait(abort())

    def _groups(
        self, entries: Mapping[int, Intent | Entry | tuple[int, str]]
    ) -> Mapping[str, OffsetRows]:
        groups: dict[str, list[Any]] = {}
        for number, entry in entries.items():
            place = TopicPartition(self.topic, number)
            if isinstance(entry, Entry):
                group, row = ledger.group_of(self.route, place), encode_entry(entry)
            else:
                group = intent_store.group_of(self.feed, place)
                row = encode_intent(entry) if isinstance(entry, Intent) else entry
            groups.setdefault(group, []).append((*place, *row))
        return dict(groups)

    def by(self, entry: Any, **fields: Any) -> Any:
        """Returns an entry as held by this test's producer."""
        producer = self.producer
        return replace(
            entry,
            **{
                "producer_id": producer.producer_id,
                "epoch": producer.epoch,
                "transactional_id": producer.transactional_id,
                **fields,
            },
        )

    # -- the command

    def check(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        """Returns the exit code of `sluice verify check`, and what it found."""
        configured = ["--config", str(self.config), "--region", self.region, "-o", "json"]
        out = io.StringIO()
        with redirect_stdout(out), redirect_stderr(io.StringIO()) as said:
            code = run(["verify", "check", *configured, *arguments])
        assert out.getvalue(), said.getvalue()
        return code, json.loads(out.getvalue())

    def kinds(self, found: Mapping[str, Any]) -> dict[int, list[tuple[str, str]]]:
        """Returns kind and weight of each finding of a check, by partition."""
        kinds: dict[int, list[tuple[str, str]]] = {}
        for judgement in found["findings"]:
            kinds.setdefault(judgement["partition"], []).extend(
                (each["kind"], each["weight"]) for each in judgement["findings"]
            )
        return kinds

    # -- the daemon

    def start(self) -> Process:
        """Starts a daemon without waiting."""
        command = [str(SLUICE), "verify", "--config", str(self.config), "--region", self.region]
        log = self.directory / f"verify-{len(self._daemons)}.log"
        daemon = Process("sluice verify", command, log)
        self._daemons.append(daemon)
        return daemon

    def events(self, daemon: Process, *names: str) -> list[str]:
        """Returns the logged lines of these events."""
        lines = daemon.log.read_text().splitlines()
        return [line for line in lines if re.search(rf"event=({'|'.join(names)}) ", line)]

    def metrics(self) -> dict[str, float]:
        """Returns the metric samples by name with labels; none while nobody serves them."""
        try:
            with closing(
                urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=10)
            ) as answer:
                lines = answer.read().decode().splitlines()
        except OSError:
            return {}
        samples = [line.rpartition(" ") for line in lines if not line.startswith("#")]
        return {name: float(value) for name, _, value in samples}

    def metric(self, name: str, **labels: str) -> float | None:
        """Returns the sum of the samples of this cluster's metric; None without any."""
        wanted = {"cluster": f"{self.region} aggregate", **labels}
        found = [
            value
            for sample, value in self.metrics().items()
            if sample.startswith(f"{name}{{")
            and all(f'{key}="{text}"' in sample for key, text in wanted.items())
        ]
        return sum(found) if found else None
