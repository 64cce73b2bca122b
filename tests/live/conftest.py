"""Real servers for live tests: two clusters and a Redis shared by all, special ones on demand."""

import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

import pytest
from confluent_kafka.admin import NewTopic
from redis import Redis

from deploy.lab.kafka import KafkaCluster
from deploy.lab.redis import RedisServer

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All that lies here is live; what may take long is marked `soak` as well, by hand."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.live)


@pytest.fixture(scope="session")
def clusters(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[KafkaCluster, KafkaCluster]]:
    """The shared pair, started at the same time. Never stop, kill or pause these two."""
    directory = tmp_path_factory.mktemp("clusters")
    pair = KafkaCluster("regional", directory), KafkaCluster("aggregate", directory)
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
    """The shared regional cluster: use topics and groups of your own names."""
    return clusters[0]


@pytest.fixture
def aggregate(clusters: tuple[KafkaCluster, KafkaCluster]) -> KafkaCluster:
    """The shared aggregate cluster: use topics and groups of your own names."""
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
    """The shared Redis, empty. Start one of your own (RedisServer) to stop or kill it."""
    with Redis.from_url(shared_redis.url) as client:
        client.flushall()
    return shared_redis


class ClusterMaker(Protocol):
    """`make_cluster("name", brokers=3, properties={...}, security="tls")`; see KafkaCluster."""

    def __call__(self, name: str, *, wait: bool = ..., **options: object) -> KafkaCluster: ...


@pytest.fixture
def make_cluster(tmp_path: Path) -> Iterator[ClusterMaker]:
    """A started cluster of your own, yours to kill; `wait=False` leaves wait_ready() to you."""
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
    """`make_topic(cluster, another, partitions=3, config={...})`: a new name, in all of them."""

    def make(
        *where: KafkaCluster,
        partitions: int = 1,
        config: Mapping[str, str] | None = None,
        name: str = "topic",
    ) -> str:
        topic = f"{name}-{uuid.uuid4().hex[:12]}"
        for cluster in where:
            admin = cluster.admin()
            new = NewTopic(topic, num_partitions=partitions, config=dict(config or {}))
            admin.create_topics([new])[topic].result(30)
        return topic

    return make
