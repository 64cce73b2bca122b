"""ClickHouse server of the lab."""

import os
import shutil
import signal
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from textwrap import dedent
from typing import Any, Self

from clickhouse_driver import Client

from deploy.lab.credentials import PASSWORD, USERNAME, Credentials
from deploy.lab.process import NotStarted, Process, free_port
from deploy.lab.wait import until

# Debian's package installs the server in a directory that only root has in PATH.
PROGRAM = shutil.which("clickhouse-server", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
READER = "reader"


class ClickHouseServer:
    """A clickhouse-server on a free port of 127.0.0.1. Its data stays after it ends.

    It has the user USERNAME, and the user READER with read permission only, both with PASSWORD.

    Args:
        configuration: elements of config.xml beside the lab's own, as XML.
        profile: settings of the profile of USERNAME and of the server's background threads.
    """

    def __init__(
        self,
        directory: Path,
        *,
        name: str = "clickhouse",
        tls: bool = False,
        configuration: str = "",
        profile: Mapping[str, object] | None = None,
    ) -> None:
        self.name = name
        self.directory = directory / name
        self.port = free_port()
        self.credentials = Credentials(
            directory=self.directory / "tls", protocol="tls" if tls else "plaintext"
        )
        self._configuration = configuration
        self._profile = dict(profile or {})
        self._process: Process | None = None

    @property
    def ca_file(self) -> Path | None:
        """CA certificate that signed the server's certificate; None without TLS."""
        return self.credentials.directory / "ca.pem" if self.credentials.uses_tls else None

    @property
    def is_started(self) -> bool:
        """True once it was started, even if it has ended since."""
        return self._process is not None

    @property
    def process(self) -> Process:
        if self._process is None:
            raise RuntimeError(f"{self.name}: start() it first")
        return self._process

    def address(self, database: str = "default", user: str = USERNAME) -> str:
        """Returns the server's address as the configuration has it."""
        scheme = "clickhouses" if self.credentials.uses_tls else "clickhouse"
        return f"{scheme}://{user}@127.0.0.1:{self.port}/{database}"

    def client(self, database: str = "default", **options: Any) -> Client:
        """Returns a client of the user USERNAME, for use in a `with` block.

        Args:
            options: of clickhouse_driver.Client, such as send_receive_timeout=5.
        """
        return Client(
            "127.0.0.1",
            port=self.port,
            user=USERNAME,
            password=PASSWORD,
            database=database,
            secure=self.credentials.uses_tls,
            ca_certs=self.ca_file,
            **options,
        )

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
        """Starts the server, also again with its data after stop() or kill(); does not wait."""
        if PROGRAM is None:
            raise NotStarted("no clickhouse-server on this machine: run deploy/setup.sh first")
        self.directory.mkdir(parents=True, exist_ok=True)
        if not self.credentials.directory.exists():
            self.credentials.write()
        (self.directory / "config.xml").write_text(self._config_xml())
        (self.directory / "users.xml").write_text(_users_xml(self._profile))
        self._process = Process(
            self.name,
            [PROGRAM, f"--config-file={self.directory / 'config.xml'}"],
            self.directory / "clickhouse.log",
        )

    def wait_ready(self, timeout_seconds: float = 30.0) -> None:
        """Waits until the server accepts connections, the last step of its start. Raises
        NotStarted."""

        def listens() -> bool:
            if not self.process.is_running():
                raise self.process.failure("has ended")
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1.0):
                return True
            return False

        if not until(listens, timeout_seconds):
            raise self.process.failure(f"does not listen after {timeout_seconds} s")

    def stop(self) -> None:
        self.process.stop()

    def kill(self) -> None:
        self.process.kill()

    def pause(self) -> None:
        """Sends SIGSTOP: connections stay open, and the server does not answer."""
        self.process.send(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send(signal.SIGCONT)

    def _config_xml(self) -> str:
        port = "tcp_port_secure" if self.credentials.uses_tls else "tcp_port"
        certificate = self.credentials.directory / "broker.pem"
        return dedent(
            f"""\
            <yandex>
              <logger><level>warning</level><console>1</console></logger>
              <listen_host>127.0.0.1</listen_host>
              <{port}>{self.port}</{port}>
              <openSSL><server>
                <certificateFile>{certificate}</certificateFile>
                <privateKeyFile>{certificate}</privateKeyFile>
                <verificationMode>none</verificationMode>
              </server></openSSL>
              <path>{self.directory}/data/</path>
              <tmp_path>{self.directory}/tmp/</tmp_path>
              <users_config>users.xml</users_config>
              <default_profile>default</default_profile>
              <default_database>default</default_database>
              <mark_cache_size>67108864</mark_cache_size>
              {self._configuration}
            </yandex>
            """
        )


def _users_xml(profile: Mapping[str, object]) -> str:
    settings = "".join(f"<{name}>{value}</{name}>" for name, value in profile.items())
    users = "".join(
        f"<{name}><password>{PASSWORD}</password><profile>{its_profile}</profile>"
        "<networks><ip>127.0.0.1</ip></networks><quota>default</quota>"
        f"</{name}>"
        for name, its_profile in ((USERNAME, "default"), (READER, "reading"))
    )
    return (
        f"<yandex><profiles><default>{settings}</default>"
        "<reading><readonly>1</readonly></reading></profiles>"
        f"<quotas><default/></quotas><users>{users}</users></yandex>\n"
    )
