"""`sluice status` and `sluice config check` against real clusters and a real Redis."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka import TopicPartition as AioPartition
from aiokafka.structs import OffsetAndMetadata
from confluent_kafka import Producer
from redis import Redis

from balancer.topic_partition import TopicPartition
from deploy.lab.kafka import KafkaCluster
from deploy.lab.process import free_port
from deploy.lab.redis import RedisServer
from replicator.config.topology import Route
from replicator.kafka.client.loss import Loss, LossKind
from replicator.mirror.ledger.entry import encode
from replicator.mirror.ledger.ledger import group_of
from replicator.mirror.offset_map.carrier_reports import reports_index
from replicator.mirror.offset_map.reports import PartitionReport, packed
from replicator.runtime import expiring_values
from tests.live.conftest import TopicMaker
from tests.replicator.mirror.ledger.held import held
from tui.commands.exit_codes import ExitCode
from tui.program import run

ROUTE = Route("west", "west")
ENTRY = held(source_offset=4, target_offset=4, sequence=4, transactional_id="sluice.west.west.0")
LOSS = Loss(LossKind.TARGET_REFUSES, 4, 6)


@pytest.fixture
def topic(regional: KafkaCluster, aggregate: KafkaCluster, make_topic: TopicMaker) -> str:
    """A topic on both clusters; at the source, partition 0 has ten records and partition 1 none."""
    name = make_topic(regional, aggregate, partitions=2)
    producer = Producer(regional.librdkafka_options())
    for number in range(10):
        producer.produce(name, str(number), partition=0)
    producer.flush()
    return name


def configuration(directory: Path, bootstraps: tuple[str, str], redis_url: str, allow: str) -> str:
    path = directory / "appliance.toml"
    regional, aggregate = (json.dumps(servers.split(",")) for servers in bootstraps)
    path.write_text(
        f'[topics]\nallow = ["{allow}"]\n[regions.west]\nredis = "{redis_url}"\n'
        f"regional.bootstrap = {regional}\naggregate.bootstrap = {aggregate}\n"
    )
    return str(path)


def committed(cluster: KafkaCluster, place: TopicPartition, offset: int, metadata: str) -> None:
    """Commits as the ledger does; confluent_kafka would append a zero byte to the metadata."""

    async def commit() -> None:
        group = group_of(ROUTE, place)
        consumer = AIOKafkaConsumer(
            bootstrap_servers=cluster.bootstrap, group_id=group, enable_auto_commit=False
        )
        where = AioPartition(place.topic, place.partition)
        consumer.assign([where])
        await consumer.start()
        await consumer.commit({where: OffsetAndMetadata(offset, metadata)})
        await consumer.stop()

    asyncio.run(commit())


def shown(config: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    code = run(["status", "--config", config, "-o", "json", "--timeout", "3"])
    value = json.loads(capsys.readouterr().out)
    assert isinstance(value, dict)
    return code, value


@pytest.mark.core
def test_what_ledger_and_reports_say_is_shown_and_the_rest_is_unknown(
    topic: str,
    regional: KafkaCluster,
    aggregate: KafkaCluster,
    redis: RedisServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bootstraps = regional.bootstrap, aggregate.bootstrap
    config = configuration(tmp_path, bootstraps, redis.url, topic)
    code, before = shown(config, capsys)
    assert (code, before["problems"]) == (ExitCode.DONE, [])
    (route,) = before["routes"]
    (described,) = route["topics"]
    assert (described["topic"], described["states"]) == (topic, ["mirrored"])
    assert (described["lag_records"], described["unknown_partitions"]) == (None, 2)
    assert [part["source_end"] for part in described["partitions"]] == [10, 0]
    assert {part["mirrored_to"] for part in described["partitions"]} == {None}
    assert route["denied_topics"] >= 0

    committed(aggregate, TopicPartition(topic, 0), *encode(ENTRY))
    committed(aggregate, TopicPartition(topic, 1), *encode(ENTRY.park(LOSS)))
    report = PartitionReport(ROUTE.name, topic, 0, 3, 20.0, 900.0, 10, 7, 3, 0.5, None, time.time())
    with Redis.from_url(redis.url) as client:
        expiring_values.put(client, reports_index(ROUTE.key), "3", packed([report]), 60_000)
    _, after = shown(config, capsys)
    first, second = after["routes"][0]["topics"][0]["partitions"]
    assert (first["mirrored_to"], first["lag_records"], first["lag_seconds"]) == (7, 3, 0.5)
    assert (first["carrier"], first["records_per_second"], first["custody"]) == (3, 20.0, "held")
    assert (second["custody"], second["parked"]) == ("parked", str(LOSS))

    assert run(["status", "--config", config, "--partitions", "--route", "west>west"]) == 0
    text = capsys.readouterr().out
    assert f"parked: west>west {topic}-1: {LOSS}" in text


def test_an_entry_that_cannot_be_read_is_named(
    topic: str,
    regional: KafkaCluster,
    aggregate: KafkaCluster,
    redis: RedisServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    committed(aggregate, TopicPartition(topic, 0), 5, "{}")
    bootstraps = regional.bootstrap, aggregate.bootstrap
    _, value = shown(configuration(tmp_path, bootstraps, redis.url, topic), capsys)
    first = value["routes"][0]["topics"][0]["partitions"][0]
    assert first["custody"] == "unreadable"
    assert "cannot be read" in first["parked"]
    assert first["lag_records"] is None


def test_what_is_away_is_named_and_the_rest_is_shown_all_the_same(
    topic: str,
    regional: KafkaCluster,
    aggregate: KafkaCluster,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    nobody = f"127.0.0.1:{free_port()}"
    redis_url = f"redis://127.0.0.1:{free_port()}"
    config = configuration(tmp_path, (regional.bootstrap, nobody), redis_url, topic)
    code, value = shown(config, capsys)
    assert code == ExitCode.UNREACHABLE
    (described,) = value["routes"][0]["topics"]
    assert described["states"] == []
    assert [part["source_end"] for part in described["partitions"]] == [10, 0]
    assert any("west aggregate" in problem for problem in value["problems"])
    assert any(redis_url in problem for problem in value["problems"])

    config = configuration(tmp_path, (nobody, aggregate.bootstrap), redis_url, topic)
    code, value = shown(config, capsys)
    assert code == ExitCode.UNREACHABLE
    assert value["routes"][0]["topics"] is None


def test_two_addresses_of_one_cluster_are_found_out(
    regional: KafkaCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alias = regional.bootstrap.replace("127.0.0.1", "localhost")
    config = configuration(tmp_path, (regional.bootstrap, alias), "redis://127.0.0.1:1", ".*")
    assert run(["config", "check", "--config", config]) == ExitCode.DONE
    assert run(["config", "check", "--config", config, "--connect"]) == ExitCode.USAGE
    assert "the same cluster as west regional" in capsys.readouterr().out


@pytest.mark.core
def test_clusters_that_answer_are_ok(
    regional: KafkaCluster,
    aggregate: KafkaCluster,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bootstraps = regional.bootstrap, aggregate.bootstrap
    config = configuration(tmp_path, bootstraps, "redis://127.0.0.1:1", ".*")
    assert run(["config", "check", "--config", config, "--connect", "-o", "json"]) == ExitCode.DONE
    value = json.loads(capsys.readouterr().out)
    assert value["ok"] is True
    assert len({cluster["cluster_id"] for cluster in value["clusters"]}) == 2
