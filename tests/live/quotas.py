"""Client quotas for one client id, set for the time of a test and removed after it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import Array, Boolean, Float64, Int16, Int32, Schema, String

from deploy.lab.kafka import KafkaCluster
from replicator.config.topology import KafkaCluster as Settings
from replicator.kafka.client.cluster import Cluster

_ENTITY = Array(("type", String("utf-8")), ("name", String("utf-8")))


class AlterClientQuotasResponse(Response):
    API_KEY = 49
    API_VERSION = 0
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "entries",
            Array(
                ("error_code", Int16),
                ("error_message", String("utf-8")),
                ("entity", _ENTITY),
            ),
        ),
    )


class AlterClientQuotasStruct(RequestStruct):
    API_KEY = 49
    API_VERSION = 0
    RESPONSE_TYPE = AlterClientQuotasResponse
    SCHEMA = Schema(
        (
            "entries",
            Array(
                ("entity", _ENTITY),
                ("ops", Array(("key", String("utf-8")), ("value", Float64), ("remove", Boolean))),
            ),
        ),
        ("validate_only", Boolean),
    )


class AlterClientQuotasRequest(Request[AlterClientQuotasStruct]):
    """AlterClientQuotas: sets quotas of one client id; None removes a quota."""

    API_KEY = 49

    def __init__(self, client_id: str, quotas: dict[str, float | None]):
        self._client_id = client_id
        self._quotas = quotas

    def build(self, request_struct_class: type[AlterClientQuotasStruct]) -> AlterClientQuotasStruct:
        ops = [(key, value or 0.0, value is None) for key, value in self._quotas.items()]
        return request_struct_class([([("client-id", self._client_id)], ops)], False)


@contextmanager
def quotas(*clusters: KafkaCluster, client_id: str, **limits: float) -> Iterator[None]:
    """Sets quotas such as `consumer_byte_rate` for one client id, on each of the clusters."""
    try:
        for cluster in clusters:
            asyncio.run(_alter(cluster, client_id, dict(limits)))
        yield
    finally:
        for cluster in clusters:
            asyncio.run(_alter(cluster, client_id, dict.fromkeys(limits)))


async def _alter(cluster: KafkaCluster, client_id: str, limits: dict[str, float | None]) -> None:
    asked = Cluster("quotas", Settings.model_validate(cluster.topology_table()))
    await asked.open()
    try:
        request = AlterClientQuotasRequest(client_id, limits)
        await asked.ask(asked.any_node, request, lambda answer: [row[0] for row in answer.entries])
    finally:
        await asked.close()
