"""Object server of the lab: versitygw, whose objects are plain files in a directory."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

from deploy.lab.process import Process, free_port
from deploy.lab.wait import until

PROGRAM = Path(__file__).parents[2] / ".lab" / "versitygw" / "versitygw"
ACCESS_KEY, SECRET_KEY = "lab", "lab-secret"


class ObjectServer:
    """A versitygw on a free port of 127.0.0.1, with objects that outlive it.

    Args:
        has_users: it knows users beside its root, which `add_user` adds.
    """

    def __init__(
        self,
        directory: Path,
        *,
        name: str = "versitygw",
        detached: bool = False,
        has_users: bool = False,
    ) -> None:
        self.name = name
        self._has_users = has_users
        self.directory = directory / name
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._detached = detached
        self._process: Process | None = None

    @property
    def objects(self) -> Path:
        """Directory whose folders are the buckets."""
        return self.directory / "objects"

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
        self.objects.mkdir(parents=True, exist_ok=True)
        self._process = Process(
            self.name,
            [
                str(PROGRAM),
                "--port",
                f"127.0.0.1:{self.port}",
                *self._users(),
                "posix",
                *self._sidecar(),
                str(self.objects),
            ],
            self.directory / "versitygw.log",
            detached=self._detached,
            environment={"ROOT_ACCESS_KEY": ACCESS_KEY, "ROOT_SECRET_KEY": SECRET_KEY},
        )

    def add_user(self, access_key: str, secret_key: str) -> None:
        """Adds a user without any rights."""
        root = ("--access", ACCESS_KEY, "--secret", SECRET_KEY, "--endpoint-url", self.url)
        user = ("--access", access_key, "--secret", secret_key, "--role", "user")
        subprocess.run(
            [str(PROGRAM), "admin", *root, "create-user", *user], check=True, capture_output=True
        )

    def _users(self) -> list[str]:
        if not self._has_users:
            return []
        users = self.directory / "users"
        users.mkdir(exist_ok=True)
        return ["--iam-dir", str(users)]

    def _sidecar(self) -> list[str]:
        """Returns the option that keeps metadata in files, where a file system keeps none."""
        try:
            os.setxattr(self.objects, "user.sluice", b"")
        except OSError:
            sidecar = self.directory / "metadata"
            sidecar.mkdir(exist_ok=True)
            return ["--sidecar", str(sidecar)]
        return []

    def wait_ready(self, timeout_seconds: float = 20.0) -> None:
        """Waits until the server takes connections. Raises NotStarted."""

        def answers() -> bool:
            if not self.process.is_running():
                raise self.process.failure("has ended")
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1.0).close()
            except OSError:
                return False
            return True

        if not until(answers, timeout_seconds):
            raise self.process.failure(f"takes no connections after {timeout_seconds} s")
