"""Input of a plan, as values."""

from balancer.topic_partition import TopicPartition
from replicator.groups.planning.knowledge import (
    Choice,
    Knowledge,
    LogRange,
    PartitionFacts,
    Progress,
    Request,
    progress_of,
    vectors_groups,
)
from replicator.groups.progress.partition_in_region import Known, PartitionInRegion, Passed
from replicator.groups.progress.vector_metadata import encode
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from replicator.mirror.offset_map.offset_map import OffsetMap

PARTITION = TopicPartition("trades", 0)


def test_a_choice_is_the_logs_start_or_the_logs_answer_for_a_time():
    knowledge = Knowledge(
        commits={},
        target_commits={},
        partitions={},
        mirrored_topics=frozenset(),
        active_in_target=frozenset(),
        offsets_at={1_700: {PARTITION: 77}},
    )
    log = LogRange(40, 90)
    assert knowledge.chosen(Choice(), PARTITION, log) == 40
    assert knowledge.chosen(Choice(1_700), PARTITION, log) == 77
    assert knowledge.chosen(Choice(1_701), PARTITION, log) is None
    assert knowledge.chosen(Choice(1_700), TopicPartition("trades", 1), log) is None
    assert str(Choice()) == "earliest"
    assert str(Choice(1_700)) == "from timestamp 1700 on"


def test_routes_without_a_ledger_are_named_with_how_many_partitions_lack_it():
    known, unknown = Known(OffsetMap(), Passed(0, 0)), Known(OffsetMap())
    facts = PartitionFacts(
        here=PartitionInRegion({"west": known, "north": unknown}),
        there=PartitionInRegion({"west": unknown}),
    )
    other = TopicPartition("trades", 1)
    knowledge = Knowledge(
        commits={},
        target_commits={},
        partitions={PARTITION: facts, other: facts},
        mirrored_topics=frozenset(),
        active_in_target=frozenset(),
    )
    request = Request(source="west", target="east", reason="", groups=frozenset())
    assert knowledge.unknown_ledgers(request, [PARTITION, other]) == {
        "north>west": 2,
        "west>east": 2,
    }
    assert not knowledge.unknown_ledgers(request, [])


def test_a_vector_beside_a_commit_is_read_where_the_application_has_metadata():
    commits = {
        "streams": {PARTITION: OffsetAndMetadata(7, "its times")},
        "plain": {PARTITION: OffsetAndMetadata(7, "")},
        "resuming": {PARTITION: OffsetAndMetadata(7, encode({"west": 5}))},
    }
    assert vectors_groups(commits) == ["sluice.vectors.streams"]
    beside = {"sluice.vectors.streams": {PARTITION: OffsetAndMetadata(7, encode({"west": 9}))}}
    assert progress_of(commits, beside) == {
        "streams": {PARTITION: Progress(7, {"west": 9}, "its times")},
        "plain": {PARTITION: Progress(7, {})},
        "resuming": {PARTITION: Progress(7, {"west": 5})},
    }
