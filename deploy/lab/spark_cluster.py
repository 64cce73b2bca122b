"""Standalone Spark of the lab: a master, and workers with task slots of their own."""

import json
import os
import re
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.error import URLError
from urllib.request import urlopen

import pyspark

from deploy.lab.process import Process, free_port
from deploy.lab.wait import until

HOME = Path(pyspark.__file__).parent
START_SECONDS_MAX = 60.0
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
EPOCH = re.compile(r"(?P<at>\S+) .*event=epoch route=\S+ carrier=(?P<carrier>\d+) ")


class SparkCluster:
    """Spark master and workers that run inside the `with` block.

    Args:
        workers: number of cores of each worker.
    """

    def __init__(self, directory: Path, workers: Sequence[int]) -> None:
        self.directory = directory
        self._workers = workers
        self._secret_file = directory / "secret"
        self._port, self._web_port = free_port(), free_port()
        self._processes: list[Process] = []

    @property
    def url(self) -> str:
        return f"spark://127.0.0.1:{self._port}"

    @property
    def authentication(self) -> tuple[str, ...]:
        """Settings with which a driver can connect to this cluster."""
        return (f"spark.authenticate.secret.file={self._secret_file}",)

    @property
    def dynamic_allocation(self) -> tuple[str, ...]:
        """Settings of a driver that gets an executor for each task, up to all task slots."""
        return (
            "spark.dynamicAllocation.enabled=true",
            "spark.dynamicAllocation.shuffleTracking.enabled=true",
            "spark.dynamicAllocation.minExecutors=1",
            f"spark.dynamicAllocation.maxExecutors={sum(self._workers)}",
            "spark.dynamicAllocation.schedulerBacklogTimeout=1s",
            "spark.dynamicAllocation.sustainedSchedulerBacklogTimeout=1s",
            "spark.executor.cores=1",
            "spark.driver.host=127.0.0.1",
            "spark.driver.bindAddress=127.0.0.1",
        )

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for process in reversed(self._processes):
            process.kill_family()

    def executors(self) -> dict[int, int]:
        """Maps each worker, by its index, to the number of task slots that executors use there
        now."""
        ids = [self._worker_id(number) for number in range(len(self._workers))]
        used = {each["id"]: int(each["coresused"]) for each in self._state()["workers"]}
        return {number: used.get(name, 0) for number, name in enumerate(ids)}

    def carriers(self) -> list[set[int]]:
        """Returns, for each worker, the carriers of one route whose last epoch began there."""
        last: dict[int, tuple[str, int]] = {}
        for worker in range(len(self._workers)):
            for log in self._folder(worker).glob("app-*/*/stderr"):
                for line in log.read_text(errors="replace").splitlines():
                    if match := EPOCH.match(line):
                        carrier = int(match["carrier"])
                        last[carrier] = max(last.get(carrier, ("", -1)), (match["at"], worker))
        found: list[set[int]] = [set() for _ in self._workers]
        for carrier, (_, worker) in last.items():
            found[worker].add(carrier)
        return found

    def _start(self) -> None:
        listen = ["--host", "127.0.0.1", "--properties-file", str(self._make_secret())]
        ports = ["--port", str(self._port), "--webui-port", str(self._web_port)]
        self._launch("spark-master", [MASTER, *listen, *ports])
        self._wait(0)
        for number, cores in enumerate(self._workers):
            given = ["--cores", str(cores), "--memory", "4g", "--webui-port", str(free_port())]
            folder = self._folder(number)
            folder.mkdir(parents=True)
            placed = ["--work-dir", str(folder), self.url]
            self._launch(f"spark-worker-{number}", [WORKER, *listen, *given, *placed])
            self._wait(number + 1)

    def _make_secret(self) -> Path:
        """Creates the secret and the properties file that master and workers share, readable by us
        only."""
        self.directory.mkdir(parents=True, exist_ok=True)
        secret = secrets.token_hex(32)
        properties = self.directory / "cluster.properties"
        for file in (self._secret_file, properties):
            file.touch(mode=0o600)
        self._secret_file.write_text(secret)
        properties.write_text(f"spark.authenticate true\nspark.authenticate.secret {secret}\n")
        return properties

    def _launch(self, name: str, arguments: Sequence[str]) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        environment = {
            **os.environ,
            "SPARK_HOME": str(HOME),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            "PYSPARK_PYTHON": sys.executable,
        }
        command = [str(HOME / "bin" / "spark-class"), *arguments]
        log = self.directory / f"{name}.log"
        self._processes.append(Process(name, command, log, environment=environment))

    def _wait(self, workers: int) -> None:
        """Waits until this number of workers is registered."""
        process = self._processes[-1]

        def is_up() -> bool:
            if not process.is_running():
                raise process.failure("has ended")
            try:
                return len(self._state()["workers"]) == workers
            except (URLError, OSError, ValueError):
                return False

        if not until(is_up, START_SECONDS_MAX, 0.2):
            raise process.failure(f"is not up after {START_SECONDS_MAX:.0f} s")

    def _state(self) -> Any:
        with urlopen(f"http://127.0.0.1:{self._web_port}/json/", timeout=5) as answer:
            return json.loads(answer.read())

    def _worker_id(self, number: int) -> str:
        """Returns the master's id of a worker, or "" if not all workers with its core count are
        registered.

        A worker shows its id only in its log, so ids are matched by core count and sort order.
        """
        cores = self._workers[number]
        same = [at for at, each in enumerate(self._workers) if each == cores]
        states = [each for each in self._state()["workers"] if each["cores"] == cores]
        ids = sorted(str(each["id"]) for each in states)
        return ids[same.index(number)] if len(ids) == len(same) else ""

    def _folder(self, worker: int) -> Path:
        return self.directory / f"worker-{worker}"
