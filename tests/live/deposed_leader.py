"""A leader with records that no follower holds, and a clean election after it."""

from __future__ import annotations

from typing import Any

from aiokafka.protocol.admin import AlterPartitionReassignmentsRequest
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import Array, Int8, Int16, Int32, Schema, String
from confluent_kafka import KafkaException, Producer

from deploy.lab.kafka import KafkaCluster
from deploy.lab.wait import until
from replicator.kafka.protocol.error_codes import Code
from replicator.kafka.protocol.leader_epoch import LeaderEpochRequest
from tests.live.stage import Stage

LEADER, FOLLOWER = 1, 2
REPLICATED_BY_TWO = [[LEADER, FOLLOWER]]
PATIENCE_SECONDS = 120.0


class ElectResponse(Response):
    API_KEY = 43
    API_VERSION = 1
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        ("error_code", Int16),
        (
            "topics",
            Array(
                ("topic", String()),
                (
                    "partitions",
                    Array(("partition", Int32), ("error_code", Int16), ("error_message", String())),
                ),
            ),
        ),
    )


class ElectStruct(RequestStruct):
    API_KEY = 43
    API_VERSION = 1
    RESPONSE_TYPE = ElectResponse
    SCHEMA = Schema(
        ("election_type", Int8),
        ("topics", Array(("topic", String()), ("partitions", Array(Int32)))),
        ("timeout_ms", Int32),
    )


class ElectRequest(Request[ElectStruct]):
    """ElectLeaders: elects the preferred leader of partition 0. It is sent to one broker directly,
    since an admin client might choose a broker that is stopped."""

    API_KEY = 43

    def __init__(self, topic: str):
        self._topics = [(topic, [0])]

    def build(self, request_struct_class: type[ElectStruct]) -> ElectStruct:
        return request_struct_class(0, self._topics, 10_000)


class DeposedLeader:
    """Leader change of partition 0 of a topic; all brokers run again at the end of the `with`
    block.

    Args:
        stage: its topic has replicas on broker 1, the leader, and broker 2.
    """

    def __init__(self, cluster: KafkaCluster, stage: Stage) -> None:
        self._cluster, self._topic, self._admin = cluster, stage.topic, cluster.admin()
        self._carrying = stage.carrying
        self._paused: set[int] = set()

    def __enter__(self) -> DeposedLeader:
        return self

    def __exit__(self, *_: object) -> None:
        for number in list(self._paused):
            self._resume(number)
        if LEADER not in self._cluster.processes:
            self._cluster.restart(LEADER)
        self._cluster.wait_ready()

    def prefer_the_follower(self) -> None:
        """Makes the follower the preferred leader, without an election."""
        partitions: Any = [(0, [FOLLOWER, LEADER], {})]
        request = AlterPartitionReassignmentsRequest(10_000, [(self._topic, partitions, {})], {})
        response = self._asked(request)
        assert response.responses[0][1][0][1] == 0, response

    def _asked(self, request: Any) -> Any:
        response = self._carrying.wait(self._carrying.cluster.send(LEADER, request))
        assert response.error_code == 0, response
        return response

    def stop_the_follower(self) -> None:
        """Stops the follower, which stays an in-sync replica until its broker session expires."""
        self._pause(FOLLOWER)

    def answer_the_followers_fetch(self) -> None:
        """Produces one record, which answers the fetch that the follower had already sent. Later
        records reach no follower."""
        errors: list[object] = []
        producer = Producer({**self._cluster.librdkafka_options(), "acks": 1})
        producer.produce(
            self._topic, b"", partition=0, on_delivery=lambda error, _: errors.append(error)
        )
        producer.flush(PATIENCE_SECONDS)
        assert errors == [None]

    def by_a_kill(self) -> None:
        self._cluster.kill(LEADER)
        self._resume(FOLLOWER)
        self._until_the_follower_leads()

    def by_a_stall(self) -> None:
        """Stops the leader until its session has expired, then resumes it."""
        self._pause(LEADER)
        self._resume(FOLLOWER)
        self._until_the_follower_leads()
        self._resume(LEADER)

    def by_a_preferred_election(self) -> None:
        response = self._asked(ElectRequest(self._topic))
        assert response.topics[0][1][0][1] == 0, response
        # Resumed earlier, the follower would still receive the records that it lacks.
        assert until(self._is_deposed, PATIENCE_SECONDS)
        self._resume(FOLLOWER)
        self._until_the_follower_leads()

    def _is_deposed(self) -> bool:
        cluster = self._carrying.cluster
        asked = cluster.send(LEADER, LeaderEpochRequest(self._topic, 0, 0))
        code = self._carrying.wait(asked).topics[0][1][0][0]
        return bool(code == Code.NOT_LEADER_OR_FOLLOWER)

    def _pause(self, number: int) -> None:
        self._cluster.pause(number)
        self._paused.add(number)

    def _resume(self, number: int) -> None:
        self._cluster.resume(number)
        self._paused.discard(number)

    def _until_the_follower_leads(self) -> None:
        def leads() -> bool:
            try:
                told = self._admin.list_topics(self._topic, timeout=2)
            except KafkaException:
                return False
            return bool(told.topics[self._topic].partitions[0].leader == FOLLOWER)

        assert until(leads, PATIENCE_SECONDS)
