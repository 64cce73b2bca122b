"""`sluice balance` as operators run it: a process of its own, next to a region's driver."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from deploy.lab.process import Process
from deploy.lab.wait import until
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance, load
from replicator.orders.active_plan import ActivePlan
from replicator.orders.balance_log import BalanceLog
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import DEFAULT_STREAM, Placed
from replicator.orders.round_status import RoundStatus
from replicator.orders.status_board import StatusBoard
from tests.live.replicate_daemon import Region

SLUICE = Path(sys.executable).with_name("sluice")
HEAR_SECONDS = 60.0
END_SECONDS_MAX = 20.0
QUICK = """
[balance]
capacity_mib_per_second = 0.1
carriers_max = 4
sample_seconds = 1.0
round_seconds = 2.0
patience_rounds = 2
calm_rounds = 3
cool_down_seconds = 0.0
lag_patience_seconds = 600.0
"""
"""Settings of a carrier planned for 70 KiB a second, and of rounds short enough for tests."""


class Balancers:
    """Balancers of one region, and the records that they have written."""

    def __init__(self, region: Region) -> None:
        self.region = region
        self.route_key = f"west.{region.name}"
        self._daemons: list[Process] = []

    def start(self) -> Process:
        """Starts a balancer without waiting for it."""
        number = len(self._daemons)
        config = str(self.region.directory / "appliance.toml")
        command = [str(SLUICE), "balance", "--config", config, "--region", self.region.name]
        log = self.region.directory / f"balance-{number}.log"
        daemon = Process("sluice balance", command, log)
        self._daemons.append(daemon)
        return daemon

    def shown(self, what: Literal["plan", "partitions"]) -> dict[str, Any]:
        """Returns the output of `sluice balance plan` or `partitions` for the default stream."""
        config = str(self.region.directory / "appliance.toml")
        command = [str(SLUICE), "balance", what, "--config", config, "--region", self.region.name]
        done = subprocess.run([*command, "-o", "json"], capture_output=True, text=True, check=True)
        (stream,) = json.loads(done.stdout)["streams"]
        assert isinstance(stream, dict)
        return stream

    def hear(self, daemon: Process, pattern: str, seconds: float = HEAR_SECONDS) -> re.Match[str]:
        """Waits until the log matches the pattern; fails with the log's path on timeout."""
        found = lambda: re.search(pattern, daemon.log.read_text())  # noqa: E731
        assert until(found, seconds), f"not said: {pattern}, see {daemon.log}"
        match = found()
        assert match
        return match

    @property
    def appliance(self) -> Appliance:
        return load(self.region.directory / "appliance.toml")

    @property
    def log(self) -> BalanceLog:
        settings = self.appliance.region(self.region.name)
        return BalanceLog(ClusterName.aggregate(self.region.name), settings.aggregate)

    def order_log(self) -> OrderLog:
        return self.log.read()

    def placed(self, stream: str = DEFAULT_STREAM) -> Placed | None:
        return self.order_log().placed(self.route_key, stream)

    def until_placed(self, generation: int, seconds: float = HEAR_SECONDS) -> Placed:
        """Returns the placement once its generation is `generation` or later."""

        def is_placed() -> bool:
            placed = self.placed()
            return placed is not None and placed.generation >= generation

        assert until(is_placed, seconds, 0.3), f"not placed: generation {generation}"
        placed = self.placed()
        assert placed
        return placed

    def active_plan(self) -> ActivePlan | None:
        url = self.appliance.region(self.region.name).redis_url()
        return StatusBoard(url, self.region.name).plan()

    def until_followed(self, generation: int, seconds: float = HEAR_SECONDS) -> ActivePlan:
        """Waits until the active plan has this generation or a later one."""

        def is_followed() -> bool:
            shown = self.active_plan()
            return bool(shown and any(number >= generation for *_, number in shown.generations))

        assert until(is_followed, seconds, 0.1), f"not followed: generation {generation}"
        shown = self.active_plan()
        assert shown
        return shown

    def status(self, stream: str = DEFAULT_STREAM) -> RoundStatus | None:
        url = self.appliance.region(self.region.name).redis_url()
        rounds = StatusBoard(url, self.region.name).rounds()
        return next((each for each in rounds if each.stream == stream), None)

    def close(self) -> None:
        for daemon in self._daemons:
            daemon.kill()


@pytest.fixture
def balancers(region: Region) -> Iterator[Balancers]:
    region.more_settings = QUICK
    found = Balancers(region)
    try:
        yield found
    finally:
        found.close()
