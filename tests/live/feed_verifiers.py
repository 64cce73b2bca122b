"""`sluice verify` of each region beside a drill, as operators run it: alerts, metrics, and a
forged intent."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families

from aggregator.intents.intent import Intent, encode
from aggregator.intents.intent_store import group_of
from aggregator.verifier.anomaly_board import AnomalyBoard
from aggregator.verifier.owners import judged_clusters
from balancer.topic_partition import TopicPartition
from deploy.lab.daemons import SLUICE
from deploy.lab.lab import Lab
from deploy.lab.process import Process, free_port
from deploy.lab.wait import until
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import load
from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.fenced_committer import FencedCommitter
from tests.live.feed_oracle import committed_intents
from tests.live.loop_thread import LoopThread

TABLE = "[aggregator]\n"
JUDGED_SECONDS = 120.0


@dataclass
class FeedVerifiers:
    """Daemons of all regions of a lab. None runs after the `with` block.

    Each has a configuration of its own, because its metrics have a port of their own.
    """

    lab: Lab
    _ports: dict[str, int] = field(default_factory=dict)
    _running: dict[str, Process] = field(default_factory=dict)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for name in [*self._running]:
            self.kill(name)

    def start_missing(self) -> None:
        """Starts the daemons that do not run; does not wait."""
        for name in self.lab.regions:
            running = self._running.get(name)
            if running is None or not running.is_running():
                self.start(name)

    def start(self, name: str) -> None:
        """Starts a daemon, also again with its history; does not wait."""
        text = self.lab.configuration.read_text()
        assert TABLE in text
        port = self._ports.setdefault(name, free_port())
        config = self.lab.directory / f"{name}-verify.toml"
        config.write_text(text.replace(TABLE, f"{TABLE}verifier_metrics_port = {port}\n"))
        self._running[name] = Process(
            f"sluice verify --region {name}",
            [str(SLUICE), "verify", "--config", str(config), "--region", name],
            self.lab.directory / f"{name}-verify.log",
        )

    def kill(self, name: str) -> None:
        self._running.pop(name).kill()

    def alerts(self, name: str) -> list[str]:
        """Returns the lines by which a region's daemon has reported anomalies, in all its runs."""
        lines = (self.lab.directory / f"{name}-verify.log").read_text().splitlines()
        return [line for line in lines if re.search("event=anomaly ", line)]

    def assert_silent(self, *names: str) -> None:
        """Waits until everything committed so far is judged, entries among it; nobody may have
        reported an anomaly.

        Args:
            names: regions; none: all.
        """
        now = time.time()
        for name in names or self.lab.regions:
            running = self._running[name]
            assert until(lambda name=name: self._has_judged(name, now), JUDGED_SECONDS), (
                running.failure("has not judged all")
            )
            assert running.is_running(), running.failure("has ended")
            assert sum(self._samples(name, "sluice_verify_entries_total").values()) > 0
            anomalies = self._samples(name, "sluice_verify_anomalies_total")
            assert anomalies and not any(anomalies.values()), (name, anomalies)
            assert not self.alerts(name)
            with AnomalyBoard(self.lab.regions[name].redis.url, name) as board:
                assert not board.recent()

    def _has_judged(self, name: str, at: float) -> bool:
        wanted = judged_clusters(load(self.lab.configuration), name)
        judged = self._samples(name, "sluice_verify_judged_timestamp_seconds")
        return all(judged.get(str(cluster), 0.0) >= at for cluster in wanted)

    def _samples(self, name: str, metric: str) -> dict[str, float]:
        """Returns a metric's sums by cluster; none while nobody serves it."""
        found: dict[str, float] = {}
        for cluster, value in self._scraped(name, metric):
            found[cluster] = found.get(cluster, 0.0) + value
        return found

    def _scraped(self, name: str, metric: str) -> Iterator[tuple[str, float]]:
        with (
            suppress(OSError),
            urlopen(f"http://127.0.0.1:{self._ports[name]}/metrics", timeout=10) as answer,
        ):
            for family in text_string_to_metric_families(answer.read().decode()):
                for sample in family.samples:
                    if sample.name == metric:
                        yield sample.labels["cluster"], sample.value


def forge_backward_intent(lab: Lab, region: str, feed: str, topic: str) -> int:
    """Commits, in a regional cluster, an intent of partition 0 whose blocks were all loaded long
    ago, as no loader does; returns its offset.

    The transactional id is no loader's, so that the loader is not fenced and goes on.
    """
    place, cluster = TopicPartition(topic, 0), ClusterName.regional(region)
    history = committed_intents(lab.regions[region].regional, feed)[place]
    old = next(intent for intent in history if _is_before(intent, history[-1]))
    groups = {group_of(feed, place): [(*place, *encode(old))]}
    loop = LoopThread()
    client = Cluster(cluster, load(lab.configuration).cluster(cluster))
    loop.wait(client.open([topic]))
    try:
        forger = loop.wait(FencedCommitter(client, "forger").open())
        loop.wait(forger.commit(groups, lambda *_: True))
    finally:
        loop.wait(client.close())
        loop.close()
    return old.offset


def _is_before(intent: Intent, last: Intent) -> bool:
    """Returns True if each block of an intent lies before where the last one goes on."""
    return bool(intent.blocks) and intent.replay_end <= last.offset
