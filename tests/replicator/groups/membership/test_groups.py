"""librdkafka's admin client sends metadata with a zero byte: what has none goes another way."""

from __future__ import annotations

from typing import Any

import pytest

from balancer.topic_partition import TopicPartition
from replicator.config.topology import KafkaCluster
from replicator.groups.membership.groups import Groups
from replicator.groups.progress.vector_metadata import committed_text

PLACE, OTHER = TopicPartition("trades", 0), TopicPartition("trades", 1)
VECTOR = committed_text({"west": 5})
STREAMS = "AgAAAZNy3kAAAAAA"


class Sending(Groups):
    """Groups of a cluster, with what is sent by which way."""

    def __init__(self) -> None:
        super().__init__("east aggregate", KafkaCluster(bootstrap=("nowhere:9092",)))
        self.sent: list[tuple[str, list[str]]] = []

    def client(self) -> Any:
        return self

    def alter_consumer_group_offsets(self, asked: Any, **_: object) -> Any:
        rows = asked[0].topic_partitions
        self.sent.append(("librdkafka", [f"{it.metadata or ''}\0" for it in rows]))
        return {"group": asked[0]}

    def wait(self, answer: Any, *_: object, **__: object) -> Any:
        return answer

    def _write_exactly(self, group: str, offsets: Any) -> dict[TopicPartition, int]:
        self.sent.append(("exactly", [metadata for _, metadata in offsets.values()]))
        return dict.fromkeys(offsets, 0)


def sent(*metadata: str) -> list[tuple[str, list[str]]]:
    groups = Sending()
    rows = zip((PLACE, OTHER), metadata, strict=False)
    assert groups.write("orders", {place: (7, text) for place, text in rows}) == {}
    return groups.sent


def test_vectors_are_sent_by_librdkafka_which_adds_their_zero_byte():
    assert sent(VECTOR, VECTOR) == [("librdkafka", [VECTOR, VECTOR])]
    assert sent("", "text\0") == [("librdkafka", ["\0", "text\0"])]


@pytest.mark.parametrize("metadata", [STREAMS, "{}", "\0", "a\0b", "a\0b\0", "a\0\0", "ü"])
def test_other_metadata_of_an_application_is_sent_as_it_is(metadata):
    assert sent(metadata) == [("exactly", [metadata])]
    assert sent(VECTOR, metadata) == [("exactly", [VECTOR, metadata])]
