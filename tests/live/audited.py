"""`sluice audit` on topics that a test has carried or written by itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from confluent_kafka import Consumer, Message, Producer
from confluent_kafka import TopicPartition as KafkaTopicPartition

from balancer.topic_partition import TopicPartition
from deploy.lab.kafka import KafkaCluster
from deploy.lab.wait import until
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import KafkaCluster as Settings
from replicator.kafka.admin.admin import Admin
from replicator.mirror.ledger.entry import Custody
from replicator.mirror.offset_map.offset_store import OffsetStore
from replicator.mirror.offset_map.packed_map import pack_segment
from replicator.mirror.offset_map.run_segment import Run, RunSegment
from replicator.mirror.offset_map.runs_topic import RunsKey
from tests.live.carrying import Carrying
from tests.live.failover_command import Sluice
from tests.replicator.mirror.ledger.held import held

DEPTHS = ("offsets", "count", "bytes")
BY = tuple(("--by", depth) for depth in DEPTHS)
Auditor = Callable[..., tuple[int, list[dict[str, Any]]]]


def configuration(
    carrying: Carrying, directory: Path, moved: Mapping[str, Settings] = MappingProxyType({})
) -> str:
    """Returns the path of a written configuration file. `moved` replaces clusters by name ("west
    regional")."""
    lines = [f"routes = {json.dumps([route.name for route in carrying.routes.values()])}"]
    for name, region in carrying.appliance.regions.items():
        regional = moved.get(ClusterName.regional(name), region.regional)
        aggregate = moved.get(ClusterName.aggregate(name), region.aggregate)
        lines += [
            f"[regions.{name}]",
            f'redis = "{region.redis}"',
            f"regional.bootstrap = {json.dumps(regional.bootstrap)}",
            f"aggregate.bootstrap = {json.dumps(aggregate.bootstrap)}",
        ]
    path = directory / "appliance.toml"
    path.write_text("\n".join(lines))
    return str(path)


def auditor(sluice: Sluice, carrying: Carrying, directory: Path) -> Auditor:
    """Returns `audit(topic, "--by", "bytes")`: it gives the exit code and a row per partition."""
    config = configuration(carrying, directory)

    def audit(topic: str, *more: str, since: str = "1h") -> tuple[int, list[dict[str, Any]]]:
        asked = ("--topic", topic, "--since", since, "--partitions", "-o", "json", *more)
        code, out, err = sluice("audit", "--config", config, *asked)
        assert out, err
        told = json.loads(out)
        assert told["schema_version"] == 1
        return code, told["rows"]

    return audit


class ByHand:
    """A partition whose target log, runs and ledger entry a test writes, to imitate a faulty
    carrier.

    Args:
        carrying: has adopted the topic and carries nothing.
    """

    def __init__(
        self, source: KafkaCluster, target: KafkaCluster, carrying: Carrying, topic: str
    ) -> None:
        self._target, self._carrying, self._topic = target, carrying, topic
        (self._route,) = carrying.routes.values()
        self._ids = [_topic_id(carrying, end, topic) for end in (source, target)]

    def land(self, messages: Sequence[Message]) -> None:
        """Appends these records unchanged to the target."""
        producer = Producer({**self._target.librdkafka_options(), "enable.idempotence": True})
        for each in messages:
            producer.produce(
                self._topic,
                each.value(),
                each.key(),
                0,
                headers=each.headers(),
                timestamp=each.timestamp()[1],
            )
        assert producer.flush(30) == 0

    def tell(self, upto: int, *runs: tuple[int, int, int]) -> None:
        """Publishes runs and an entry, as a carrier does that has passed `upto`.

        Args:
            upto: a source offset.
            runs: source offset, target offset and number of records of each.
        """
        source, target = self._ids
        key = RunsKey(self._topic, 0, source.hex, target.hex)
        stretch = RunSegment(0, upto, tuple(Run(*run) for run in runs))
        with OffsetStore(
            self._carrying.appliance.region(self._route.target).redis, self._route.key
        ) as store:
            store.copy(key, [pack_segment(stretch)])
        place = TopicPartition(self._topic, 0)
        entry = held(
            custody=Custody.RELEASED,
            source_offset=upto,
            target_offset=max((run[1] + run[2] for run in runs), default=0),
            transactional_id=f"sluice.{self._route.key}.free",
            source_topic=source,
            target_topic=target,
        )
        (ledger,) = self._carrying.ledgers.values()
        commit = self._carrying.driver.commit(ledger.offsets({place: entry}))
        self._carrying.wait(commit)


def messages(cluster: KafkaCluster, topic: str, count: int) -> list[Message]:
    """Returns the first `count` committed records of partition 0."""
    options = {"group.id": "sluice.test.audit", "enable.auto.commit": False}
    consumer = Consumer({**cluster.librdkafka_options(), **options})
    consumer.assign([KafkaTopicPartition(topic, 0, 0)])
    found: list[Message] = []

    def is_read() -> bool:
        found.extend(m for m in consumer.consume(count - len(found), 0.2) if m.error() is None)
        return len(found) == count

    try:
        assert until(is_read, 30)
    finally:
        consumer.close()
    return found


def _topic_id(carrying: Carrying, cluster: KafkaCluster, topic: str) -> Any:
    settings = Settings.model_validate(cluster.topology_table())
    (described,) = Admin(cluster.name, settings).topics([topic])
    return described.topic_id
