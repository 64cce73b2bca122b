"""ClickHouse server: connections to it, and the errors that they raise."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from clickhouse_driver import Client
from clickhouse_driver.errors import Error

from replicator.clickhouse.errors import ClientSetup, problem
from replicator.config.clickhouse_address import ClickHouseAddress
from replicator.runtime.store_errors import StoreUnreachable

# The driver logs each failed connection with a traceback. We raise the error, and log it once.
logging.getLogger("clickhouse_driver").setLevel(logging.CRITICAL)


@dataclass(frozen=True, slots=True)
class ClickHouse:
    """Server of ClickHouse as one client of it is configured.

    Args:
        setup: of the client, for the remedies in errors.
        meanwhile: effect of a server that does not answer, for the operator.
        ca_file: CA certificates that the server's certificate is checked against; None: those of
            the system.
        timeout_seconds: for connecting, and for each wait for data of an answer.
    """

    address: ClickHouseAddress
    setup: ClientSetup
    meanwhile: str
    password: str = field(default="", repr=False)
    ca_file: Path | None = None
    timeout_seconds: float = 10.0

    @contextmanager
    def connected(self) -> Iterator[Client]:
        """Yields a connection of its own, which is closed afterwards.

        Raises StoreUnreachable in place of every error of the driver or of the socket.
        """
        client = self.client()
        try:
            yield client
        except (Error, OSError, EOFError) as error:
            reason = problem(error, self.setup)
            raise StoreUnreachable(
                f"ClickHouse at {self.address}: {reason}; {self.meanwhile}"
            ) from error
        finally:
            client.disconnect()

    def client(self, **options: object) -> Client:
        """Returns a client for one thread at a time, which connects when it is used.

        It raises the errors of the driver and of the socket.

        Args:
            options: of the driver, in place of those that the timeout decides.
        """
        address = self.address
        timeouts = {
            "connect_timeout": self.timeout_seconds,
            "send_receive_timeout": self.timeout_seconds,
        }
        return Client(
            address.host,
            port=address.port,
            database=address.database,
            user=address.user,
            password=self.password,
            secure=address.is_tls,
            ca_certs=self.ca_file,
            **(timeouts | options),
        )
