"""Daemon `sluice verify` of one region: judges each committed entry as it comes.

It writes nothing to Kafka and holds nothing. A second daemon of the region, or one that is killed
at any point, does no harm: at most it reports something once more.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from prometheus_client import CollectorRegistry
from typing_extensions import override

from aggregator.verifier.anomaly_board import AnomalyBoard
from aggregator.verifier.cluster_judge import ClusterJudge
from aggregator.verifier.commit_reader import CommitReader, group_commits
from aggregator.verifier.finding_log import FindingLog
from aggregator.verifier.history_file import HistoryFile
from aggregator.verifier.metrics import VerifierCollector
from aggregator.verifier.owners import judged_clusters
from aggregator.verifier.topic_probe import TopicProbe
from replicator.config.topology import Appliance, load
from replicator.kafka.admin.admin import Admin
from replicator.notices.notice_writer import notices
from replicator.notices.own_card import own_card
from replicator.runtime.daemon import Work, failure, run_until_stopped
from replicator.runtime.exit_codes import Exit
from replicator.runtime.logs import log_to_stderr
from replicator.runtime.metrics_server import MetricsServer
from replicator.runtime.private_files import FolderShared

logger = logging.getLogger(__name__)

END_SECONDS_MAX = 5.0


def run(config: str | Path, region: str) -> int:
    """Runs the daemon of a region until it is signalled to stop; returns the exit code.

    Raises ConfigMistakes, UnknownRegion, NothingJudged, and nothing else that is foreseen. Servers
    that are away are waited for.
    """
    log_to_stderr()
    appliance = load(config)
    daemon = daemon_of(appliance, region)
    card = own_card("verify", region, f"judges {', '.join(judged_clusters(appliance, region))}")
    with notices(appliance.region(region), f"verify {region}", card=card):
        exit_code = asyncio.run(run_until_stopped(daemon, region))
    if daemon.is_cut_off:
        logging.shutdown()
        os._exit(exit_code)
    return exit_code


def daemon_of(appliance: Appliance, region: str) -> Daemon:
    """Returns the daemon of a region with all its parts; servers may be away."""
    settings = appliance.aggregator
    finding_log = FindingLog(AnomalyBoard(appliance.region(region).redis_url(), region))
    readers = []
    for name, owners in judged_clusters(appliance, region).items():
        cluster = appliance.cluster(name)
        judge = ClusterJudge(
            name,
            owners,
            int(settings.skew_seconds * 1000),
            is_gone=TopicProbe(Admin(name, cluster)).is_gone,
        )
        readers.append(
            CommitReader(
                judge,
                group_commits(judge, cluster),
                stale_seconds=settings.stale_seconds,
                file=HistoryFile(appliance.replicator.state_dir, region, name),
                finding_log=finding_log,
            )
        )
    registry = CollectorRegistry()
    registry.register(VerifierCollector(readers, finding_log))
    port, address = settings.verifier_metrics_port, appliance.metrics.address
    return Daemon(region, readers, finding_log, MetricsServer(port, address, registry))


class Part(Protocol):
    """Part of the daemon that runs in a thread."""

    @property
    def name(self) -> str: ...

    def run(self) -> None: ...

    def stop(self) -> None: ...


class Daemon(Work):
    """Everything that runs for one region.

    Args:
        readers: of all clusters that are judged; each runs in a thread of its own.
        metrics: served while the daemon runs.
    """

    def __init__(
        self,
        region: str,
        readers: Sequence[CommitReader],
        finding_log: FindingLog,
        metrics: MetricsServer,
    ) -> None:
        self._region = region
        self._readers = readers
        self._finding_log = finding_log
        self._metrics = metrics
        self._threads: list[threading.Thread] = []

    @override
    async def run(self) -> None:
        for reader in self._readers:
            reader.restore()
        logger.info("event=starting region=%s clusters=%d", self._region, len(self._readers))
        self._metrics.start()
        # The log of findings ends last: what the readers find until then still goes out.
        parts: list[Part] = [*self._readers, self._finding_log]
        for part in parts:
            self._start(part)
        await asyncio.Event().wait()

    @override
    async def verdict(self, error: BaseException, stop: asyncio.Event) -> Exit:
        return failure(error, {FolderShared: Exit.MISCONFIGURED, OSError: Exit.FAILED})

    @override
    async def wind_down(self, exit_code: Exit) -> None:
        """Ends all parts. Those that do not end within END_SECONDS_MAX are left to run."""
        end_at = time.monotonic() + END_SECONDS_MAX
        for reader in self._readers:
            reader.stop()
        for thread in self._threads[:-1]:
            thread.join(max(0.0, end_at - time.monotonic()))
        self._finding_log.stop()
        for thread in self._threads[-1:]:
            thread.join(max(0.0, end_at - time.monotonic()))
        self._metrics.stop()
        if left := [thread.name for thread in self._threads if thread.is_alive()]:
            logger.warning("event=cut-off %s", ", ".join(left))

    @property
    def is_cut_off(self) -> bool:
        """True once the daemon has ended although some of its parts run on."""
        return any(thread.is_alive() for thread in self._threads)

    def _start(self, part: Part) -> None:
        thread = threading.Thread(target=part.run, name=part.name, daemon=True)
        thread.start()
        self._threads.append(thread)
