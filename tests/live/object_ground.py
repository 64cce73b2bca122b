"""A feed into objects between real servers: its bucket, and the comparison of objects and topic."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
from confluent_kafka import Producer

from aggregator.objects.forgotten import decoded
from aggregator.objects.object_name import ObjectName, parsed
from aggregator.objects.prefix_claim import CLAIM
from aggregator.objects.told_object import ToldObject
from aggregator.objects.told_objects import ToldObjects
from deploy.lab.kafka import KafkaCluster
from deploy.lab.object_server import ObjectServer
from deploy.lab.redis import RedisServer
from deploy.lab.wait import until
from replicator.config.names import objects_topic
from tests.live.feed_ground import LOADED_SECONDS, LoadedTopic, committed
from tests.live.feed_oracle import findings

MIB = 1 << 20


class Stored(NamedTuple):
    """Record as it is in an object, or in a topic."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None


class ObjectGround(LoadedTopic):
    """Feed from one cluster into objects.

    Args:
        settings: further lines of the feed's table.
    """

    def __init__(
        self,
        directory: Path,
        cluster: KafkaCluster,
        redis: RedisServer,
        server: ObjectServer,
        *,
        settings: str = "",
        partitions: int = 1,
        endpoint: str | None = None,
        brokers_die: bool = False,
    ) -> None:
        self.server = server
        super().__init__(
            directory,
            cluster,
            redis,
            partitions=partitions,
            brokers_die=brokers_die,
            settings=lambda feed, topic: (
                f"""
kind = "s3"
topics = ["{topic}"]
bucket = "{self.bucket_of(feed)}"
endpoint = "{endpoint or server.url}"
path_style = true
retry_seconds = 0.02
{settings}
"""
            ),
        )
        (server.objects / self.bucket_of(self.feed)).mkdir()

    @staticmethod
    def bucket_of(feed: str) -> str:
        return f"bucket-{feed}"

    @property
    def bucket(self) -> Path:
        """Directory of the bucket's objects."""
        return self.server.objects / self.bucket_of(self.feed)

    def objects(self) -> dict[ObjectName, bytes]:
        """Returns the objects that a reader of the bucket sees, with their content."""
        found = {}
        for path in sorted(self.bucket.rglob("*")):
            if path.is_dir() or ".sgwtmp" in path.parts or path.name == CLAIM:
                continue
            name = parsed(path.relative_to(self.bucket).as_posix(), "topics")
            assert name is not None, path
            found[name] = path.read_bytes()
        return found

    def told(self) -> dict[str, ToldObject]:
        """Returns what the topic of objects tells, by key; it tells each object once."""
        found = ToldObjects()
        for message in committed(self.cluster, objects_topic(self.feed)):
            told = decoded(message.key(), message.value())
            is_again = isinstance(told, ToldObject) and told.key in found.by_key
            assert not is_again, f"{told} is told twice"
            found.take(told)
        return found.by_key

    def digests(self) -> dict[tuple[int, int, int], str]:
        """Returns the digest of each told object, by partition, begin and end."""
        return {(o.partition, o.begin, o.end): o.digest for o in self.told().values()}

    def records(self) -> list[Stored]:
        """Returns the records in all objects."""
        return sorted(
            Stored(row["partition"], row["offset"], _ms(row["timestamp"]), row["key"], row["value"])
            for data in self.objects().values()
            for row in pq.read_table(io.BytesIO(data)).to_pylist()
        )

    def sent(self) -> list[Stored]:
        """Returns the records of the topic."""
        return sorted(
            Stored(
                message.partition(),
                message.offset(),
                message.timestamp()[1],
                message.key(),
                message.value(),
            )
            for message in committed(self.cluster, self.topic)
        )

    def wait_passed(self, wanted: int, seconds: float = LOADED_SECONDS) -> None:
        """Waits until the committed offsets of all partitions are so many together."""

        def are_passed() -> bool:
            self.raise_failures()
            return sum(each.offset for each in self.intents().values()) >= wanted

        assert until(are_passed, seconds), (self.intents(), wanted)

    def wait_objects(self, wanted: int, seconds: float = LOADED_SECONDS) -> None:
        """Waits until a reader of the bucket sees so many objects."""

        def are_visible() -> bool:
            self.raise_failures()
            return len(self.objects()) >= wanted

        assert until(are_visible, seconds), (self.intents(), [*self.objects()], wanted)

    def assert_exact(self) -> None:
        """Compares the objects with the topic, below the committed offsets, and with what is told
        of them; has every intent judged."""
        offsets = {number: intent.offset for number, intent in self.intents().items()}
        wanted = [each for each in self.sent() if each.offset < offsets[each.partition]]
        found = self.records()
        assert max(Counter(each[:2] for each in found).values(), default=1) == 1
        assert [each for each in found if each.offset < offsets[each.partition]] == wanted
        self.assert_told(offsets)

    def assert_told(self, offsets: dict[int, int] | None = None) -> None:
        """Compares the objects with what is told of them, and has every intent judged.

        Args:
            offsets: as they were committed, by partition; None: as they are.
        """
        offsets = offsets or {number: intent.offset for number, intent in self.intents().items()}
        told, seen = self.told(), {name.key: data for name, data in self.objects().items()}
        for key, each in told.items():
            assert each.size_bytes == len(seen.get(key, b"")), key
            assert each.is_empty == (key not in seen), key
        passed = {key for key in seen if _begin(key) < offsets[_partition(key)]}
        assert passed <= told.keys(), passed - told.keys()
        assert not findings(self)

    def take_large_records(self) -> None:
        """Lets the topic take records of 2 MiB."""
        self.set_config(self.topic, "max.message.bytes", str(2 * MIB))

    def send_large(self, values: Iterator[bytes], codec: str = "none") -> None:
        """Sends records of up to 20 MiB to partition 0; the topic takes them or their compressed
        batch."""
        large = {"message.max.bytes": 20 * MIB, "compression.type": codec, "acks": "all"}
        producer = Producer({**self.cluster.librdkafka_options(), **large})
        for value in values:
            producer.produce(self.topic, value, partition=0)
        assert producer.flush(60) == 0


def _partition(key: str) -> int:
    return int(key.split("+")[1])


def _begin(key: str) -> int:
    return int(key.split("+")[2].partition(".")[0])


def _ms(time: Any) -> int:
    return -1 if time is None else round(time.timestamp() * 1000)
