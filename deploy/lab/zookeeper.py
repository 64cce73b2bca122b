"""ZooKeeper server of the lab, which the replicas of a ClickHouse shard need."""

import os
import signal
import socket
from contextlib import suppress
from pathlib import Path
from typing import Self

from deploy.lab.process import NotStarted, Process, free_port
from deploy.lab.wait import until

# Debian's jar names the jars that it needs by itself, except the one that writes the log.
JARS = tuple(Path("/usr/share/java", f"{name}.jar") for name in ("zookeeper", "slf4j-simple"))
MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
TICK_MS = 500
HEAP_MIB = 128


class ZooKeeperServer:
    """A ZooKeeper of one node on a free port of 127.0.0.1. Its data stays after it ends.

    Clients may ask for sessions of 1 to 60 s.
    """

    def __init__(self, directory: Path, *, name: str = "zookeeper") -> None:
        self.name = name
        self.directory = directory / name
        self.port = free_port()
        self._process: Process | None = None

    @property
    def is_started(self) -> bool:
        """True once it was started, even if it has ended since."""
        return self._process is not None

    @property
    def process(self) -> Process:
        if self._process is None:
            raise RuntimeError(f"{self.name}: start() it first")
        return self._process

    def __enter__(self) -> Self:
        self.start()
        try:
            self.wait_ready()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Starts the server, also again with its data after stop() or kill(); does not wait.

        Raises NotStarted without the package."""
        if missing := [str(jar) for jar in JARS if not jar.exists()]:
            raise NotStarted(f"no {', '.join(missing)}: run deploy/setup.sh first")
        self.directory.mkdir(parents=True, exist_ok=True)
        settings = self.directory / "zoo.cfg"
        settings.write_text(self._settings())
        self._process = Process(
            self.name,
            [*_java(), "-cp", ":".join(map(str, JARS)), MAIN, str(settings)],
            self.directory / "zookeeper.log",
        )

    def wait_ready(self, timeout_seconds: float = 30.0) -> None:
        """Waits until the server says that it serves requests. Raises NotStarted."""

        def serves() -> bool:
            if not self.process.is_running():
                raise self.process.failure("has ended")
            return self._asked("srvr").startswith("Zookeeper version")

        if not until(serves, timeout_seconds):
            raise self.process.failure(f"does not serve after {timeout_seconds} s")

    def stop(self) -> None:
        self.process.stop()

    def kill(self) -> None:
        self.process.kill()

    def pause(self) -> None:
        """Sends SIGSTOP: connections stay open, and the server does not answer."""
        self.process.send(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send(signal.SIGCONT)

    def _asked(self, word: str) -> str:
        """Returns the answer to a four letter word, or an empty text if there is none."""
        answer = b""
        with (
            suppress(OSError),
            socket.create_connection(("127.0.0.1", self.port), 1.0) as connection,
        ):
            connection.sendall(word.encode())
            while part := connection.recv(4096):
                answer += part
        return answer.decode()

    def _settings(self) -> str:
        settings = {
            "tickTime": TICK_MS,
            "minSessionTimeout": 1000,
            "maxSessionTimeout": 60_000,
            "dataDir": self.directory / "data",
            "clientPort": self.port,
            "clientPortAddress": "127.0.0.1",
            "maxClientCnxns": 0,
            "4lw.commands.whitelist": "srvr",
            "autopurge.purgeInterval": 0,
        }
        return "".join(f"{key}={value}\n" for key, value in settings.items())


def _java() -> list[str]:
    home = os.environ.get("JAVA_HOME")
    options = {
        "zookeeper.admin.enableServer": "false",
        "zookeeper.jmx.log4j.disable": "true",
        # A killed process loses nothing that it has written, and no test cuts the power.
        "zookeeper.forceSync": "no",
        "zookeeper.preAllocSize": "1024",  # KiB
        "org.slf4j.simpleLogger.defaultLogLevel": "warn",
        "org.slf4j.simpleLogger.showDateTime": "true",
    }
    return [
        str(Path(home) / "bin" / "java") if home else "java",
        f"-Xmx{HEAP_MIB}m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        *(f"-D{key}={value}" for key, value in options.items()),
    ]
