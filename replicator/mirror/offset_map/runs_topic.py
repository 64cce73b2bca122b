"""Runs topic sluice.runs.<source>.<target> on the target: every published run, to read back.

A message is one piece of one partition's offset map: the runs that a carrier landed of the
partition in about a second. Pieces join in any order and any number of times. Messages therefore
need no order, and a duplicate does no harm. The topic is the truth about runs; Redis serves a copy
of it.
"""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from replicator.config.names import runs_group, runs_topic_name
from replicator.kafka.admin.admin_error import PASSING
from replicator.mirror.offset_map.packed_map import (
    BrokenPiece,
    Piece,
    UnknownVersion,
    pack_segment,
    unpack,
)
from replicator.mirror.offset_map.run_segment import RunSegment

KEY_VERSION = 1
# Pieces joined at once: few enough to hold in memory, enough to make joining cheap.
PIECES_PER_JOIN = 4096

PARTITIONS = 4
# Kept for ever: mirrored records may have any retention, and their runs must outlive them.
CONFIGS: Mapping[str, str] = MappingProxyType(
    {
        "cleanup.policy": "delete",
        "retention.ms": "-1",
        "retention.bytes": "-1",
        "compression.type": "producer",
    }
)


class RunsTopicMissing(Exception):
    """The runs topic does not exist. `sluice replicate` creates it; start that first."""


class RunsTopicUnreadable(Exception):
    """The runs topic cannot be read, or holds messages that are not ours. Call a human."""


@dataclass(frozen=True, slots=True)
class RunsKey:
    """Key of a partition's runs, between one source topic and one target topic, by their ids.

    `losses` counts the losses that the operator accepted for this partition. After a loss, offsets
    may be given out a second time. Runs published under more losses therefore overrule those
    published under fewer.
    """

    topic: str
    partition: int
    source_topic_id: str
    target_topic_id: str
    losses: int = 0

    @property
    def without_losses(self) -> "RunsKey":
        """Key of all runs of the partition, before and after accepted losses."""
        return replace(self, losses=0)


def encode(key: RunsKey, segment: RunSegment) -> tuple[bytes, bytes]:
    """Returns a message's key (JSON, readable in a console) and value (a packed piece)."""
    return encode_key(key), pack_segment(segment)


def encode_key(key: RunsKey) -> bytes:
    """Returns the message key; it also names the partition's runs in Redis."""
    fields = [KEY_VERSION, key.topic, key.partition]
    ids = [key.source_topic_id, key.target_topic_id, key.losses]
    return json.dumps([*fields, *ids], separators=(",", ":")).encode()


def decode(key: bytes | None, value: bytes | None) -> tuple[RunsKey, Piece]:
    """Decodes a message's key and value; raises UnknownVersion or BrokenPiece."""
    return decode_key(key), unpack(value or b"")


@lru_cache(maxsize=65536)
def decode_key(key: bytes | None) -> RunsKey:
    """Decodes a message's key; raises UnknownVersion or BrokenPiece."""
    try:
        version, *fields = json.loads(key or b"")
        if version != KEY_VERSION:
            raise UnknownVersion(f"a runs key of format {version}; this Sluice reads {KEY_VERSION}")
        topic, partition, source_topic_id, target_topic_id, losses = fields
        return RunsKey(str(topic), int(partition), source_topic_id, target_topic_id, int(losses))
    except UnknownVersion:
        raise
    except (ValueError, TypeError) as error:
        raise BrokenPiece(f"not a key of runs: {key!r}") from error


def batched(
    published: Iterator[tuple[RunsKey, Piece]], pieces_per_join: int = PIECES_PER_JOIN
) -> Iterator[dict[RunsKey, list[Piece]]]:
    """Yields the same pieces in portions, grouped by key."""
    portion: dict[RunsKey, list[Piece]] = {}
    held = 0
    for key, piece in published:
        portion.setdefault(key, []).append(piece)
        held += 1
        if held >= pieces_per_join:
            yield portion
            portion, held = {}, 0
    if portion:
        yield portion


def read(
    options: Mapping[str, object],
    route_key: str,
    timeout_seconds: float = 60.0,
    pieces_per_poll: int = PIECES_PER_JOIN,
) -> Iterator[tuple[RunsKey, Piece]]:
    """Yields every published piece, up to the end that the topic has when reading begins.

    Args:
        options: confluent_kafka's bootstrap.servers and security.
        timeout_seconds: longest time without a message before reading is given up.
        pieces_per_poll: pieces taken from the client at once, at most.

    Raises RunsTopicMissing, RunsTopicUnreadable or UnknownVersion.
    """
    topic = runs_topic_name(route_key)
    consumer = _consumer(options, route_key)
    try:
        ends = _assigned(consumer, topic, timeout_seconds)
        received_at = time.monotonic()
        while ends:
            for message in consumer.consume(pieces_per_poll, timeout=0.2):
                error = message.error()
                if error is None:
                    received_at = time.monotonic()
                    yield _piece_of(message)
                elif error.code() == KafkaError._PARTITION_EOF:
                    ends.pop(int(message.partition() or 0), None)
                elif error.code() not in PASSING:
                    raise KafkaException(error)
            # Carriers go on writing: the end to read to may lie before the topic's own end.
            for position in consumer.position([TopicPartition(topic, at) for at in ends]):
                if position.offset >= ends[position.partition]:
                    del ends[position.partition]
            if ends and time.monotonic() - received_at > timeout_seconds:
                raise RunsTopicUnreadable(
                    f"{topic}: no message for {timeout_seconds:g} s, before the ends {ends}"
                )
    except KafkaException as error:
        raise RunsTopicUnreadable(f"{topic}: {error}") from error
    finally:
        consumer.close()


def messages(options: Mapping[str, object], route_key: str, timeout_seconds: float = 60.0) -> int:
    """Counts the messages of the topic, which read() is going to yield; for progress displays.

    Raises RunsTopicMissing or RunsTopicUnreadable.
    """
    topic = runs_topic_name(route_key)
    consumer = _consumer(options, route_key)
    try:
        return sum(end - begin for begin, end in _spans(consumer, topic, timeout_seconds).values())
    except KafkaException as error:
        raise RunsTopicUnreadable(f"{topic}: {error}") from error
    finally:
        consumer.close()


def _consumer(options: Mapping[str, object], route_key: str) -> Consumer:
    return Consumer(
        {
            **options,
            "group.id": runs_group(route_key),
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
            "isolation.level": "read_uncommitted",
        }
    )


def _assigned(consumer: Consumer, topic: str, timeout_seconds: float) -> dict[int, int]:
    """Assigns all partitions that hold anything, from their beginning; returns their ends."""
    deadline = time.monotonic() + timeout_seconds
    while True:
        try:
            spans = _spans(consumer, topic, timeout_seconds)
            break
        except KafkaException as error:
            reason = error.args[0]
            passes = isinstance(reason, KafkaError) and reason.code() in PASSING
            if not passes or time.monotonic() > deadline:
                raise
            time.sleep(0.1)
    held = {at: span for at, span in spans.items() if span[0] < span[1]}
    consumer.assign([TopicPartition(topic, at, begin) for at, (begin, _) in held.items()])
    return {at: end for at, (_, end) in held.items()}


def _spans(consumer: Consumer, topic: str, timeout_seconds: float) -> dict[int, tuple[int, int]]:
    found = consumer.list_topics(topic, timeout=timeout_seconds).topics[topic]
    error = found.error
    if error is not None and error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
        raise RunsTopicMissing(f"there is no topic {topic}; `sluice replicate` creates it")
    if error is not None:
        raise KafkaException(error)
    return {
        at: consumer.get_watermark_offsets(TopicPartition(topic, at), timeout=timeout_seconds)
        for at in found.partitions
    }


def _piece_of(message: Message) -> tuple[RunsKey, Piece]:
    key, value = message.key(), message.value()
    try:
        return decode(
            key.encode() if isinstance(key, str) else key,
            value.encode() if isinstance(value, str) else value,
        )
    except BrokenPiece as broken:
        raise RunsTopicUnreadable(
            f"{message.topic()}[{message.partition()}] at {message.offset()}: {broken}"
        ) from broken
