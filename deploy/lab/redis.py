"""Redis server of the lab."""

import shutil
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError

from deploy.lab.process import Process, free_port
from deploy.lab.wait import until


class RedisServer:
    """A redis-server on a free port of 127.0.0.1, with an append-only file that outlives it."""

    def __init__(self, directory: Path, *, name: str = "redis", detached: bool = False) -> None:
        self.name = name
        self.directory = directory / name
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._detached = detached
        self._process: Process | None = None

    @property
    def processes(self) -> list[Process]:
        """The server's process, once it was started."""
        return [self._process] if self._process else []

    @property
    def process(self) -> Process:
        if self._process is None:
            raise RuntimeError(f"{self.name}: start() it first")
        return self._process

    def start(self) -> None:
        """Starts the server, also again with its data after stop() or kill(); does not wait."""
        self.directory.mkdir(parents=True, exist_ok=True)
        options = {
            "port": str(self.port),
            "bind": "127.0.0.1",
            "dir": str(self.directory),
            "save": "",
            "appendonly": "yes",
            "appendfsync": "everysec",
        }
        arguments = [part for key, value in options.items() for part in (f"--{key}", value)]
        self._process = Process(
            self.name,
            ["redis-server", *arguments],
            self.directory / "redis.log",
            detached=self._detached,
        )

    def wait_ready(self, timeout_seconds: float = 20.0) -> None:
        """Waits until the server answers a ping. Raises NotStarted."""

        def answers() -> bool:
            if not self.process.is_running():
                raise self.process.failure("has ended")
            try:
                with Redis.from_url(self.url, socket_timeout=1.0) as client:
                    return bool(client.ping())
            except RedisError:
                return False

        if not until(answers, timeout_seconds):
            raise self.process.failure(f"does not answer after {timeout_seconds} s")

    def lose_data(self) -> None:
        """Deletes the data after stop() or kill(), so that the server returns empty, as one without
        a disk."""
        shutil.rmtree(self.directory / "appendonlydir", ignore_errors=True)

    def stop(self) -> None:
        self.process.stop()

    def kill(self) -> None:
        self.process.kill()
