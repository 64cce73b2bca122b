"""Members of groups that librdkafka cannot join: Kafka Streams (KIP-1071), share groups (KIP-932).

A member joins by a heartbeat, and leaves by another one; it reads nothing.
"""

from __future__ import annotations

import asyncio
import struct
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import CompactString, Int16, Int32, Schema

from deploy.lab.kafka import KafkaCluster as LabCluster
from replicator.config.topology import KafkaCluster
from replicator.kafka.client.cluster import GROUP, Cluster

LEAVES = -1
NULL, TAGS, ABSENT, PRESENT = b"\0", b"\0", b"\xff", b"\x01"


def int32(value: int) -> bytes:
    return struct.pack(">i", value)


def text(value: str) -> bytes:
    return bytes([len(value) + 1]) + value.encode()


def rows(items: Iterable[bytes]) -> bytes:
    found = list(items)
    return bytes([len(found) + 1]) + b"".join(found)


class HeartbeatAnswer(Response):
    """Beginning of the answer to both heartbeats."""

    API_KEY = 76
    API_VERSION = 1
    SCHEMA = Schema(
        ("throttle_time_ms", Int32), ("error_code", Int16), ("error_message", CompactString())
    )


class ShareHeartbeat(RequestStruct):
    """Heartbeat of a member of a share group, encoded by its maker."""

    API_KEY = 76
    API_VERSION = 1
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = HeartbeatAnswer
    SCHEMA = Schema()
    body = b""

    def encode(self) -> bytes:
        return self.body


class StreamsHeartbeat(ShareHeartbeat):
    """Heartbeat of a member of a Kafka Streams group, encoded by its maker."""

    API_KEY = 88
    API_VERSION = 0
    RESPONSE_TYPE = HeartbeatAnswer
    SCHEMA = Schema()


class ShareRequest(Request[ShareHeartbeat]):
    API_KEY = 76

    def __init__(self, group: str, member: str, epoch: int, topic: str) -> None:
        topics = NULL if epoch == LEAVES else rows([text(topic)])
        self._body = text(group) + text(member) + int32(epoch) + NULL + topics + TAGS

    def build(self, request_struct_class: type[ShareHeartbeat]) -> ShareHeartbeat:
        built = request_struct_class()
        built.body = self._body
        return built


class StreamsRequest(Request[StreamsHeartbeat]):
    API_KEY = 88

    def __init__(self, group: str, member: str, epoch: int, topic: str) -> None:
        none = rows([])
        subtopology = text("0") + rows([text(topic)]) + none * 5 + TAGS
        topology, tasks, process, patience_ms = ABSENT, NULL * 3, NULL, -1
        if epoch != LEAVES:
            topology = PRESENT + int32(0) + rows([subtopology]) + TAGS
            tasks, process, patience_ms = none * 3, text(member), 60_000
        about = text(group) + text(member) + int32(epoch) + int32(0) + NULL * 2
        rest = topology + tasks + process + ABSENT + NULL * 3 + b"\0" + TAGS
        self._body = about + int32(patience_ms) + rest

    def build(self, request_struct_class: type[StreamsHeartbeat]) -> StreamsHeartbeat:
        built = request_struct_class()
        built.body = self._body
        return built


@contextmanager
def heartbeats(
    lab: LabCluster, request: type[ShareRequest | StreamsRequest], group: str, topic: str
) -> Iterator[None]:
    """Keeps a member in a group until the block ends; its session outlasts a short block."""
    member = str(uuid.uuid4())
    _send(lab, group, request(group, member, 0, topic))
    try:
        yield
    finally:
        _send(lab, group, request(group, member, LEAVES, topic))


def _send(lab: LabCluster, group: str, request: ShareRequest | StreamsRequest) -> None:
    async def send() -> None:
        settings = KafkaCluster.model_validate(lab.topology_table())
        cluster = Cluster("lab", settings)
        await cluster.open()
        try:
            await cluster.ask_coordinator(GROUP, group, request, lambda it: [it.error_code])
        finally:
            await cluster.close()

    asyncio.run(send())
