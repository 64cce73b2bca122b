"""`sluice replicate` for each region of a lab: started, killed, asked how far it is, and ended."""

import json
import subprocess
import sys
import time
from pathlib import Path

from deploy.lab.lab import Lab
from deploy.lab.process import Process

SLUICE = Path(sys.executable).with_name("sluice")
END_SECONDS_MAX = 60.0
STATUS_SECONDS_MAX = 60.0


class Replicators:
    """The daemons of all regions; inside `with` they may run, behind it none of them does."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._processes: dict[str, Process] = {}

    def __enter__(self) -> "Replicators":
        return self

    def __exit__(self, *_: object) -> None:
        for region in list(self._processes):
            self.kill(region)

    @property
    def logs(self) -> str:
        return ", ".join(str(process.log) for process in self._processes.values())

    def start(self, region: str) -> None:
        """Starts the region's daemon; does not wait."""
        configured = ("--config", str(self._lab.configuration), "--region", region)
        self._processes[region] = Process(
            f"sluice replicate --region {region}",
            [str(SLUICE), "replicate", *configured],
            self._lab.directory / f"{region}-replicate.log",
        )

    def kill(self, region: str) -> None:
        """kill -9: nothing is drained, released or said."""
        self._processes.pop(region).kill()

    def look_alive(self) -> None:
        """Raises NotStarted when one has ended by itself."""
        for process in self._processes.values():
            if not process.is_running():
                raise process.failure("has ended")

    def end(self) -> float:
        """SIGTERM to all: they drain, release and end. Seconds it took; raises NotStarted."""
        began_at = time.monotonic()
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            try:
                status = process.wait(END_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                raise process.failure(f"does not end within {END_SECONDS_MAX:.0f} s") from None
            if status:
                raise process.failure(f"ended with status {status}")
        self._processes.clear()
        return time.monotonic() - began_at

    def lag_records(self) -> int | None:
        """What `sluice status` says is still to be mirrored on all routes; None = not known."""
        asked = subprocess.run(
            [SLUICE, "status", "--config", self._lab.configuration, "-o", "json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=STATUS_SECONDS_MAX,
            check=False,
        )
        if asked.returncode:
            return None
        lag = 0
        for route in json.loads(asked.stdout)["routes"]:
            for topic in route["topics"] or [{"lag_records": None}]:
                if topic["lag_records"] is None:
                    return None
                lag += topic["lag_records"]
        return lag
