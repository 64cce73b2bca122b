"""Fixtures with real servers: two clusters and a Redis shared by all tests, others on demand."""

import os
import uuid
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

import pytest
from confluent_kafka.admin import NewTopic
from redis import Redis

from deploy.lab.kafka import JAVA_OPTIONS_VARIABLE, KafkaCluster
from deploy.lab.redis import RedisServer
from tests.live.carrying import Carrying
from tests.live.clickhouse_fixtures import (
    clickhouse_database,
    kept,
    kept_apart,
    needs_clickhouse,
    own_clickhouse,
    own_replicas,
    replicated_database,
    shared_clickhouse,
    shared_replicas,
)
from tests.live.failover_command import Sluice
from tests.live.mirrored import Mirrored
from tests.live.runs import create_runs_topic
from tests.live.stage import Stage, make_on_both
from tests.run_progress import file_of, longest_first, stored_durations
from tui.program import run

__all__ = [
    "clickhouse_database",
    "kept",
    "kept_apart",
    "needs_clickhouse",
    "own_clickhouse",
    "own_replicas",
    "replicated_database",
    "shared_clickhouse",
    "shared_replicas",
]  # fixtures

HERE = Path(__file__).parent

# Brokers run for seconds or minutes here: the second compiler and parallel collection cost more
# than they save. Processes that tests start get the variable as well.
os.environ.setdefault(JAVA_OPTIONS_VARIABLE, "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

NEVER_KILLED = {"broker.session.timeout.ms": 60_000}
"""Broker settings for clusters that no test kills. On busy cores a heartbeat may come later than
the lab's few seconds. A broker that is fenced for that has no partitions, and its transactions lose
their markers (KAFKA-20734)."""


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None]:
    """Marks all tests of this directory as `live`, and sorts those that `-m` selects.

    Tests marked `stores` come first: they need nothing but a Redis or ClickHouse and take seconds.
    The others follow by file, longest first: `--dist loadfile` hands files out in this order, so
    that short ones are left for the end.
    """
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.live)
    yield
    live = [item for item in items if HERE in item.path.parents]
    files = longest_first((item.nodeid for item in live), stored_durations())
    order = {file: number for number, file in enumerate(files)}
    live.sort(
        key=lambda item: (item.get_closest_marker("stores") is None, order[file_of(item.nodeid)])
    )
    items[:] = [item for item in items if item not in set(live)] + live


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Lists reruns by name and count, each with its first failure: pytest shows only the last."""
    reruns = terminalreporter.getreports("rerun")
    for report in reruns:
        terminalreporter.write_sep("_", f"failed at first: {report.nodeid}")
        terminalreporter.write_line(report.longreprtext)
    counts = Counter(report.nodeid for report in reruns)
    terminalreporter.write_sep("=", f"tests run once more: {len(counts)}")
    for name, count in sorted(counts.items()):
        terminalreporter.write_line(f"{count} x {name}")


@pytest.fixture(scope="session")
def clusters(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[KafkaCluster, KafkaCluster]]:
    """The shared pair of clusters, started in parallel. Never stop, kill or pause these two.

    They keep records of any age. By default they would delete, at an unpredictable moment, records
    that a test dated years back.
    """
    directory = tmp_path_factory.mktemp("clusters")
    keep = {**NEVER_KILLED, "log.retention.ms": -1}
    pair = (
        KafkaCluster("regional", directory, properties=keep),
        KafkaCluster("aggregate", directory, properties=keep),
    )
    try:
        for cluster in pair:
            cluster.start()
        for cluster in pair:
            cluster.wait_ready()
        yield pair
    finally:
        for cluster in pair:
            cluster.kill_all()


@pytest.fixture
def regional(clusters: tuple[KafkaCluster, KafkaCluster]) -> KafkaCluster:
    """The shared regional cluster: use unique topic and group names."""
    return clusters[0]


@pytest.fixture
def aggregate(clusters: tuple[KafkaCluster, KafkaCluster]) -> KafkaCluster:
    """The shared aggregate cluster: use unique topic and group names."""
    return clusters[1]


@pytest.fixture(scope="session")
def shared_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    try:
        server.wait_ready()
        yield server
    finally:
        server.kill()


@pytest.fixture
def redis(shared_redis: RedisServer) -> RedisServer:
    """The shared Redis, emptied. To stop or kill a Redis, start another one (RedisServer)."""
    with Redis.from_url(shared_redis.url) as client:
        client.flushall()
    return shared_redis


RedisMaker = Callable[[], RedisServer]


@pytest.fixture
def make_redis(tmp_path: Path) -> Iterator[RedisMaker]:
    """`make_redis()`: a started Redis that the test may stop and kill."""
    made: list[RedisServer] = []

    def make() -> RedisServer:
        server = RedisServer(tmp_path, name=f"redis-{len(made)}")
        made.append(server)
        server.start()
        server.wait_ready()
        return server

    yield make
    for server in made:
        server.kill()


class ClusterMaker(Protocol):
    """`make_cluster("name", brokers=3, properties={...}, security="tls")`; see KafkaCluster."""

    def __call__(self, name: str, *, wait: bool = ..., **options: object) -> KafkaCluster: ...


@pytest.fixture
def make_cluster(tmp_path: Path) -> Iterator[ClusterMaker]:
    """A started cluster that the test may kill; with `wait=False` it may not be ready yet."""
    made: list[KafkaCluster] = []

    def make(name: str, *, wait: bool = True, **options: object) -> KafkaCluster:
        cluster = KafkaCluster(name, tmp_path, **options)  # type: ignore[arg-type]
        made.append(cluster)
        cluster.start()
        if wait:
            cluster.wait_ready()
        return cluster

    try:
        yield make
    finally:
        for cluster in made:
            cluster.kill_all()


TopicMaker = Callable[..., str]


@pytest.fixture
def make_topic() -> TopicMaker:
    """`make_topic(cluster, another, partitions=3, config={...})`: a new topic in all of them."""

    def make(
        *where: KafkaCluster,
        partitions: int = 1,
        config: Mapping[str, str] | None = None,
        name: str = "topic",
    ) -> str:
        topic = f"{name}-{uuid.uuid4().hex[:12]}"
        for cluster in where:
            cluster.create_topics(
                NewTopic(topic, num_partitions=partitions, config=dict(config or {}))
            )
        return topic

    return make


@pytest.fixture
def route_key(aggregate: KafkaCluster) -> str:
    """Key of a new route whose runs topic exists."""
    name = f"west.{uuid.uuid4().hex[:8]}"
    create_runs_topic(aggregate, name)
    return name


FORGETS_PRODUCERS = {
    **NEVER_KILLED,
    "producer.id.expiration.ms": 1500,
    "producer.id.expiration.check.interval.ms": 200,
}
FORGETS_ALL = {
    **FORGETS_PRODUCERS,
    "transactional.id.expiration.ms": 6000,
    "transaction.remove.expired.transaction.cleanup.interval.ms": 300,
    "offsets.retention.minutes": 1,
    "offsets.retention.check.interval.ms": 500,
}


@pytest.fixture(scope="session")
def forgets_producers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """A broker that expires producer states within seconds, but no transactional id. A fenced
    writer therefore always gets the fencing error, however slow the machine is."""
    directory = tmp_path_factory.mktemp("forgets-producers")
    with KafkaCluster("forgets-producers", directory, properties=FORGETS_PRODUCERS) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def forgetful(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """A broker that expires producer states within seconds, transactional ids after about six, and
    committed offsets after about a minute."""
    directory = tmp_path_factory.mktemp("forgetful")
    with KafkaCluster("forgetful", directory, properties=FORGETS_ALL) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def east(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """A second source, whose broker a test may stop and whose log cleaner runs every 100 ms."""
    directory = tmp_path_factory.mktemp("east")
    properties = {"log.cleaner.backoff.ms": 100, "log.retention.check.interval.ms": 200}
    with KafkaCluster("east", directory, properties=properties) as cluster:
        yield cluster


Carry = Callable[..., Carrying]


@pytest.fixture
def carry(redis: RedisServer) -> Iterator[Carry]:
    """`carry(source, target, start="latest")`: one route between them, named west."""
    with ExitStack() as open_ones:

        def carry(source: KafkaCluster, target: KafkaCluster, **settings: Any) -> Carrying:
            carrying = Carrying({"west": source}, target, redis, **settings)
            return open_ones.enter_context(carrying)

        yield carry


StageMaker = Callable[..., Stage]


@pytest.fixture
def make_stage(
    regional: KafkaCluster, aggregate: KafkaCluster, redis: RedisServer
) -> Iterator[StageMaker]:
    """`make_stage()`: a topic between the shared clusters. Arguments such as `target=another,
    partitions=2, target_config={...}, ledger_seconds=1.0` override the defaults."""
    with ExitStack() as stack:

        def make(
            source: KafkaCluster = regional,
            target: KafkaCluster = aggregate,
            partitions: int = 1,
            source_config: Mapping[str, str] | None = None,
            target_config: Mapping[str, str] | None = None,
            replication_factor: int = -1,
            target_replicas: Sequence[Sequence[int]] | None = None,
            own_copies: int = 1,
            **settings: object,
        ) -> Stage:
            topic = f"stage-{uuid.uuid4().hex[:12]}"
            configs = source_config, target_config
            copies = replication_factor, target_replicas
            make_on_both(source, target, topic, partitions, *configs, *copies)
            carrying = Carrying(
                {"west": source}, target, redis, replication_factor=own_copies, **settings
            )
            stack.enter_context(carrying)
            carrying.adopt(topic, partitions)
            stage = Stage(source, target, carrying, topic, source_dies=source is not regional)
            stack.callback(stage.close)
            return stage

        yield make


@pytest.fixture
def mirrored(regional: KafkaCluster, aggregate: KafkaCluster, redis: RedisServer) -> Mirrored:
    """A mirrored topic with the shared clusters as aggregates of west and east."""
    return Mirrored({"west": regional, "east": aggregate}, redis.url)


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    """A stack that is closed after the test, with everything that the test has put on it."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def sluice(capsys: pytest.CaptureFixture[str]) -> Sluice:
    """`sluice("failover", "plan", ...)`: returns its exit code, stdout and stderr."""

    def sluice(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run([*arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return sluice
