"""What an operator accepts is all named: also what is found only while the partition is taken."""

import asyncio
from dataclasses import replace
from typing import Any
from uuid import UUID

from balancer.plan import TopicPartition
from replicator.config.topology import KafkaCluster, Route
from replicator.kafka.brokers import Leader, Topic
from replicator.kafka.cluster import Cluster
from replicator.ledger.entry import Custody, Entry
from replicator.ledger.inspection import TargetFindings
from replicator.ledger.ledger import Ledger
from replicator.ledger.loss import Loss, LossKind
from replicator.ledger.takeover import Taken, Takeover
from replicator.ledger.writer import Writer

ROUTE = Route("west", "east")
ONE = TopicPartition("flights", 0)
ENTRY = Entry(
    custody=Custody.HELD,
    source_offset=10,
    target_offset=100,
    producer_id=1,
    epoch=0,
    sequence=0,
    transactional_id="sluice.west.east.3",
)
FINE = TargetFindings(start=150, end=160, leader=0, loss=None)
TAIL_DELETED = Loss(LossKind.TARGET_TAIL_DELETED, 100, 150)


class Pretend(Cluster):
    """One topic of one partition, of which the log is [20, 30)."""

    def __init__(self) -> None:
        super().__init__("pretend", KafkaCluster.model_validate({"bootstrap": ["127.0.0.1:1"]}))
        self._topics = {ONE.topic: Topic(UUID(int=7), {0: Leader(1, 0)})}

    async def log_start(self, topic: str, partition: int) -> int:
        return 20

    async def log_end(self, topic: str, partition: int) -> int:
        return 30


def gone_on(entry: Entry, tail: Loss, *accept: TopicPartition) -> Any:
    cluster = Pretend()
    takeover = Takeover(
        ledger=Ledger(cluster, ROUTE),
        writer=Writer(cluster, "sluice.west.east.operator", 1000),
        source=cluster,
        target=cluster,
        start="earliest",
        tell=lambda _: asyncio.sleep(0),
        accept=accept,
    )
    return asyncio.run(takeover._go_on(ONE, entry, FINE, tail))


def test_a_deleted_tail_stops_a_taker_without_an_operators_word():
    assert gone_on(ENTRY, TAIL_DELETED) == TAIL_DELETED


def test_a_deleted_tail_that_is_stepped_over_is_named_beside_the_rest():
    taken = gone_on(ENTRY, TAIL_DELETED, ONE)
    assert isinstance(taken, Taken)
    assert taken.accepted == (TAIL_DELETED, Loss(LossKind.RETENTION_PASSED, 10, 20))
    assert taken.entry.source_offset == 20


def test_what_it_was_parked_for_and_is_found_again_is_named_once():
    parked = replace(ENTRY, parked=TAIL_DELETED)
    assert gone_on(parked, TAIL_DELETED, ONE).accepted == (
        TAIL_DELETED,
        Loss(LossKind.RETENTION_PASSED, 10, 20),
    )
