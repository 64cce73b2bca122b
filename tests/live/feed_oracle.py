"""Oracle of a feed: every record of its topic against every table on every replica, and the
verdicts over all intents that were ever committed."""

from __future__ import annotations

import json

from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as KafkaTopicPartition

from aggregator.intents.intent import Intent, decode
from aggregator.intents.intent_store import groups_of
from deploy.lab.kafka import KafkaCluster
from deploy.lab.wait import until
from replicator.kafka.protocol.commit_record import commit_of, key_of
from replicator.kafka.tail.consumer_offsets import TOPIC as COMMITS
from tests.aggregator.verifier.judged import judged
from tests.live.feed_ground import FeedGround, Row, committed


def assert_exact(feed: FeedGround, *tables: str) -> None:
    """Compares every table on every replica with the topic, and has every intent judged.

    Args:
        tables: named by the header of each record; none: the feed's table is that of its topic.
    """
    for table in tables or (None,):
        if table is None:
            feed.assert_exact()
        else:
            _assert_table(feed, table)
    assert not findings(feed)


def _assert_table(feed: FeedGround, table: str) -> None:
    wanted = [
        Row(message.partition(), message.offset(), 0, each["id"], each["name"], each["price"])
        for message in committed(feed.cluster, feed.topic)
        if message.value() and dict(message.headers() or []).get("table") == table.encode()
        for each in (json.loads(message.value()),)
    ]
    wanted.sort(key=lambda row: (row.partition, row.offset))
    feed.assert_rows(wanted, table)


def findings(feed: FeedGround) -> list[str]:
    """Returns what the verifier finds in all intents of the feed that were ever committed."""
    found: list[str] = []
    histories: dict[tuple[str, int], list[Intent]] = {}

    def is_whole() -> bool:
        # Readers see nothing behind a transaction that a killed loader has left open.
        histories.update(committed_intents(feed.cluster, feed.feed))
        return len(histories) == feed.partitions

    assert until(is_whole, 60), f"intents of {sorted(histories)} only"
    for place, intents in histories.items():
        found += [f"{place}: {text}" for text in judged(intents)]
    return found


def committed_intents(cluster: KafkaCluster, feed: str) -> dict[tuple[str, int], list[Intent]]:
    """Returns all intents of a feed in the order of their commits, by topic and partition."""
    found: dict[tuple[str, int], list[Intent]] = {}
    groups = groups_of(feed)
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "oracle",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 10,  # the end of a partition is told by an empty answer
        }
    )
    try:
        count = len(consumer.list_topics(COMMITS, 30).topics[COMMITS].partitions)
        left = {_java_hash(group) % count for group in groups}
        consumer.assign([KafkaTopicPartition(COMMITS, number, 0) for number in left])
        while left:
            message = consumer.poll(30)
            assert message is not None, f"{COMMITS} is silent"
            if message.error():
                left.discard(message.partition())
                continue
            key = key_of(message.key())
            if key and key.group in groups and message.value():
                commit = commit_of(message.value())
                intent = decode(commit.offset, commit.metadata)
                found.setdefault((key.topic, key.partition), []).append(intent)
    finally:
        consumer.close()
    return found


def _java_hash(text: str) -> int:
    """Returns the absolute value of String.hashCode, by which Kafka chooses a group's partition."""
    value = 0
    for character in text:
        value = (31 * value + ord(character)) & 0xFFFFFFFF
    return min(value, (1 << 32) - value)
