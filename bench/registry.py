"""Schema registry of the bench: the answers of Confluent's interface as files of a web server."""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

from deploy.lab.process import Process, free_port
from deploy.lab.wait import until

READY_SECONDS = 20.0


class Registry:
    """Serves one schema by its id.

    Args:
        directory: for its files and its log.
    """

    def __init__(self, directory: Path, schema_id: int, schema: dict[str, Any]) -> None:
        self._directory = directory
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self._path = f"schemas/ids/{schema_id}"
        self._answer = json.dumps({"schema": json.dumps(schema)})
        self._process: Process | None = None

    def start(self) -> None:
        """Starts the server, and waits until it answers. Raises NotStarted."""
        files = self._directory / "registry"
        (files / self._path).parent.mkdir(parents=True)
        (files / self._path).write_text(self._answer)
        process = self._process = Process(
            "schema registry",
            [
                *(sys.executable, "-m", "http.server", str(self._port)),
                *("--bind", "127.0.0.1", "--directory", os.fspath(files)),
            ],
            self._directory / "registry.log",
        )
        if not until(self._answers, READY_SECONDS):
            raise process.failure("does not answer")

    def _answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0

    def stop(self) -> None:
        if self._process:
            self._process.kill()
