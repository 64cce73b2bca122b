"""Daemons of each region of a lab: start, kill, check of the lag, and end."""

import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from deploy.lab.lab import Lab
from deploy.lab.process import Process
from replicator.config.topology import load
from tui.facts.watch.inventory import routes_inventory

SLUICE = Path(sys.executable).with_name("sluice")
END_SECONDS_MAX = 60.0
STATUS_SECONDS = 5.0

Command = Literal["replicate", "offsets", "balance", "aggregate"]
COMMANDS: tuple[Command, ...] = ("replicate", "offsets", "balance")


class Daemons:
    """Daemons of all regions. They may run inside the `with` block, and none runs after it.

    Their logs are `<region>-<command>.log` in the lab's directory; a restarted daemon appends to
    it.
    """

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._processes: dict[tuple[str, Command], Process] = {}

    def __enter__(self) -> "Daemons":
        return self

    def __exit__(self, *_: object) -> None:
        self._kill(list(self._processes))

    @property
    def logs(self) -> str:
        return ", ".join(str(process.log) for process in self._processes.values())

    def log(self, region: str, command: Command) -> Path:
        return self._lab.directory / f"{region}-{command}.log"

    def start(self, region: str, *commands: Command, arguments: Sequence[str] = ()) -> None:
        """Starts the region's daemons, by default `sluice replicate`; does not wait."""
        for command in commands or COMMANDS[:1]:
            configured = ("--config", str(self._lab.configuration), "--region", region)
            self._processes[region, command] = Process(
                f"sluice {command} --region {region}",
                [str(SLUICE), command, *configured, *arguments],
                self.log(region, command),
            )

    def start_missing(self, region: str, *commands: Command) -> None:
        """Starts those of these daemons that do not run; does not wait."""
        for command in commands:
            running = self._processes.get((region, command))
            if running is None or not running.is_running():
                self.start(region, command)

    def kill(self, region: str, *commands: Command) -> None:
        """Sends kill -9 to running daemons and all their children: nothing is drained or released.

        Default: all daemons of the region.
        """
        self._kill([(region, command) for command in commands or COMMANDS])

    def look_alive(self) -> None:
        """Raises NotStarted if a daemon has ended by itself."""
        for process in self._processes.values():
            if not process.is_running():
                raise process.failure("has ended")

    def end(self, *regions: str) -> float:
        """Sends SIGTERM to the daemons of these regions, or of all: they drain, release and end.

        Returns the seconds that this took. Raises NotStarted.
        """
        ending = {key: p for key, p in self._processes.items() if not regions or key[0] in regions}
        began_at = time.monotonic()
        for process in ending.values():
            process.terminate()
        for key, process in ending.items():
            try:
                status = process.wait(END_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                raise process.failure(f"does not end within {END_SECONDS_MAX:.0f} s") from None
            if status:
                raise process.failure(f"ended with status {status}")
            del self._processes[key]
        return time.monotonic() - began_at

    def lag_records(self) -> int | None:
        """Returns the lag of all routes together, as `sluice status --route` counts it for each.

        None if it is not known. An error that is no problem of a server is raised.

        Callers ask until there is none: in this process, because each new one takes a second of a
        core before it asks.
        """
        appliance = load(self._lab.configuration)
        inventory = routes_inventory(appliance, appliance.routes, STATUS_SECONDS)
        snapshot = inventory.snapshot(STATUS_SECONDS)
        topics = [topic for route in snapshot.routes for topic in route.topics or (None,)]
        lags = [topic.lag_records if topic else None for topic in topics]
        if snapshot.problems or None in lags:
            return None
        return sum(filter(None, lags))

    def _kill(self, keys: Iterable[tuple[str, Command]]) -> None:
        for key in keys:
            if key in self._processes:
                self._processes.pop(key).kill_family()
