"""Claims about what the answers to Metadata requests show of a cluster."""

from types import SimpleNamespace
from uuid import UUID

from replicator.kafka.client.cluster_metadata import ClusterMetadata, Leader
from replicator.kafka.protocol.error_codes import Code
from replicator.kafka.protocol.topic_id import NO_TOPIC_ID


def reported(epoch: int, node: int, topic_id: int = 1) -> SimpleNamespace:
    """Returns metadata that names one leader of topic t."""
    row = (0, 0, node, epoch, [], [], [])
    return SimpleNamespace(
        cluster_id="id", brokers=[], topics=[(0, "t", UUID(int=topic_id), False, [row])]
    )


def refused(code: int) -> SimpleNamespace:
    """Returns metadata that has this error code for topic t, and no more."""
    return SimpleNamespace(
        cluster_id="id", brokers=[], topics=[(code, "t", NO_TOPIC_ID, False, [])]
    )


def after(*answers: SimpleNamespace) -> ClusterMetadata:
    metadata = ClusterMetadata()
    for answer in answers:
        metadata.update_metadata(answer, 0.0)
    return metadata


def test_a_broker_that_missed_an_election_does_not_take_the_newer_leader_away():
    metadata = after(reported(6, node=2), reported(5, node=1))
    assert metadata.leader("t", 0) == Leader(2, 6)
    metadata.update_metadata(reported(7, node=1), 1.0)
    assert metadata.leader("t", 0) == Leader(1, 7)


def test_the_elections_of_a_recreated_topic_count_from_the_beginning():
    metadata = after(reported(6, node=2), reported(0, node=1, topic_id=2))
    assert metadata.leader("t", 0) == Leader(1, 0)


def test_the_leader_of_the_last_answer_is_kept_beside_and_can_be_accepted():
    metadata = after(reported(6, node=2), reported(5, node=1))
    assert metadata.leader("t", 0) == Leader(2, 6)
    assert metadata.reported_leader("t", 0) == Leader(1, 5)
    metadata.accept_leader("t", 0, Leader(1, 5))
    metadata.update_metadata(reported(5, node=1), 1.0)
    assert metadata.leader("t", 0) == Leader(1, 5)


def test_a_partition_without_a_leader_has_none():
    metadata = after(reported(6, node=-1))
    assert metadata.leader("t", 0) is metadata.reported_leader("t", 0) is None


def test_the_cluster_id_is_kept_from_the_first_answer_that_has_it():
    assert ClusterMetadata().cluster_id is None
    later = SimpleNamespace(cluster_id=None, brokers=[], topics=[])
    assert after(reported(1, node=1), later).cluster_id == "id"


def test_the_brokers_stay_known_after_an_answer_that_names_none():
    named = SimpleNamespace(cluster_id="id", brokers=[(1, "h", 1), (2, "h", 2)], topics=[])
    assert after(named, reported(1, node=1)).nodes == [1, 2]


def test_a_topic_is_missing_for_as_long_as_all_answers_agree():
    metadata, missing = ClusterMetadata(), refused(Code.UNKNOWN_TOPIC_OR_PARTITION)
    seconds = []
    for now in (100.0, 104.0, 111.0):
        metadata.update_metadata(missing, now)
        seconds.append(metadata.missing_seconds("t"))
    assert seconds == [0, 4, 11]
    metadata.update_metadata(reported(0, node=1), 115.0)
    assert metadata.missing_seconds("t") == 0
    metadata.update_metadata(missing, 120.0)
    assert metadata.missing_seconds("t") == 0


def test_a_topic_that_may_not_be_described_is_not_one_that_is_missing():
    metadata = after(refused(Code.TOPIC_AUTHORIZATION_FAILED))
    assert metadata.is_refused("t") and metadata.missing_seconds("t") == 0
    metadata.update_metadata(reported(0, node=1), 1.0)
    assert not metadata.is_refused("t")
