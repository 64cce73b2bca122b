"""Replicas of one ClickHouse shard, with the ZooKeeper that they share."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Self, overload

from deploy.lab.clickhouse import ClickHouseServer
from deploy.lab.process import free_port
from deploy.lab.zookeeper import ZooKeeperServer

PROFILE = {
    "background_pool_size": 2,
    "background_schedule_pool_size": 4,
    "max_threads": 2,
    "http_receive_timeout": 5,
    "http_send_timeout": 5,
}
"""Settings for several replicas beside other servers on few cores.

By default a replica waits 1800 s for a block of another one that hangs, and as long no quorum
insert into the table is accepted.
"""


class ClickHouseReplicas(Sequence[ClickHouseServer]):
    """N replicas of one shard and a ZooKeeper, on free ports of 127.0.0.1. Their data stays.

    `replicas[0]` is a ClickHouseServer: kill(), stop(), start(), wait_ready(), pause(), resume(),
    client(database). A table with replicated_engine() is created on each of them.

    Args:
        session_seconds: time for which ZooKeeper counts a killed or paused replica as live.
        zookeeper_ports: ports where single replicas, by index, look for ZooKeeper. The test runs a
            proxy there that leads to zookeeper.port.
        profile: settings that override those of PROFILE.
    """

    def __init__(
        self,
        directory: Path,
        *,
        count: int = 3,
        shard: str = "1",
        session_seconds: float = 10.0,
        zookeeper_ports: Mapping[int, int] | None = None,
        profile: Mapping[str, object] | None = None,
    ) -> None:
        self.zookeeper = ZooKeeperServer(directory)
        ports = dict.fromkeys(range(count), self.zookeeper.port) | dict(zookeeper_ports or {})
        self._replicas = [
            ClickHouseServer(
                directory,
                name=f"replica-{index}",
                configuration=_configuration(shard, index, ports[index], session_seconds),
                profile={**PROFILE, **(profile or {})},
            )
            for index in range(count)
        ]

    @overload
    def __getitem__(self, index: int) -> ClickHouseServer: ...
    @overload
    def __getitem__(self, index: slice) -> list[ClickHouseServer]: ...
    def __getitem__(self, index: int | slice) -> ClickHouseServer | list[ClickHouseServer]:
        return self._replicas[index]

    def __len__(self) -> int:
        return len(self._replicas)

    def __enter__(self) -> Self:
        try:
            self.start()
            self.wait_ready()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def addresses(self) -> list[str]:
        """Returns the addresses of the replicas as a shard of the configuration has them."""
        return [replica.address() for replica in self]

    def start(self) -> None:
        """Starts all servers, also again with their data; waits for ZooKeeper only."""
        self.zookeeper.start()
        self.zookeeper.wait_ready()
        for replica in self:
            replica.start()

    def wait_ready(self, timeout_seconds: float = 60.0) -> None:
        """Waits until all replicas accept connections. Raises NotStarted."""
        for replica in self:
            replica.wait_ready(timeout_seconds)

    def kill(self) -> None:
        """Ends all servers that were started at once, as a power cut would."""
        with ExitStack() as last:
            for server in (self.zookeeper, *self):
                if server.is_started:
                    last.callback(server.kill)

    def execute(self, query: str, database: str = "default") -> None:
        """Executes a query on each replica, one after another."""
        for replica in self:
            with replica.client(database) as client:
                client.execute(query)


def replicated_engine(database: str, table: str) -> str:
    """Returns the engine of a table that all replicas of a shard have under this name."""
    return f"ReplicatedMergeTree('/tables/{{shard}}/{database}/{table}', '{{replica}}')"


def _configuration(shard: str, index: int, zookeeper_port: int, session_seconds: float) -> str:
    """Returns the elements of config.xml that make a server a replica.

    A replica that lost ZooKeeper looks for it again within a second, and old blocks are forgotten
    within seconds; the defaults are a minute and half a minute.
    """
    session_ms = round(session_seconds * 1000)
    return (
        "<interserver_http_host>127.0.0.1</interserver_http_host>"
        f"<interserver_http_port>{free_port()}</interserver_http_port>"
        f"<macros><shard>{shard}</shard><replica>{index}</replica></macros>"
        f"<zookeeper><node><host>127.0.0.1</host><port>{zookeeper_port}</port></node>"
        f"<session_timeout_ms>{session_ms}</session_timeout_ms>"
        f"<operation_timeout_ms>{session_ms}</operation_timeout_ms></zookeeper>"
        "<merge_tree>"
        "<zookeeper_session_expiration_check_period>1</zookeeper_session_expiration_check_period>"
        "<cleanup_delay_period>1</cleanup_delay_period>"
        "<cleanup_delay_period_random_add>1</cleanup_delay_period_random_add>"
        "</merge_tree>"
    )
