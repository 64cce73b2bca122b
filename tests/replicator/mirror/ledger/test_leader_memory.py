"""A memory has the epoch that its leader confirmed, and no epoch that only metadata names."""

from types import SimpleNamespace
from uuid import UUID

from balancer.topic_partition import TopicPartition
from replicator.config.topology import KafkaCluster
from replicator.kafka.client.cluster import Cluster, ProducerState
from replicator.kafka.client.cluster_metadata import Leader, Topic
from replicator.kafka.protocol.error_codes import Code
from replicator.mirror.ledger.fenced_tails import ask_memory

PARTITION = TopicPartition("flights", 0)
STATE = ProducerState(3, 499)


class Elects(Cluster):
    """A cluster whose metadata names one leader after the other; each refresh moves to the next."""

    def __init__(self, *leaders: Leader | None, leads: Leader, shown: bool = True) -> None:
        super().__init__("elects", KafkaCluster.model_validate({"bootstrap": ["127.0.0.1:1"]}))
        self._successors, self.leads, self.shown = list(leaders), leads, shown
        self.confirmed: list[tuple[int, int]] = []
        self._next()

    def _next(self) -> None:
        leader = self._successors.pop(0) if len(self._successors) > 1 else self._successors[0]
        self._topic = Topic(UUID(int=1), {0: leader}) if self.shown else None

    def topic(self, name):
        return self._topic if name == PARTITION.topic else None

    async def refresh(self):
        self._next()

    async def send(self, node, request, purpose="control"):
        (_, [(partition, current, asked)]) = request._topics[0]
        assert (partition, current) == (PARTITION.partition, asked)
        self.confirmed.append((node, current))
        code = 0
        if (node, current) != (self.leads.node, self.leads.epoch):
            newer = current > self.leads.epoch
            code = Code.UNKNOWN_LEADER_EPOCH if newer else Code.FENCED_LEADER_EPOCH
        return SimpleNamespace(topics=[(PARTITION.topic, [(code, partition, current, 0)])])

    async def producer_states(self, topic, partition):
        return {7: STATE}


async def test_the_epoch_is_confirmed_by_the_leader():
    cluster = Elects(Leader(1, 5), leads=Leader(1, 5))
    memory = await ask_memory(cluster, PARTITION, 7)
    assert (memory.leader_epoch, memory.state) == (5, STATE)
    assert cluster.confirmed == [(1, 5)]


async def test_a_producer_that_nobody_remembers_has_no_state():
    memory = await ask_memory(Elects(Leader(1, 5), leads=Leader(1, 5)), PARTITION, 8)
    assert (memory.leader_epoch, memory.state) == (5, None)


async def test_a_former_leader_confirms_nothing_and_its_successor_is_asked():
    cluster = Elects(Leader(1, 5), Leader(1, 5), None, Leader(2, 6), leads=Leader(2, 6))
    assert (await ask_memory(cluster, PARTITION, 7)).leader_epoch == 6
    assert cluster.confirmed[-1] == (2, 6)


async def test_a_broker_that_does_not_lead_yet_is_asked_again():
    cluster = Elects(Leader(1, 6), leads=Leader(1, 5))

    async def refresh():
        cluster.leads = Leader(1, 6)

    cluster.refresh = refresh  # type: ignore[method-assign]
    assert (await ask_memory(cluster, PARTITION, 7)).leader_epoch == 6
    assert cluster.confirmed == [(1, 6), (1, 6)]


async def test_a_topic_that_is_gone_confirms_no_epoch():
    cluster = Elects(None, leads=Leader(1, 5), shown=False)
    assert (await ask_memory(cluster, PARTITION, 7)).leader_epoch == -1
    assert not cluster.confirmed
