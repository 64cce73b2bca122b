"""Inspection of a source, from a cluster whose answers are given as values."""

from dataclasses import dataclass
from uuid import UUID

from balancer.topic_partition import TopicPartition
from replicator.kafka.client.cluster_metadata import Leader, Topic
from replicator.kafka.client.loss import LossKind
from replicator.kafka.client.source_inspection import SourceFindings, inspect_source

TOPIC = UUID(int=1)


@dataclass
class Source:
    """A source whose partition has this leader, this log end, and this end of epoch 6."""

    known: Leader
    end: int
    epoch_6_end: int

    def topic(self, name):
        return Topic(TOPIC, {0: self.known})

    def leader(self, topic, partition):
        return self.known

    async def refresh(self):
        pass

    async def log_start(self, topic, partition):
        return 0

    async def log_end(self, topic, partition):
        return self.end

    async def epoch_end(self, topic, partition, epoch):
        assert epoch == 6
        return self.epoch_6_end


async def inspected(source: Source) -> SourceFindings:
    """Inspects the log at offset 5000, after a batch of leader epoch 6."""
    return await inspect_source(
        source, TopicPartition("flights", 0), topic_id=TOPIC, leader_epoch=6, position=5000
    )


async def test_a_leader_that_missed_an_election_reports_no_loss():
    stale = Source(Leader(1, epoch=5), end=4000, epoch_6_end=-1)
    found = await inspected(stale)
    assert (found.loss, found.leader) == (None, -1)


async def test_a_log_that_ends_before_the_position_was_truncated():
    cut = Source(Leader(1, epoch=7), end=4000, epoch_6_end=4000)
    found = await inspected(cut)
    assert found.loss is not None
    assert found.loss.kind is LossKind.SOURCE_TRUNCATED
    assert found.leader == 7


async def test_a_topic_that_the_metadata_does_not_show_yet_is_recreated_and_not_truncated():
    """The new topic is empty, and the metadata shows the old one until it is read again."""
    source = Source(Leader(1, epoch=6), end=0, epoch_6_end=0)

    async def refresh():
        source.topic = lambda name: Topic(UUID(int=2), {0: source.known})

    source.refresh = refresh
    found = await inspected(source)
    assert found.loss is not None
    assert found.loss.kind is LossKind.SOURCE_RECREATED


async def test_a_recreated_topic_does_not_answer_for_the_former_one():
    """The new topic is as long as the old one: only its id differs."""
    source = Source(Leader(1, epoch=6), end=9000, epoch_6_end=9000)

    async def recreated(topic, partition):
        source.topic = lambda name: Topic(UUID(int=2), {0: source.known})
        return source.end

    source.log_end = recreated
    found = await inspected(source)
    assert found.loss is not None
    assert found.loss.kind is LossKind.SOURCE_RECREATED
