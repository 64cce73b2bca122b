"""Groups of a cluster: their types, their commits, and writing offsets."""

from __future__ import annotations

from typing import Any

import pytest

from balancer.topic_partition import TopicPartition
from replicator.config.topology import KafkaCluster
from replicator.groups.membership.committed_offsets import CommittedOffsets, joined
from replicator.groups.membership.group_types import unmovable, unmovable_text
from replicator.groups.membership.groups import Groups
from replicator.groups.progress.vector_metadata import committed_text
from replicator.kafka.client.cluster import Forbidden
from replicator.kafka.protocol.error_codes import Code
from replicator.kafka.protocol.group_offsets import GroupOffsets

# -- librdkafka's admin client sends metadata with a zero byte: what has none goes another way.

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


# -- Answers of several brokers about the same groups, joined.
#
# Real brokers are asked in tests/live/test_group_questions.py.

ELSEWHERE = GroupOffsets(Code.NOT_COORDINATOR, {})
FORBIDDEN = GroupOffsets(Code.GROUP_AUTHORIZATION_FAILED, {})
KNOWN = GroupOffsets(0, {"orders": [(0, 7)]})


def test_the_answer_of_a_groups_coordinator_counts():
    answers = [{"g": ELSEWHERE, "h": KNOWN}, {"g": KNOWN, "h": ELSEWHERE}]
    assert joined("west aggregate", answers) == {"g": KNOWN.commits, "h": KNOWN.commits}


def test_a_group_whose_coordinator_does_not_answer_is_left_out():
    assert joined("west aggregate", [{"g": ELSEWHERE, "h": KNOWN}]) == {"h": KNOWN.commits}


def test_a_group_without_commits_is_known_to_have_none():
    assert joined("west aggregate", [{"g": GroupOffsets(0, {})}]) == {"g": {}}


def test_a_missing_right_is_an_error_only_if_nothing_may_be_read():
    assert joined("west aggregate", [{"g": FORBIDDEN, "h": KNOWN}]) == {"h": KNOWN.commits}
    with pytest.raises(Forbidden, match="GROUP_AUTHORIZATION_FAILED"):
        joined("west aggregate", [{"g": FORBIDDEN, "h": ELSEWHERE}])


def test_without_groups_no_broker_is_asked():
    assert CommittedOffsets("west aggregate", None).of([]) == {}


# -- Types of groups, and groups that no plan moves.


def test_a_group_moves_only_if_its_progress_is_committed_offsets():
    types = {"a": "classic", "b": "consumer", "c": "streams", "d": "share", "e": "a later one"}
    assert unmovable(types) == {"d": "share", "e": "a later one"}


def test_the_reason_names_every_type_once():
    assert "type queue and share keep" in unmovable_text({"a": "share", "b": "queue", "c": "share"})
