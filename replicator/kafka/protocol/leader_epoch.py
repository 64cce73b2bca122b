"""OffsetForLeaderEpoch: the end offset of a leader epoch."""

from __future__ import annotations

from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import Array, Int16, Int32, Int64, Schema, String


class LeaderEpochResponse(Response):
    API_KEY = 23
    API_VERSION = 3
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "topics",
            Array(
                ("topic", String("utf-8")),
                (
                    "partitions",
                    Array(
                        ("error_code", Int16),
                        ("partition", Int32),
                        ("leader_epoch", Int32),
                        ("end_offset", Int64),
                    ),
                ),
            ),
        ),
    )


class LeaderEpochStruct(RequestStruct):
    API_KEY = 23
    API_VERSION = 3
    RESPONSE_TYPE = LeaderEpochResponse
    SCHEMA = Schema(
        ("replica_id", Int32),
        (
            "topics",
            Array(
                ("topic", String("utf-8")),
                (
                    "partitions",
                    Array(
                        ("partition", Int32),
                        ("current_leader_epoch", Int32),
                        ("leader_epoch", Int32),
                    ),
                ),
            ),
        ),
    )


class LeaderEpochRequest(Request[LeaderEpochStruct]):
    """OffsetForLeaderEpoch: the end offset of a leader epoch in today's log (KIP-320).

    Args:
        current_leader_epoch: the broker answers only while it leads in this epoch (-1: in any).
    """

    API_KEY = 23

    def __init__(
        self, topic: str, partition: int, leader_epoch: int, *, current_leader_epoch: int = -1
    ):
        self._topics = [(topic, [(partition, current_leader_epoch, leader_epoch)])]

    def build(self, request_struct_class: type[LeaderEpochStruct]) -> LeaderEpochStruct:
        return request_struct_class(-1, self._topics)
