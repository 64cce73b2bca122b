"""Transactions that a coordinator completes without writing a marker: KAFKA-20734, in Kafka 4.3.1.

While its metadata show no leader of a partition, it takes the partition for deleted and skips its
marker.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deploy.lab.compare import RouteVerdict
from deploy.lab.kafka import KafkaCluster
from deploy.lab.wait import until
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.mirror.carrier.carrier_assembly import Makers
from replicator.mirror.ledger.entry import Custody
from replicator.mirror.ledger.ledger import group_of
from tests.live.hand import Gate
from tests.live.stage import SELDOM

PATIENCE_SECONDS = 60.0
OFFSETS = "__consumer_offsets"


@pytest.fixture(scope="module")
def two_brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """Two brokers; each committed offset is on one of them only, everything else on both."""
    properties = {
        "default.replication.factor": 2,
        "transaction.state.log.replication.factor": 2,
        "offsets.topic.replication.factor": 1,
    }
    directory = tmp_path_factory.mktemp("pair")
    with KafkaCluster("pair", directory, brokers=2, properties=properties) as cluster:
        yield cluster


def leaders(cluster: KafkaCluster, topic: str) -> list[int]:
    partitions = cluster.admin().list_topics(topic, timeout=30).topics[topic].partitions
    return [partitions[number].leader for number in sorted(partitions)]


def coordinator(cluster: KafkaCluster, group: str) -> int:
    admin = cluster.admin()
    described = admin.describe_consumer_groups([group], request_timeout=30)
    return described[group].result(30).coordinator.id


def until_leaderless(cluster: KafkaCluster, topic: str, partitions: list[int]) -> None:
    def are_leaderless() -> bool:
        found = leaders(cluster, topic)
        return all(found[number] == -1 for number in partitions)

    assert until(are_leaderless, PATIENCE_SECONDS)


class ReadsNothingBack(FencedCommitter):
    """Mutation: takes every commit for shown."""

    async def still_hidden(self, groups):
        return {}


@pytest.mark.parametrize(
    "in_force",
    [pytest.param(True, marks=pytest.mark.core), False],
    ids=["in force", "taken out"],
)
def test_a_commit_whose_marker_was_left_out_is_made_again(make_stage, two_brokers, in_force):
    """Kills the broker of the ledger's group during the release, just before EndTxn."""
    makers = Makers() if in_force else Makers(fenced_committer=ReadsNothingBack)
    stage = make_stage(target=two_brokers)
    hand = stage.hand(0, makers=makers, drain_seconds=PATIENCE_SECONDS, **SELDOM).start()
    hand.until_landed(stage.place, stage.send(1000))
    broker = coordinator(two_brokers, group_of(stage.route, stage.place))
    led = [
        number for number, leader in enumerate(leaders(two_brokers, OFFSETS)) if leader == broker
    ]

    gate = Gate(hand.target, "EndTxn")
    hand.end()
    gate.wait()
    two_brokers.kill(broker)
    until_leaderless(two_brokers, OFFSETS, led)
    gate.open()
    if not in_force:
        assert hand.failure() is None
    two_brokers.restart(broker)
    two_brokers.wait_ready()
    assert hand.failure() is None
    assert stage.entry.custody is (Custody.RELEASED if in_force else Custody.HELD)
    assert stage.entry.source_offset == (1000 if in_force else 0)


def test_a_fence_whose_marker_was_left_out_is_put_up_again(make_stage, two_brokers):
    """The zombie continues to write meanwhile."""
    stage = make_stage(target=two_brokers, replication_factor=1)
    zombie = stage.hand(0, **SELDOM).start()
    zombie.until_landed(stage.place, stage.send(1000))
    zombie.freeze()
    taker = stage.hand(1, **SELDOM)
    beginning = Gate(taker.target, "AddPartitionsToTxn")
    taker.start()
    beginning.wait()
    gate = Gate(taker.target, "EndTxn")
    beginning.open()
    gate.wait()
    (broker,) = leaders(two_brokers, stage.topic)
    two_brokers.kill(broker)
    until_leaderless(two_brokers, stage.topic, [0])
    gate.open()
    stage.send(500)
    two_brokers.restart(broker)
    two_brokers.wait_ready()
    zombie.thaw()
    stage.send(500)
    taker.until_carried(stage.place)
    assert stage.seen() == RouteVerdict(sent=2000, arrived=2000)
