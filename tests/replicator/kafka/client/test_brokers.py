"""Claims about connections and metadata that need no broker."""

import asyncio
from types import SimpleNamespace
from uuid import UUID

import pytest
from aiokafka.protocol.coordination import FindCoordinatorRequest

from replicator.config.security import Security
from replicator.config.topology import KafkaCluster
from replicator.kafka.client import brokers
from replicator.kafka.client.brokers import Leader
from replicator.kafka.client.cluster import GROUP, Cluster
from replicator.kafka.protocol.error_codes import Code
from replicator.kafka.protocol.metadata import MetadataRequest
from replicator.kafka.protocol.topic_id import NO_TOPIC_ID


class Silent:
    """A connection that must not be sent any request."""

    muted_until = 0.0

    async def send(self, request):
        raise AssertionError(f"asked: {request}")

    def connected(self):
        return True

    def close(self):
        pass


async def test_each_connection_is_made_with_the_password_its_file_holds_by_then(
    tmp_path, monkeypatch
):
    made_with = []

    async def connect(host, port, **options):
        made_with.append((options["sasl_plain_password"], options["client_id"]))
        return Silent()

    monkeypatch.setattr(brokers, "connect", connect)
    password = tmp_path / "password"
    password.write_text("old")
    security = Security(
        protocol="sasl_plaintext", mechanism="PLAIN", username="u", password_file=password
    )
    cluster = Cluster("east", KafkaCluster(bootstrap=("h:1",), security=security), client_id="me")
    cluster._brokers = {0: ("h", 1)}
    await cluster.connect(0)
    password.write_text("new")
    await cluster.connect(0)
    assert made_with == [("old", "me"), ("new", "me")]


def told(epoch: int, node: int, topic_id: int = 1) -> SimpleNamespace:
    """Returns metadata that names one leader of topic t."""
    row = (0, 0, node, epoch, [], [], [])
    return SimpleNamespace(
        cluster_id="id", brokers=[], topics=[(0, "t", UUID(int=topic_id), False, [row])]
    )


async def test_a_broker_that_missed_an_election_does_not_take_the_newer_leader_away():
    cluster = Cluster("east", KafkaCluster(bootstrap=("h:1",)))
    cluster._take_metadata(told(6, node=2))
    cluster._take_metadata(told(5, node=1))
    assert cluster.leader("t", 0) == Leader(2, 6)
    cluster._take_metadata(told(7, node=1))
    assert cluster.leader("t", 0) == Leader(1, 7)


async def test_a_topic_created_again_counts_its_elections_anew():
    cluster = Cluster("east", KafkaCluster(bootstrap=("h:1",)))
    cluster._take_metadata(told(6, node=2))
    cluster._take_metadata(told(0, node=1, topic_id=2))
    assert cluster.leader("t", 0) == Leader(1, 0)


async def test_the_last_answer_is_told_even_of_an_older_election_and_may_be_believed():
    cluster = Cluster("east", KafkaCluster(bootstrap=("h:1",)))
    cluster._take_metadata(told(6, node=2))
    cluster._take_metadata(told(5, node=1))
    assert (cluster.leader("t", 0), cluster.told_leader("t", 0)) == (Leader(2, 6), Leader(1, 5))
    cluster.believe("t", 0, Leader(1, 5))
    cluster._take_metadata(told(5, node=1))
    assert cluster.leader("t", 0) == Leader(1, 5)


async def test_each_broker_is_asked_for_its_own_word_and_one_that_is_silent_is_told_as_such(
    monkeypatch,
):
    cluster = Cluster("east", KafkaCluster(bootstrap=("h:1",)))
    cluster._take_metadata(told(6, node=2))
    cluster._brokers = dict.fromkeys((1, 2, 3, 4), ("h", 1))
    answers = {1: told(5, node=1), 2: told(6, node=2), 3: told(7, node=3, topic_id=2)}

    async def send(node, request):
        if node not in answers:
            raise OSError("away")
        return answers[node]

    monkeypatch.setattr(cluster, "send", send)
    assert await cluster.told_by_each("t", 0) == [Leader(1, 5), Leader(2, 6), None, None]
    assert cluster.leader("t", 0) == Leader(2, 6), "asking changes nothing"


async def test_the_cluster_id_is_kept_from_the_first_answer_that_has_it():
    cluster = Cluster("east", KafkaCluster(bootstrap=("h:1",)))
    assert cluster.cluster_id is None
    cluster._take_metadata(told(1, node=1))
    cluster._take_metadata(SimpleNamespace(cluster_id=None, brokers=[], topics=[]))
    assert cluster.cluster_id == "id"


def refused(code: int) -> SimpleNamespace:
    """Returns metadata that has this error code for topic t, and no more."""
    return SimpleNamespace(
        cluster_id="id", brokers=[], topics=[(code, "t", NO_TOPIC_ID, False, [])]
    )


async def test_a_topic_is_missing_for_as_long_as_all_answers_agree(monkeypatch):
    clock = iter((100.0, 104.0, 111.0, 120.0))
    monkeypatch.setattr(brokers, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    cluster = Cluster("east", KafkaCluster(bootstrap=("h:1",)))
    seconds = []
    for _ in range(3):
        cluster._take_metadata(refused(Code.UNKNOWN_TOPIC_OR_PARTITION))
        seconds.append(cluster.missing_seconds("t"))
    assert seconds == [0, 4, 11]
    cluster._take_metadata(told(0, node=1))
    assert cluster.missing_seconds("t") == 0
    cluster._take_metadata(refused(Code.UNKNOWN_TOPIC_OR_PARTITION))
    assert cluster.missing_seconds("t") == 0


async def test_a_topic_that_may_not_be_described_is_not_one_that_is_missing():
    cluster = Cluster("east", KafkaCluster(bootstrap=("h:1",)))
    cluster._take_metadata(refused(Code.TOPIC_AUTHORIZATION_FAILED))
    assert cluster.is_refused("t") and cluster.missing_seconds("t") == 0
    cluster._take_metadata(told(0, node=1))
    assert not cluster.is_refused("t")


async def test_a_connection_on_which_an_answer_never_came_is_not_asked_again(monkeypatch):
    class Swallowing(Silent):
        is_open = True

        async def send(self, request):
            raise TimeoutError

        def connected(self):
            return self.is_open

        def close(self):
            self.is_open = False

    made = []

    async def connect(host, port, **options):
        made.append(Swallowing())
        return made[-1]

    monkeypatch.setattr(brokers, "connect", connect)
    cluster = Cluster("east", KafkaCluster(bootstrap=("h:1",)))
    cluster._brokers = {0: ("h", 1)}
    for _ in range(2):
        with pytest.raises(TimeoutError):
            await cluster.send(0, object())
    assert len(made) == 2


async def test_while_no_broker_is_named_a_coordinator_is_asked_for_again_and_again(monkeypatch):
    """A cluster whose brokers are all considered dead answers with metadata that names none."""
    asked = []

    class Answering(Silent):
        async def send(self, request):
            asked.append(type(request).__name__)
            if isinstance(request, MetadataRequest):
                is_back = len(asked) >= 3
                return SimpleNamespace(
                    cluster_id="id", brokers=[(1, "h", 1)] if is_back else [], topics=[]
                )
            if isinstance(request, FindCoordinatorRequest):
                return SimpleNamespace(error_code=0, coordinator_id=1)
            return "answered"

    async def connect(host, port, **options):
        return Answering()

    monkeypatch.setattr(brokers, "connect", connect)
    cluster = Cluster("east", KafkaCluster(bootstrap=("h:1",)))
    assert await cluster.ask_coordinator(GROUP, "g", object(), lambda response: []) == "answered"
    assert asked == [*["MetadataRequest"] * 3, "FindCoordinatorRequest", "object"]


async def test_a_connection_that_a_quota_mutes_is_sent_nothing_until_it_is_read_again(monkeypatch):
    sent: dict[str, list[float]] = {"control": [], "read": []}

    class Throttled(Silent):
        def __init__(self, purpose):
            self.purpose = purpose

        async def send(self, request):
            sent[self.purpose].append(asyncio.get_running_loop().time())
            return SimpleNamespace(throttle_time_ms=200 if self.purpose == "read" else 0)

    purposes = iter(["read", "control"])

    async def connect(host, port, **options):
        return Throttled(next(purposes))

    monkeypatch.setattr(brokers, "connect", connect)
    cluster = Cluster("east", KafkaCluster(bootstrap=("h:1",)))
    cluster._brokers = {1: ("h", 1)}
    await cluster.send(1, object(), "read")
    again = asyncio.create_task(cluster.send(1, object(), "read"))
    for _ in range(2):
        await cluster.send(1, object(), "control")
    assert len(sent["read"]) == 1 and len(sent["control"]) == 2
    await again
    assert sent["read"][1] - sent["read"][0] >= 0.2
