"""Address of a ClickHouse server, and of one of its databases."""

from __future__ import annotations

import re
from dataclasses import dataclass

from replicator.config.settings import PORT_MAX

PATTERN = re.compile(
    r"clickhouse(?P<tls>s?)://(?:(?P<user>[\w.-]+)@)?(?P<host>\[[0-9a-fA-F:.]+\]|[\w.-]+)"
    r"(?::(?P<port>[0-9]{1,5}))?(?:/(?P<database>\w+)?)?",
    re.ASCII,
)
PORT, PORT_TLS = 9000, 9440
"""Default ports of ClickHouse's native protocol, which is not HTTP."""


@dataclass(frozen=True, slots=True)
class ClickHouseAddress:
    """Address clickhouse://user@host:9000/database, or clickhouses:// for TLS."""

    host: str
    port: int
    database: str
    user: str
    is_tls: bool

    def __str__(self) -> str:
        scheme = "clickhouses" if self.is_tls else "clickhouse"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{self.user}@{host}:{self.port}/{self.database}"

    @classmethod
    def parse(cls, text: str) -> ClickHouseAddress:
        """Parses an address; raises ValueError, which says how such an address is written."""
        # A password that contains / ? or # ends the host early, and leaves its @ behind.
        user, _, place = text.partition("://")[2].rpartition("@")
        if ":" in user or "/" in user or "password" in place:
            raise ValueError("no password in the address: put it into a password_file")
        match = PATTERN.fullmatch(text)
        if not match:
            raise ValueError(
                "a ClickHouse address is clickhouse://user@host:9000/database, "
                "or clickhouses:// (TLS)"
            )
        is_tls = bool(match["tls"])
        port = int(match["port"] or (PORT_TLS if is_tls else PORT))
        if not 1 <= port <= PORT_MAX:
            raise ValueError(f"the port of a ClickHouse address is a number from 1 to {PORT_MAX}")
        return cls(
            host=match["host"].strip("[]"),
            port=port,
            database=match["database"] or "default",
            user=match["user"] or "default",
            is_tls=is_tls,
        )
