"""Fixtures of ClickHouse: servers that are shared or of the test's own, and databases in them."""

from __future__ import annotations

import platform
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.lab.clickhouse import PROGRAM, ClickHouseServer
from deploy.lab.clickhouse_replicas import ClickHouseReplicas
from tests.live.kept_history import KeptHistory, in_clickhouse, in_redis
from tests.live.replicas import ReplicatedDatabase, new_database


@pytest.fixture(scope="session")
def needs_clickhouse() -> None:
    """Skips the test where no ClickHouse package exists.

    Among the systems that deploy/setup.sh supports, only Debian 12 has a package. On Debian 12, as
    in CI, nothing is skipped: the tests fail if the set-up left ClickHouse out.
    """
    try:
        codename = platform.freedesktop_os_release().get("VERSION_CODENAME")
    except OSError:
        codename = None
    if PROGRAM is None and codename != "bookworm":
        pytest.skip("no package of clickhouse-server for this system: only Debian 12 has one")


@pytest.fixture(scope="session")
def shared_clickhouse(
    needs_clickhouse: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ClickHouseServer]:
    """The shared ClickHouse: use a database of the test's own."""
    with ClickHouseServer(tmp_path_factory.mktemp("clickhouse")) as server:
        yield server


@pytest.fixture
def own_clickhouse(needs_clickhouse: None, tmp_path: Path) -> Iterator[ClickHouseServer]:
    """A started ClickHouse that the test may stop and kill."""
    with ClickHouseServer(tmp_path) as server:
        yield server


@pytest.fixture
def clickhouse_database(shared_clickhouse: ClickHouseServer) -> Iterator[str]:
    """An empty database in the shared ClickHouse."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    with shared_clickhouse.client() as client:
        client.execute(f"CREATE DATABASE {name}")
        yield name
        client.execute(f"DROP DATABASE {name}")


@pytest.fixture(scope="session")
def shared_replicas(
    needs_clickhouse: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ClickHouseReplicas]:
    """Three replicas of a ClickHouse shard with a ZooKeeper. Never stop, kill or pause them."""
    with ClickHouseReplicas(tmp_path_factory.mktemp("replicas"), session_seconds=30.0) as replicas:
        yield replicas


@pytest.fixture
def replicated_database(shared_replicas: ClickHouseReplicas) -> Iterator[ReplicatedDatabase]:
    """An empty database on each of the shared replicas."""
    with new_database(shared_replicas) as database:
        yield database


@pytest.fixture
def own_replicas(needs_clickhouse: None, tmp_path: Path) -> Iterator[ClickHouseReplicas]:
    """Three replicas with a ZooKeeper, which notices within seconds if the test kills one."""
    with ClickHouseReplicas(tmp_path, session_seconds=3.0) as replicas:
        yield replicas


@pytest.fixture(params=["redis", "clickhouse"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> KeptHistory:
    """Traffic histories in one of the shared servers."""
    if request.param == "redis":
        return in_redis(request.getfixturevalue("redis"))
    database = request.getfixturevalue("clickhouse_database")
    return in_clickhouse(request.getfixturevalue("shared_clickhouse"), database, tmp_path)


@pytest.fixture(params=["redis", "clickhouse"])
def kept_apart(request: pytest.FixtureRequest, tmp_path: Path) -> KeptHistory:
    """Traffic histories in a server that the test may stop and kill."""
    if request.param == "redis":
        return in_redis(request.getfixturevalue("make_redis")())
    return in_clickhouse(request.getfixturevalue("own_clickhouse"), "default", tmp_path)
