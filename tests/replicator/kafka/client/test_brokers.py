"""Claims about connections to brokers; the answers come from this file, not from a broker."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from aiokafka.protocol.coordination import FindCoordinatorRequest

from replicator.config.security import Security
from replicator.config.topology import KafkaCluster
from replicator.kafka.client.brokers import OpenConnection
from replicator.kafka.client.cluster import GROUP, Answered, Cluster
from replicator.kafka.client.cluster_metadata import Leader
from replicator.kafka.protocol.error_codes import Code
from replicator.kafka.protocol.leader_epoch import LeaderEpochRequest, LeaderEpochStruct
from replicator.kafka.protocol.metadata import MetadataRequest

SETTINGS = KafkaCluster(bootstrap=("h:1",))


class StubConnection:
    """Connection that is answered by a function of the request."""

    def __init__(self, answer: Callable[[Any], Any]):
        self.muted_until = 0.0
        self._answer = answer
        self._is_open = True

    async def send(self, request):
        return self._answer(request)

    def connected(self):
        return self._is_open

    def close(self):
        self._is_open = False


def named(*nodes: int, topics: tuple = ()) -> SimpleNamespace:
    """Returns metadata that names these brokers; the port of each is its node id."""
    brokers = [(node, "h", node) for node in nodes]
    return SimpleNamespace(cluster_id="id", brokers=brokers, topics=list(topics))


def leads(epoch: int, node: int, topic_id: int = 1) -> tuple:
    """Returns the row of topic t, with one leader."""
    return (0, "t", UUID(int=topic_id), False, [(0, 0, node, epoch, [], [], [])])


def known(settings: KafkaCluster, opened: OpenConnection, metadata: Any) -> Cluster:
    """Returns a cluster that has read this metadata."""
    cluster = Cluster("east", settings, client_id="me", open_connection=opened)
    cluster.update_metadata(metadata, 0.0)
    return cluster


async def test_each_connection_is_made_with_the_password_its_file_holds_by_then(tmp_path):
    made_with = []

    async def opened(host, port, **options):
        made_with.append((options["sasl_plain_password"], options["client_id"]))
        return StubConnection(lambda request: None)

    password = tmp_path / "password"
    password.write_text("old")
    security = Security(
        protocol="sasl_plaintext", mechanism="PLAIN", username="u", password_file=password
    )
    settings = KafkaCluster(bootstrap=("h:1",), security=security)
    cluster = known(settings, opened, named(0))
    await cluster.connect(0)
    password.write_text("new")
    await cluster.connect(0)
    assert made_with == [("old", "me"), ("new", "me")]


async def test_each_broker_is_asked_for_the_leader_and_one_that_does_not_answer_has_none():
    answers = {1: leads(5, node=1), 2: leads(6, node=2), 3: leads(7, node=3, topic_id=2)}

    async def opened(host, port, **options):
        if port not in answers:
            raise OSError("away")
        return StubConnection(lambda request: named(topics=(answers[port],)))

    cluster = known(SETTINGS, opened, named(1, 2, 3, 4, topics=(leads(6, node=2),)))
    found = await cluster.leader_by_each("t", 0)
    assert found == [Leader(1, 5), Leader(2, 6), None, None]
    assert cluster.leader("t", 0) == Leader(2, 6), "asking changes nothing"


async def test_a_connection_is_closed_after_a_timeout():
    made = []

    def swallow(request):
        raise TimeoutError

    async def opened(host, port, **options):
        made.append(StubConnection(swallow))
        return made[-1]

    cluster = known(SETTINGS, opened, named(0))
    for _ in range(2):
        with pytest.raises(TimeoutError):
            await cluster.send(0, object())
    assert len(made) == 2


async def test_a_coordinator_is_looked_up_repeatedly_while_the_metadata_names_no_broker():
    """A cluster whose brokers are all considered dead answers with metadata that names none."""
    asked = []

    def answer(request):
        asked.append(type(request).__name__)
        if isinstance(request, MetadataRequest):
            return named(1) if len(asked) >= 3 else named()
        if isinstance(request, FindCoordinatorRequest):
            return SimpleNamespace(error_code=0, coordinator_id=1)
        return "answered"

    async def opened(host, port, **options):
        return StubConnection(answer)

    cluster = Cluster("east", SETTINGS, open_connection=opened)
    assert await cluster.ask_coordinator(GROUP, "g", object(), lambda response: []) == "answered"
    assert asked == [*["MetadataRequest"] * 3, "FindCoordinatorRequest", "object"]


async def test_a_throttled_connection_is_sent_nothing_until_the_broker_reads_it_again():
    sent: dict[str, list[float]] = {"control": [], "read": []}
    purposes = iter(["read", "control"])

    async def opened(host, port, **options):
        purpose = next(purposes)

        def answer(request):
            sent[purpose].append(asyncio.get_running_loop().time())
            return SimpleNamespace(throttle_time_ms=200 if purpose == "read" else 0)

        return StubConnection(answer)

    cluster = known(SETTINGS, opened, named(1))
    await cluster.send(1, object(), "read")
    again = asyncio.create_task(cluster.send(1, object(), "read"))
    for _ in range(2):
        await cluster.send(1, object(), "control")
    assert len(sent["read"]) == 1 and len(sent["control"]) == 2
    await again
    assert sent["read"][1] - sent["read"][0] >= 0.2


async def test_an_epoch_s_end_in_the_log_of_one_leader_is_told_by_no_leader_before_or_behind_it():
    codes = [Code.UNKNOWN_LEADER_EPOCH, Code.NONE, Code.FENCED_LEADER_EPOCH]
    asked = []

    def answer(request):
        if not isinstance(request, LeaderEpochRequest):
            return named(1, topics=(leads(6, node=1),))
        asked.extend(request.build(LeaderEpochStruct).topics)
        code = codes.pop(0)
        return SimpleNamespace(topics=[("t", [(code, 0, 5, -1 if code else 60)])])

    async def opened(host, port, **options):
        return StubConnection(answer)

    cluster = known(SETTINGS, opened, named(1, topics=(leads(6, node=1),)))
    assert await cluster.epoch_end("t", 0, 5, of_leader=6) == 60
    assert asked == [("t", [(0, 6, 5)])] * 2, "one that does not know of its election is waited for"
    with pytest.raises(Answered, match="FENCED_LEADER_EPOCH"):
        await cluster.epoch_end("t", 0, 5, of_leader=6)
