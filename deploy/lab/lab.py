"""Two regions on this machine, each with a regional cluster, an aggregate cluster and a Redis."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from deploy.lab.kafka import CHECKOUT, KafkaCluster
from deploy.lab.process import Identity, Process, end
from deploy.lab.redis import RedisServer

RUN = CHECKOUT / ".lab" / "run"
REGIONS = ("west", "east")
# Enough for four brokers that start at once on a busy machine.
READY_SECONDS_MAX = 180.0


class AlreadyUp(Exception):
    """A lab is running in this directory: use it, or take it down first (make lab-down)."""


@dataclass(frozen=True, slots=True)
class LabRegion:
    """Servers of one region."""

    name: str
    regional: KafkaCluster
    aggregate: KafkaCluster
    redis: RedisServer

    def servers(self) -> tuple[KafkaCluster | RedisServer, ...]:
        return self.regional, self.aggregate, self.redis

    def start(self) -> None:
        """Starts the servers that do not run, with their data; does not wait."""
        for server in self.servers():
            if not any(process.is_running() for process in _processes_of(server)):
                server.start()

    def wait_ready(self) -> None:
        """Waits for all servers. Raises NotStarted."""
        for server in self.servers():
            server.wait_ready(READY_SECONDS_MAX)

    def kill(self) -> None:
        """Sends kill -9 to all servers at once; their data stays for start()."""
        self.regional.kill_all()
        self.aggregate.kill_all()
        self.redis.kill()

    def processes(self) -> list[Process]:
        """Returns the processes that were started."""
        return [process for server in self.servers() for process in _processes_of(server)]


def _processes_of(server: KafkaCluster | RedisServer) -> list[Process]:
    if isinstance(server, RedisServer):
        return server.processes
    return list(server.processes.values())


class Lab:
    """The regions west and east, in one directory with their configuration and state.

    As a context manager the lab is up inside the block. Its servers end with the thread that
    started them. A detached lab stays up until take_down().

    Args:
        settings: TOML at the beginning of the configuration, before the regions.
        properties: of every broker; they override the lab's own.
    """

    def __init__(
        self,
        directory: Path = RUN,
        *,
        detached: bool = False,
        settings: str = "",
        properties: Mapping[str, object] | None = None,
    ) -> None:
        self.directory = directory
        self.configuration = directory / "appliance.toml"
        self.regions = {name: _region(name, directory, detached, properties) for name in REGIONS}
        self._settings = settings

    def __enter__(self) -> "Lab":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Starts four clusters from an empty directory, and waits for them. Raises AlreadyUp,
        NotStarted."""
        if running(self.directory):
            raise AlreadyUp(f"{AlreadyUp.__doc__} ({self.directory})")
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        try:
            for region in self.regions.values():
                region.start()
            # Written before the servers are ready, so that an interrupted start can be taken down.
            self._write_state()
            for region in self.regions.values():
                region.wait_ready()
        except BaseException:
            self.stop()
            raise
        self.configuration.write_text(f"{self._settings}\n{appliance_toml(self.regions)}")

    def stop(self) -> None:
        """Ends the servers that this object started."""
        processes = self._processes()
        for process in processes:
            process.terminate()
        for process in processes:
            process.stop()
        _state_file(self.directory).unlink(missing_ok=True)

    def _processes(self) -> list[Process]:
        return [process for region in self.regions.values() for process in region.processes()]

    def _write_state(self) -> None:
        state = {"processes": [asdict(process.identity()) for process in self._processes()]}
        _state_file(self.directory).write_text(json.dumps(state, indent=2) + "\n")


def running(directory: Path = RUN) -> list[Identity]:
    """Returns the servers of the lab in this directory that run now."""
    file = _state_file(directory)
    if not file.exists():
        return []
    processes = [Identity(**entry) for entry in json.loads(file.read_text())["processes"]]
    return [process for process in processes if process.is_running()]


def take_down(directory: Path = RUN) -> int:
    """Ends exactly the servers that state.json names. Returns their number."""
    processes = running(directory)
    end(processes)
    _state_file(directory).unlink(missing_ok=True)
    return len(processes)


def appliance_toml(regions: Mapping[str, LabRegion]) -> str:
    """Returns the configuration of the appliance for these regions."""
    tables = []
    for name, region in regions.items():
        tables += [
            f"[regions.{name}]\nredis = {json.dumps(region.redis.url)}\n",
            _cluster_toml(f"regions.{name}.regional", region.regional),
            _cluster_toml(f"regions.{name}.aggregate", region.aggregate),
        ]
    return "\n".join(tables)


def _cluster_toml(path: str, cluster: KafkaCluster) -> str:
    # JSON and TOML write strings and lists of strings alike.
    lines = [f"[{path}]"]
    for key, value in cluster.topology_table().items():
        if isinstance(value, dict):
            inner = ", ".join(f"{k} = {json.dumps(v)}" for k, v in value.items())
            lines.append(f"{key} = {{ {inner} }}")
        else:
            lines.append(f"{key} = {json.dumps(value)}")
    return "\n".join(lines) + "\n"


def _region(
    name: str, directory: Path, detached: bool, properties: Mapping[str, object] | None
) -> LabRegion:
    def cluster(role: str) -> KafkaCluster:
        return KafkaCluster(f"{name}-{role}", directory, properties=properties, detached=detached)

    return LabRegion(
        name,
        cluster("regional"),
        cluster("aggregate"),
        RedisServer(directory, name=f"{name}-redis", detached=detached),
    )


def _state_file(directory: Path) -> Path:
    return directory / "state.json"
